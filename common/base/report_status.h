// How every program reports that a command failed.
#ifndef DPNMF_COMMON_BASE_REPORT_STATUS_H_
#define DPNMF_COMMON_BASE_REPORT_STATUS_H_

#include <string_view>

#include "absl/status/status.h"
#include "common/base/exit_code.h"

namespace dpnmf {

// Prints "PROGRAM: SENTENCE [CODE]" and a line break to standard error unless
// OK; returns the exit code. CODE is "internal-error" for a status without one.
ExitCode ReportStatus(std::string_view program, const absl::Status& status);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_REPORT_STATUS_H_
