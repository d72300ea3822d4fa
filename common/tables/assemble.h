// From what stands in a file to V, one column per user.
#ifndef DPNMF_COMMON_TABLES_ASSEMBLE_H_
#define DPNMF_COMMON_TABLES_ASSEMBLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"
#include "common/tables/load.h"

namespace dpnmf {

// values: rows * columns, row after row (row-major).
LoadedMatrix DenseOfRows(std::vector<float> values, std::uint64_t rows,
                         std::uint64_t columns, bool users_are_rows);
// The same of a table (LoadTable).
LoadedMatrix DenseOfRows(std::vector<double> numbers, std::uint64_t rows,
                         std::uint64_t columns, bool users_are_rows);

// Records in the order in which they came, until they are sorted. The first
// block is in memory, the rest in a file without a name. For one thread.
// Errors: UNAVAILABLE "storage-failed".
template <typename Record>
class RecordLog {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  // `directory`: of the file, must exist; empty: it is in memory.
  explicit RecordLog(std::string directory)
      : directory_(std::move(directory)) {}

  absl::Status Add(const Record& record) {
    if (block_.size() == kBlock) DPNMF_RETURN_IF_ERROR(Write());
    block_.push_back(record);
    return absl::OkStatus();
  }
  std::uint64_t size() const { return written_ + block_.size(); }

  // Calls function(record) for each of them, in order.
  template <typename Function>
  absl::Status ForEach(Function function) const {
    std::vector<Record> block(written_ == 0 ? 0 : kBlock);
    for (std::uint64_t begin = 0; begin < written_; begin += kBlock) {
      DPNMF_RETURN_IF_ERROR(
          file_->Read(begin * sizeof(Record),
                      std::as_writable_bytes(std::span<Record>(block))));
      for (const Record& record : block) function(record);
    }
    for (const Record& record : block_) function(record);
    return absl::OkStatus();
  }

 private:
  static constexpr std::size_t kBlock = 1 << 16;

  absl::Status Write() {
    if (!file_.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(GrowingFile file, GrowingFile::Spool(directory_));
      file_.emplace(std::move(file));
    }
    DPNMF_RETURN_IF_ERROR(file_->Append(
        std::string_view(reinterpret_cast<const char*>(block_.data()),
                         block_.size() * sizeof(Record))));
    written_ += block_.size();
    block_.clear();
    return absl::OkStatus();
  }

  const std::string directory_;
  std::optional<GrowingFile> file_;
  std::uint64_t written_ = 0;  // records in the file: whole blocks
  std::vector<Record> block_;
};

struct SparseEntry {
  std::int32_t feature = 0;  // both from 0
  std::int32_t user = 0;
  float value = 0;
  std::uint32_t line = 0;  // of the file, for the refusal of duplicates
};

// The last line read, as an entry remembers it.
std::uint32_t LineForMessages(const InputFile& input);

// Sorts the entries into columns and drops zeros. "input-duplicate" at the
// later of two entries with the same feature and user. features and users are
// at most kLargestExtent and above every index. Takes no memory but that of the
// result; "storage-failed".
absl::StatusOr<LoadedMatrix> AssembleSparse(
    const InputFile& input, const RecordLog<SparseEntry>& entries,
    std::uint64_t features, std::uint64_t users);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_ASSEMBLE_H_
