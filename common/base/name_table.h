// Descriptors that are found by their name: mechanisms, file formats.
//
// A table is made from an explicit list of rows. Nothing registers itself when
// a program is loaded, so no linker can drop a row.
#ifndef DPNMF_COMMON_BASE_NAME_TABLE_H_
#define DPNMF_COMMON_BASE_NAME_TABLE_H_

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dpnmf {

// Row has a member `name` that a std::string_view can be made of. Rows outlive
// the table. Thread-safe.
template <typename Row>
class NameTable {
 public:
  // Aborts if two rows have one name.
  explicit NameTable(std::vector<const Row*> rows) {
    for (const Row* row : rows) Add(row);
  }
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;

  // nullptr if no row has that name.
  const Row* Find(std::string_view name) const {
    for (const Row* row : rows_)
      if (row->name == name) return row;
    return nullptr;
  }
  const std::vector<const Row*>& rows() const { return rows_; }

 private:
  template <typename>
  friend class AddedRow;  // tests/common/base/added_row.h

  void Add(const Row* row) {
    if (Find(row->name) != nullptr) {
      std::fprintf(stderr, "the name %s is in use\n",
                   std::string(row->name).c_str());
      std::abort();
    }
    rows_.push_back(row);
  }

  std::vector<const Row*> rows_;
};

// "a", "a or b", "a, b or c": the names for which `wanted` holds, a function of
// a row or a member of it.
template <typename Row, typename Wanted>
std::string NamesText(const NameTable<Row>& table, const Wanted& wanted) {
  std::vector<std::string> names;
  for (const Row* row : table.rows())
    if (std::invoke(wanted, *row)) names.emplace_back(row->name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_NAME_TABLE_H_
