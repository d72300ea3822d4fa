#include "curator/commands/status_handlers.h"

#include <memory>

#include "common/wire/json.h"
#include "curator/maintenance/doctor.h"
#include "curator/maintenance/status.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {

ControlHandlers StatusHandlers(const ServeOptions& options,
                               const Ledger* ledger, const Catalog* catalog) {
  const auto status = std::make_shared<CuratorStatus>(
      StatusSources{.ledger = ledger,
                    .catalog = catalog,
                    .allow_list = options.allow_list,
                    .audit_log = AuditFileOf(options),
                    .version = DPNMF_VERSION,
                    .anchored = !options.no_anchor,
                    .pace_milliseconds = options.pace_milliseconds});
  return {
      {"status", [status](const nlohmann::json&) { return status->Report(); }},
      {"doctor",
       [options](const nlohmann::json&) -> absl::StatusOr<nlohmann::json> {
         CuratorDoctorOptions doctor = DoctorOptionsOf(options);
         // The server verifies its data sets itself, and other requests wait.
         doctor.quick = true;
         return nlohmann::json::parse(ToJsonLine(ExamineCurator(doctor)));
       }}};
}

}  // namespace dpnmf::curator
