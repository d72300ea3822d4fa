// The operator's act for a run whose analyst does not come back: it is closed,
// and what it has reserved and not spent is free again.
//
// The same row of the ledger as the analyst's own CloseRun; what was charged
// stays charged. On the curator's machine, with the server stopped: the
// ledger's lock sees to it that no round is under way.
#ifndef DPNMF_CURATOR_MAINTENANCE_CLOSE_RUN_H_
#define DPNMF_CURATOR_MAINTENANCE_CLOSE_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/log/audit_log.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

struct AbandonedRun {
  std::string identity, population;
  std::uint64_t charged_rounds = 0;
  MuSquared returned;
};

// The id of the run in `rows` that alone begins with these digits: four or
// more, in small or capital letters. INVALID_ARGUMENT "run-id-malformed",
// "run-id-ambiguous"; NOT_FOUND "run-unknown".
absl::StatusOr<std::string> WholeRunId(const std::vector<LedgerRow>& rows,
                                       const std::string& digits);

// Who asked (`by`) is on disk in `log` before the ledger changes: UNAVAILABLE
// "audit-failed". NOT_FOUND "run-unknown", "ledger-missing";
// FAILED_PRECONDITION "run-closed", "data-dir-in-use" (a server runs); those of
// Ledger::Open.
absl::StatusOr<AbandonedRun> CloseAbandonedRun(const Ledger::Options& places,
                                               const std::string& run_id,
                                               const std::string& by,
                                               AuditLog* log);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MAINTENANCE_CLOSE_RUN_H_
