#include "curator/commands/error_report.h"

#include "common/base/report_status.h"

namespace dpnmf::curator {

int ReportStatus(const absl::Status& status) {
  return dpnmf::ReportStatus("dpnmf-curator", status);
}

}  // namespace dpnmf::curator
