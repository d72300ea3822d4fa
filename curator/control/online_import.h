// Requests of `dpnmf-curator import --online` to the server that holds the
// ledger, over its control socket, and the server's answers.
//
//   import                                     serve
//     check (draft)                   ---->    opens and checks it
//     declare (population, policy,    ---->    appends them, or finds them
//       digests of the files)                  declared
//     DATA_DIR/datasets/NAME gets its name
//     reload                          ---->    opens, verifies and serves it
//
// An import that is killed in between leaves a declared population, digests of
// a data set that is not there, which another import replaces, or a data set
// that the server takes at the next `reload` or at its next start.
#ifndef DPNMF_CURATOR_CONTROL_ONLINE_IMPORT_H_
#define DPNMF_CURATOR_CONTROL_ONLINE_IMPORT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/log/audit_log.h"
#include "common/server/metrics.h"
#include "curator/control/control.h"
#include "curator/ledger/ledger.h"
#include "curator/session/catalog.h"
#include "curator/session/pacing.h"

namespace dpnmf::curator {

// Everything outlives the handlers.
struct OnlineImports {
  std::string data_dir;
  Ledger* ledger = nullptr;
  Catalog* catalog = nullptr;
  AuditLog* audit = nullptr;   // may be null
  Metrics* metrics = nullptr;  // may be null
  // Further check that a served data set must satisfy; may be empty.
  std::function<absl::Status(const Dataset&)> check;
  Digest file_key{};  // KeyOfFiles, curator/import/people/fingerprint.h
  // New data sets begin to be served at a tick; null: at once.
  const Pacer* pacer = nullptr;
};

// "check", "declare" and "reload". The latter two write an audit entry before
// they take effect: "population-declared", "dataset-added". Errors of
// Ledger::DeclarePopulation, Catalog::OpenNew, CheckPromise, VerifyDataset and
// `check`. If one
// of several new data sets fails these checks, none is served. After the checks
// they are added one by one: if an audit entry cannot be written, those before
// it are served already. What "check" refuses, "reload" and the next start
// would refuse too, and with it everything else that is new.
ControlHandlers OnlineImportHandlers(const OnlineImports& context);

// Asks a server whether it would serve the data set in `draft`, a directory
// beside the data sets. Errors of AskControl, Dataset::Open,
// Catalog::CheckIsNew and `check`.
absl::Status CheckOnlineDraft(const std::string& data_dir,
                              const std::string& draft);

// A data set as the ledger has it.
struct DeclaredDataset {
  std::string name;
  AssignedPartition assigned;  // empty: it is in no partition
  DatasetDigests digests;
};

// Asks a server to declare the population, in the name of `by`, and to enter
// the data set in the ledger, if one is given. Errors of AskControl,
// DeclarePopulation, AssignPartition and BindDataset; ALREADY_EXISTS
// "dataset-exists" if the server has a data set of that name.
absl::Status DeclareOnline(
    const std::string& data_dir, const PopulationPolicy& policy,
    const std::string& by,
    const std::optional<DeclaredDataset>& dataset = std::nullopt);

// Names of data sets.
struct ReloadedOnline {
  std::vector<std::string> added;
  // All, with those of earlier reloads: that of another import may have added
  // what this one has made.
  std::vector<std::string> served;
};

// Asks a server to serve what was imported.
absl::StatusOr<ReloadedOnline> ReloadOnline(const std::string& data_dir,
                                            const std::string& by);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_CONTROL_ONLINE_IMPORT_H_
