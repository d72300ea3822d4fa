#include "common/wire/plan_refusal.h"

#include <string>

#include "common/base/error.h"

namespace dpnmf {

absl::Status RefusalOf(const v1::PlanRunReply& reply) {
  if (!reply.would_be_refused()) return absl::OkStatus();
  const std::string& code = reply.refusal_code();
  const bool by_budget =
      code == "budget-exhausted" || code == "identity-budget-exhausted";
  return Refusal(by_budget ? absl::StatusCode::kResourceExhausted
                           : absl::StatusCode::kFailedPrecondition,
                 code, reply.refusal());
}

}  // namespace dpnmf
