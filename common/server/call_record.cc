#include "common/server/call_record.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/log/log.h"
#include "common/wire/trace_metadata.h"

namespace dpnmf {
namespace {

constexpr std::size_t kLongestIdentity = 500;

}  // namespace

std::string ResultOf(const absl::Status& status) {
  if (status.ok()) return "ok";
  std::string code = ReasonCode(status);
  return code.empty() ? "internal-error" : code;
}

absl::Status AuditFailed() {
  return Refusal(absl::StatusCode::kUnavailable, "audit-failed",
                 "The server cannot write its audit log, so the call is "
                 "refused; the server's operator must free space for the log.");
}

CallRecord::CallRecord(const Observers& observers, std::string method,
                       const grpc::ServerContextBase& context,
                       const std::vector<std::string>& identities)
    : observers_(observers),
      method_(std::move(method)),
      identity_(absl::StrJoin(identities, " ").substr(0, kLongestIdentity)),
      scope_(ReceivedTrace(context)) {}

absl::Status CallRecord::Finish(absl::Status outcome, AuditFields more) {
  AuditFields fields = {{"method", method_},
                        {"identity", identity_},
                        {"result", ResultOf(outcome)}};
  for (auto& field : more) fields.push_back(std::move(field));
  const absl::Status written = WriteAudit(observers_.audit, "call", fields);
  if (!written.ok()) {
    LogError("{}", std::string(written.message()));
    if (outcome.ok()) outcome = AuditFailed();
  }
  if (observers_.metrics != nullptr) {
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin_;
    observers_.metrics->CallEnded(method_, ResultOf(outcome), took.count());
  }
  return outcome;
}

void CallRecord::Count(std::uint64_t received, std::uint64_t sent) const {
  if (observers_.metrics != nullptr) observers_.metrics->Bytes(received, sent);
}

}  // namespace dpnmf
