// What `dpnmf-curator import --online` asks of the server that holds the
// ledger, over its control socket, and how that answers.
//
//   import                                     serve
//     declare (population, policy)    ---->    appends it, or finds it declared
//     DATA_DIR/datasets/NAME gets its name
//     reload                          ---->    opens, checks and serves it
//
// An import that is killed in between leaves a declared population, or a data
// set that the server takes at the next `reload` or at its next start.
#ifndef DPNMF_CURATOR_SERVE_ONLINE_IMPORT_H_
#define DPNMF_CURATOR_SERVE_ONLINE_IMPORT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/audit_log.h"
#include "common/server/metrics.h"
#include "curator/ledger/ledger.h"
#include "curator/serve/catalog.h"
#include "curator/serve/control.h"

namespace dpnmf::curator {

// Everything outlives the handlers.
struct OnlineImports {
  std::string data_dir;
  Ledger* ledger = nullptr;
  Catalog* catalog = nullptr;
  AuditLog* audit = nullptr;   // may be null
  Metrics* metrics = nullptr;  // may be null
  // What else a served data set must satisfy; may be empty.
  std::function<absl::Status(const Dataset&)> check;
};

// "declare" and "reload". Both write an audit entry before they take effect:
// "population-declared", "dataset-added". Errors of Ledger::DeclarePopulation,
// Catalog::OpenNew, CheckPromise and `check`; of several new data sets all are
// served or none.
ControlHandlers OnlineImportHandlers(const OnlineImports& context);

// Asks a server to declare the population, in the name of `by`. Errors of
// AskControl and DeclarePopulation.
absl::Status DeclareOnline(const std::string& data_dir,
                           const PopulationPolicy& policy,
                           const std::string& by);

// Asks a server to serve what was imported; the names of what it has added.
absl::StatusOr<std::vector<std::string>> ReloadOnline(
    const std::string& data_dir, const std::string& by);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_ONLINE_IMPORT_H_
