#include "common/learning/standard_errors.h"

#include "common/base/error.h"
#include "common/learning/round_facts.h"

namespace dpnmf::analyst {
namespace {

// The function of the last stage's release; null if there is none.
ErrorsFunction ErrorsOf(const v1::RunPlan& plan) {
  if (plan.stages().empty()) return nullptr;
  const ReleaseKind* const last =
      FindReleaseKind(plan.stages().rbegin()->release());
  return last == nullptr ? nullptr : last->standard_errors;
}

}  // namespace

absl::Status CheckHasStandardErrors(const v1::Run& run) {
  return run.state() == v1::RUN_STATE_COMPLETED &&
                 ErrorsOf(run.plan()) != nullptr
             ? absl::OkStatus()
             : ErrorsUnavailable();
}

absl::StatusOr<Eigen::MatrixXd> StandardErrors(
    const v1::Run& run, const LearnerState& state,
    const std::function<bool()>& stopped) {
  DPNMF_RETURN_IF_ERROR(CheckHasStandardErrors(run));
  if (stopped()) {
    return Refusal(absl::StatusCode::kCancelled, "cancelled",
                   "Nobody waits for the standard errors any longer.");
  }
  const v1::StagePlan& last = *run.plan().stages().rbegin();
  const RoundFacts facts = FactsOfRound(run.specification(), run.plan(),
                                        {&last, last.rounds()}, /*users=*/1);
  return ErrorsOf(run.plan())(facts, state, stopped);
}

}  // namespace dpnmf::analyst
