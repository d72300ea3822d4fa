// Messages for errors of a disk: the system's reason, and what to change.
#ifndef DPNMF_COMMON_FILES_DISK_ERROR_H_
#define DPNMF_COMMON_FILES_DISK_ERROR_H_

#include <cerrno>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpnmf {

// UNAVAILABLE "storage-failed", "Cannot ACTION `PATH`: REASON; ADVICE.". For
// the operator, not for a peer.
absl::Status StorageFailed(std::string_view action, const std::string& path,
                           int error = errno);

// "No space left on device; free space on that disk", of an errno.
std::string DiskErrorText(int error);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_DISK_ERROR_H_
