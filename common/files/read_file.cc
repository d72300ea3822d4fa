#include "common/files/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/files/disk_error.h"

namespace dpnmf {
namespace {

constexpr std::size_t kFirstRead = 4096;

// Size of the first read: that of a regular file plus 1, to see its end.
std::size_t FirstRead(int file) {
  struct stat about {};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) return kFirstRead;
  return std::max(static_cast<std::size_t>(about.st_size) + 1, kFirstRead);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     std::size_t max_bytes) {
  const Descriptor file(DPNMF_SYSTEM(open)(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok() && errno == ENOENT) {
    return Refusal(absl::StatusCode::kNotFound, "file-missing",
                   absl::StrCat("There is no file `", path, "`."));
  }
  if (!file.ok()) return StorageFailed("open", path);
  const std::size_t room =
      max_bytes == kOwnFileLimit ? max_bytes : max_bytes + 1;
  std::string content(std::min(room, FirstRead(file.get())), '\0');
  std::size_t filled = 0;
  while (filled < room) {
    if (filled == content.size())
      content.resize(std::min(room, 2 * content.size()));
    const ssize_t got = DPNMF_SYSTEM(read)(file.get(), content.data() + filled,
                                           content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StorageFailed("read", path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  if (filled > max_bytes) {
    return Refusal(absl::StatusCode::kInvalidArgument, "file-too-large",
                   absl::StrCat("`", path, "` has more than ", max_bytes,
                                " bytes; give the right file."));
  }
  content.resize(filled);
  return content;
}

std::vector<std::string> EntriesOf(const std::string& directory,
                                   std::error_code* error) {
  std::vector<std::string> entries;
  for (std::filesystem::directory_iterator at(directory, *error), end;
       !*error && at != end; at.increment(*error))
    entries.push_back(at->path());
  return entries;
}

}  // namespace dpnmf
