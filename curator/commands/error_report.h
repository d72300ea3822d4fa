// How every command of dpnmf-curator reports a failure.
#ifndef DPNMF_CURATOR_COMMANDS_ERROR_REPORT_H_
#define DPNMF_CURATOR_COMMANDS_ERROR_REPORT_H_

#include "absl/status/status.h"

namespace dpnmf::curator {

// Prints "dpnmf-curator: SENTENCE [CODE]" to standard error unless OK; returns
// the exit code.
int ReportStatus(const absl::Status& status);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_ERROR_REPORT_H_
