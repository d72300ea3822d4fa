// Deletes the bytes of releases; never a row of the ledger.
//
// A charged row whose bytes are gone is dead: it stays charged and is never
// drawn again. Only runs that are closed are taken, which nobody can ask for
// again. A server may run meanwhile.
#ifndef DPNMF_CURATOR_MAINTENANCE_RETENTION_H_
#define DPNMF_CURATOR_MAINTENANCE_RETENTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

struct RetentionRequest {
  std::vector<std::string> runs;  // by their whole ids
  // And those that were closed before (seconds since 1970).
  std::optional<std::int64_t> closed_before;
  bool dry_run = false;
};

struct ForgottenRun {
  std::string run_id;
  std::uint64_t releases = 0;  // files that were there
  std::uint64_t bytes = 0;
};

// `rows`: of a verified ledger. In the order of the ledger; runs whose releases
// are gone already are left out. NOT_FOUND "run-unknown"; FAILED_PRECONDITION
// "run-not-ended" if a named run is open (nothing is deleted then); UNAVAILABLE
// "storage-failed".
absl::StatusOr<std::vector<ForgottenRun>> ForgetReleases(
    const std::vector<LedgerRow>& rows, const std::string& release_directory,
    const RetentionRequest& request);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MAINTENANCE_RETENTION_H_
