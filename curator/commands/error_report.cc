#include "curator/commands/error_report.h"

#include <cstdio>
#include <string>

#include "common/base/error.h"
#include "common/base/exit_code.h"

namespace dpnmf::curator {

int ReportStatus(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  const std::string code = ReasonCode(status);
  std::fprintf(stderr, "dpnmf-curator: %s [%s]\n",
               std::string(status.message()).c_str(),
               code.empty() ? "internal-error" : code.c_str());
  return ExitCodeOf(status);
}

}  // namespace dpnmf::curator
