// Records of one call: a scope for its trace, an entry in the audit log, a
// count among the metrics.
#ifndef DPNMF_COMMON_SERVER_CALL_RECORD_H_
#define DPNMF_COMMON_SERVER_CALL_RECORD_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/trace.h"
#include "common/log/audit_log.h"
#include "common/server/observers.h"
#include "grpcpp/server_context.h"

namespace dpnmf {

// "ok", or the reason code; "internal-error" for a status without one.
std::string ResultOf(const absl::Status& status);

// UNAVAILABLE "audit-failed", with a sentence for a peer: the log's path is for
// the operator.
absl::Status AuditFailed();

// Lives on the thread that serves the call. Not thread-safe.
class CallRecord {
 public:
  // `identities`: of the peer's certificate.
  CallRecord(const Observers& observers, std::string method,
             const grpc::ServerContextBase& context,
             const std::vector<std::string>& identities);

  // Writes the call's entry. A call whose entry cannot be written is refused:
  // UNAVAILABLE "audit-failed" in place of an OK outcome.
  absl::Status Finish(absl::Status outcome, AuditFields more = {});

  // Bytes of messages, as they come and go.
  void Count(std::uint64_t received, std::uint64_t sent) const;

  // The call has no entry of its own: others say that it was refused
  // (common/server/refused_calls.h).
  void LeaveOutOfAudit() { observers_.audit = nullptr; }

  const std::string& method() const { return method_; }
  // The peer's identities as entries have them, shortened to 500 bytes.
  const std::string& identity() const { return identity_; }

 private:
  Observers observers_;
  const std::string method_;
  const std::string identity_;
  const TraceScope scope_;
  const std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_CALL_RECORD_H_
