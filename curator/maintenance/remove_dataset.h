// Takes a wrong import away.
#ifndef DPNMF_CURATOR_MAINTENANCE_REMOVE_DATASET_H_
#define DPNMF_CURATOR_MAINTENANCE_REMOVE_DATASET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/log/audit_log.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

struct RemovedDataset {
  std::string population;
  // The population has rows of other data sets: whoever was in this one has no
  // other budget than that population's.
  bool population_is_used = false;
};

// Removes the data of `name` under the locks of the ledger and of imports (no
// server may run). Its description and fingerprints are kept: its name is never
// used again, and an import under another population is refused once its own
// population has an open run or a charge (import.h). It becomes invisible by
// one rename, and what a process that was killed has left is deleted by the
// next removal. Two durable entries of the audit log: before and after.
//
// NOT_FOUND "dataset-unknown"; FAILED_PRECONDITION "dataset-used": a row of the
// ledger (an open or closed run, a charge, dead or not) names it, or may be
// about it: a row of its population that names no other data set of that
// population, as those of a federation do, or a row of NAME.others. Errors of
// Ledger::Open; FAILED_PRECONDITION "import-running"; UNAVAILABLE
// "storage-failed", "audit-failed".
absl::StatusOr<RemovedDataset> RemoveDataset(const std::string& data_dir,
                                             const Ledger::Options& places,
                                             const std::string& name,
                                             const std::string& by,
                                             AuditLog* log);

// Removed data sets whose data are still there: what a process that was killed
// has left. UNAVAILABLE "storage-failed".
absl::StatusOr<std::vector<std::string>> RemovedWithData(
    const std::string& data_dir);

// Populations on which a run was ever opened, sorted: releases about their
// people are bound to the population.
std::vector<std::string> UsedPopulations(const std::vector<LedgerRow>& rows);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MAINTENANCE_REMOVE_DATASET_H_
