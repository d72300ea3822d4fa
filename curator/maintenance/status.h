// Status of a serving curator for its operator: the answer to `status` on the
// control socket, which dpnmf-curator-web shows. docs/reference/operations.md
// lists the fields.
//
// Every field follows from declarations, requests, the allow-list, the ledger
// and the audit log; none depends on the data, and none is a hash.
#ifndef DPNMF_CURATOR_MAINTENANCE_STATUS_H_
#define DPNMF_CURATOR_MAINTENANCE_STATUS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/ledger/ledger.h"
#include "curator/session/catalog.h"
#include "nlohmann/json_fwd.hpp"

namespace dpnmf::curator {

struct StatusSources {
  const Ledger* ledger = nullptr;    // outlives the status
  const Catalog* catalog = nullptr;  // likewise
  std::string allow_list;            // file
  std::string audit_log;             // file
  std::string version;
  bool anchored = true;
  int pace_milliseconds = 0;                        // 0: not paced
  std::function<std::int64_t()> unix_seconds = {};  // {}: the system's clock
};

// Not thread-safe.
class CuratorStatus {
 public:
  explicit CuratorStatus(StatusSources sources);

  // The first report reads every row of the ledger, a later one the new rows.
  // DATA_LOSS "ledger-damaged", UNAVAILABLE "storage-failed". An allow-list
  // that cannot be read is part of the report.
  absl::StatusOr<nlohmann::json> Report();

 private:
  struct Run {
    LedgerRow opened;
    MuSquared charged = {};
    std::uint64_t charged_rounds = 0;
  };
  using RunKey = std::pair<std::string, std::string>;  // identity, run

  absl::Status ReadNewRows();
  absl::StatusOr<nlohmann::json> Populations() const;
  nlohmann::json Datasets() const;
  absl::StatusOr<nlohmann::json> Identities() const;
  nlohmann::json OpenRuns() const;
  nlohmann::json LastRows() const;
  std::int64_t Now() const;

  const StatusSources sources_;
  const std::int64_t started_;
  std::uint64_t rows_ = 0;  // read so far
  std::vector<LedgerRow> last_rows_;
  std::map<RunKey, Run> open_runs_;
  std::uint64_t closed_runs_ = 0;
  // Populations by identity of what was ever opened.
  std::map<std::string, std::set<std::string>> seen_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MAINTENANCE_STATUS_H_
