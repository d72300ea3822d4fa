// One process at a time in a directory.
#ifndef DPNMF_CURATOR_RELEASE_DIRECTORY_LOCK_H_
#define DPNMF_CURATOR_RELEASE_DIRECTORY_LOCK_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dpnmf::curator {

// Holds flock(2) on DIRECTORY/NAME.lock until destroyed; the kernel lets go
// when the process ends in any way. The file stays.
class DirectoryLock {
 public:
  // FAILED_PRECONDITION "data-dir-in-use"; UNAVAILABLE "storage-failed".
  // `name` is "ledger" or "anchor", and stands in the sentence.
  static absl::StatusOr<DirectoryLock> Acquire(const std::string& directory,
                                               std::string_view name);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RELEASE_DIRECTORY_LOCK_H_
