// The files that `dpnmf-lab evaluate` writes beside each other into the
// directory of --output.
#ifndef DPNMF_LAB_COMMANDS_REPORT_FILES_H_
#define DPNMF_LAB_COMMANDS_REPORT_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "common/cli/program.h"

namespace dpnmf::curator::lab {

// ALREADY_EXISTS "report-exists" if the directory has a file of a report,
// unless `force`. Other files do not count.
absl::Status CheckNoReport(const std::string& directory, bool force);

// --force.
Flag ForceFlag(bool* force);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMMANDS_REPORT_FILES_H_
