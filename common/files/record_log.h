// Records in the order in which they came, until they are sorted.
#ifndef DPNMF_COMMON_FILES_RECORD_LOG_H_
#define DPNMF_COMMON_FILES_RECORD_LOG_H_

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
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/durable_file.h"

namespace dpnmf {

// The first block is in memory, the rest in a file without a name. For one
// thread. Errors: UNAVAILABLE "storage-failed".
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
      DPNMF_ASSIGN_OR_RETURN(
          GrowingFile file,
          directory_.empty()
              ? GrowingFile::InMemory()
              : GrowingFile::Create(absl::StrCat(directory_, "/.import-log")));
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

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_RECORD_LOG_H_
