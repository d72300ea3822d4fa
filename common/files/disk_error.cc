#include "common/files/disk_error.h"

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
      return "choose another path, or move the existing file away";
    case ENOENT:
      return "create the parent directory first, or choose another path";
    case EACCES:
    case EPERM:
      return "run as the user who owns the path, or give this user the "
             "permission";
    case EROFS:
      return "choose a path on a file system that can be written";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free space on that disk";
    case EIO:
      return "the disk is failing: read the system's log";
    case ENAMETOOLONG:
    case ELOOP:
      return "choose another path";
    default:
      return "check the path and the disk";
  }
}

}  // namespace

absl::Status StorageFailed(std::string_view action, const std::string& path,
                           int error) {
  return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                 absl::StrCat("Cannot ", View(action), " `", path,
                              "`: ", DiskErrorText(error), "."));
}

std::string DiskErrorText(int error) {
  std::string text = std::generic_category().message(error) + "; ";
  return text.append(AdviceOn(error));
}

}  // namespace dpnmf
