// What the system says when a disk refuses, and what to change.
#ifndef DPNMF_COMMON_BASE_DISK_ERROR_H_
#define DPNMF_COMMON_BASE_DISK_ERROR_H_

#include <cerrno>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dpnmf {

// UNAVAILABLE "storage-failed", "cannot ACTION `PATH`: REASON; ADVICE". For the
// operator, not for a peer.
absl::Status StorageFailed(std::string_view action, const std::string& path,
                           int error = errno);

// "No space left on device; make room on that disk", of an errno.
std::string DiskErrorText(int error);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_DISK_ERROR_H_
