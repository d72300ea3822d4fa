// Records of the run on one training stream: entries of the audit log, metrics,
// lines of the log.
//
// The observer sees only facts of the ledger, requests and declared names. It
// decides one thing: if an entry cannot be written the caller goes no further,
// so that nothing is reserved, charged or sent without an entry.
#ifndef DPNMF_CURATOR_SERVE_RUN_OBSERVER_H_
#define DPNMF_CURATOR_SERVE_RUN_OBSERVER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/base/stopwatch.h"
#include "common/server/observers.h"
#include "curator/gate/release_gate.h"
#include "curator/ledger/ledger.h"
#include "curator/session/session.h"

namespace dpnmf::curator {

// Not thread-safe. Each method that writes an entry: UNAVAILABLE
// "audit-failed".
class RunObserver {
 public:
  // `identity`: of the peer, as entries have it. The ledger and what is
  // observed with outlive it.
  RunObserver(const Observers& observers, const Ledger& ledger,
              std::string identity);

  // Before anything is reserved.
  absl::Status Asked() const;
  absl::Status Opened(const std::string& run_id,
                      const RunParameters& parameters,
                      const OpenedSession& opened);
  // Before anything of the round is computed.
  absl::Status RoundAsked(std::uint32_t round);
  // On disk before the first byte of the release is sent. Refused here, the
  // round stays charged and stored: the same request gets it later, at no cost.
  absl::Status RoundReleased(const ReleasedRound& released);
  absl::Status Closed(MuSquared returned);
  // The stream is at its end, whatever ended it.
  void Ended();

  // Empty until Opened.
  const std::string& run_id() const { return run_id_; }

 private:
  // An entry about this run.
  absl::Status Audit(std::string_view event, AuditFields more,
                     AuditSync sync = AuditSync::kWritten) const;
  void CountConnected(int change);

  const Observers observers_;
  const Ledger& ledger_;
  const std::string identity_;
  std::string run_id_, dataset_, population_;
  bool connected_ = false;
  Stopwatch round_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_RUN_OBSERVER_H_
