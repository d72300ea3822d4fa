// One more row in a table of the product, for as long as it lives.
#ifndef DPNMF_TESTS_COMMON_BASE_ADDED_ROW_H_
#define DPNMF_TESTS_COMMON_BASE_ADDED_ROW_H_

#include <vector>

#include "common/base/name_table.h"

namespace dpnmf {

// Not thread-safe: it comes before other threads read the table and goes after
// them. The product hands out its tables as const; the objects are not.
template <typename Row>
class AddedRow {
 public:
  // Both outlive it. Aborts if the name is in use.
  AddedRow(const NameTable<Row>* table, const Row* row)
      : table_(const_cast<NameTable<Row>*>(table)), row_(row) {
    table_->Add(row_);
  }
  ~AddedRow() { std::erase(table_->rows_, row_); }
  AddedRow(const AddedRow&) = delete;
  AddedRow& operator=(const AddedRow&) = delete;

 private:
  NameTable<Row>* const table_;
  const Row* const row_;
};

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_BASE_ADDED_ROW_H_
