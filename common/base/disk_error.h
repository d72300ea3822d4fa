// What the system says when a disk refuses, and what to change.
#ifndef DPNMF_COMMON_BASE_DISK_ERROR_H_
#define DPNMF_COMMON_BASE_DISK_ERROR_H_

#include <string>

namespace dpnmf {

// "No space left on device; make room on that disk", of an errno.
std::string DiskErrorText(int error);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_DISK_ERROR_H_
