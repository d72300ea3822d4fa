// The refusal that a plan predicts for the start of its run.
#ifndef DPNMF_COMMON_WIRE_PLAN_REFUSAL_H_
#define DPNMF_COMMON_WIRE_PLAN_REFUSAL_H_

#include "absl/status/status.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf {

// OK if the run would be accepted. Otherwise the refusal's code and sentence:
// RESOURCE_EXHAUSTED if the budget has no room for the run, FAILED_PRECONDITION
// for every other reason.
absl::Status RefusalOf(const v1::PlanRunReply& reply);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_PLAN_REFUSAL_H_
