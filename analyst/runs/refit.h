// Runs that are fitted here, from a release that is paid for: children of a run
// (RefitRun) and releases that were added (AddRelease). Nothing of this knows
// the curator: such a run asks it for nothing and is never charged.
#ifndef DPNMF_ANALYST_RUNS_REFIT_H_
#define DPNMF_ANALYST_RUNS_REFIT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "analyst/runs/learner.h"
#include "analyst/runs/run_control.h"
#include "analyst/store/run_store.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// The stages of mean and moments.
v1::RunPlan PlanOfPaid(const v1::RunPlan& plan);

// W_0 of a run (D x K), checked and projected; w0 as the client sent it.
// INVALID_ARGUMENT "dictionary-missing", "dictionary-unexpected",
// "matrix-shape"; errors of CheckDictionary.
absl::StatusOr<Eigen::MatrixXd> FirstDictionary(
    std::uint64_t features, std::uint64_t rank,
    const v1::LearnerOptions& learner, std::optional<Eigen::MatrixXd> w0);

// A run to be stored.
struct NewRun {
  RunRecord record;
  LearnerState state;
  NewRunFacts facts;
};

// The child that a request asks for, but for its W_0, its id and who started
// it: what was released, guarantee, names are those of `source`, a stored run
// that has the release (itself, or a child with a copy of it).
// FAILED_PRECONDITION "release-missing"; INVALID_ARGUMENT "rank-out-of-range",
// "initialisation-unknown", those of CheckFitLawOf; DATA_LOSS "state-damaged".
absl::StatusOr<NewRun> ChildOf(const RunRecord& source, LearnerState state,
                               const v1::Refit& refit);

// The same request has the same name: parent (or the terms of a sum), rank,
// seed, priors, order of features, law and W_0 as sent.
ClientRequest RequestOf(const v1::Run& child,
                        const std::optional<Eigen::MatrixXd>& w0);

// Carries such a run to its end, from whatever state it is stored in; returns
// also when the control is stopped: the run then stays as it is stored. The
// same bits for any number of cores. on_change is called after each stored
// change, and now and then while control->learning() grows.
void FitStoredRun(const std::string& run_id, RunStore* store,
                  RunControl* control, const LearnerSettings& settings,
                  const std::function<void()>& on_change);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_REFIT_H_
