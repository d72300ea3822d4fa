#include "common/base/disk_error.h"

#include <cerrno>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {

std::string_view AdviceOn(int error) {
  switch (error) {
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
      return "name another path, or move away what is there";
    case ENOENT:
      return "make the directory above it first, or name another path";
    case EACCES:
    case EPERM:
      return "run as the user who owns it, or give this user the right";
    case EROFS:
      return "name a path on a file system that can be written";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "make room on that disk";
    case EIO:
      return "the disk is failing: look at the system's log";
    case ENAMETOOLONG:
    case ELOOP:
      return "name another path";
    default:
      return "check the path and its disk";
  }
}

}  // namespace

absl::Status StorageFailed(std::string_view action, const std::string& path,
                           int error) {
  return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                 absl::StrCat("cannot ", View(action), " `", path,
                              "`: ", DiskErrorText(error)));
}

std::string DiskErrorText(int error) {
  std::string text = std::generic_category().message(error) + "; ";
  return text.append(AdviceOn(error));
}

}  // namespace dpnmf
