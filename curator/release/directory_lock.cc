#include "curator/release/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "curator/release/durable_file.h"

namespace dpnmf::curator {

absl::StatusOr<DirectoryLock> DirectoryLock::Acquire(
    const std::string& directory, std::string_view name) {
  const absl::string_view what(name.data(), name.size());
  const std::string path = absl::StrCat(directory, "/", what, ".lock");
  const int descriptor = DPNMF_SYSTEM(open)(
      path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return StorageFailed("open", path);
  DirectoryLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return StorageFailed("lock", path);
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "data-dir-in-use",
      absl::StrCat("another process uses the ", what, " in `", directory,
                   "`; stop it or name another directory"));
}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace dpnmf::curator
