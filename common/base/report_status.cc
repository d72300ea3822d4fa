#include "common/base/report_status.h"

#include <cstdio>
#include <string>

#include "common/base/error.h"

namespace dpnmf {

ExitCode ReportStatus(std::string_view program, const absl::Status& status) {
  if (status.ok()) return kExitOk;
  const std::string code = ReasonCode(status);
  std::fprintf(stderr, "%s: %s [%s]\n", std::string(program).c_str(),
               std::string(status.message()).c_str(),
               code.empty() ? "internal-error" : code.c_str());
  return ExitCodeOf(status);
}

}  // namespace dpnmf
