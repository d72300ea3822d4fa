// Plans of runs and their costs, from public facts and the ledger's position.
// Spends nothing.
#ifndef DPNMF_ANALYST_PLANNING_PLANNER_H_
#define DPNMF_ANALYST_PLANNING_PLANNER_H_

#include "absl/status/statusor.h"
#include "analyst/curators/curator_connection.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

inline constexpr std::uint32_t kMaxStepsPerRound = 10'000;

// The specification with every field that was left at 0 filled in; adjacency
// and conversion become the population's.
v1::RunSpecification WithDefaults(v1::RunSpecification specification,
                                  const v1::Dataset& dataset);

// INVALID_ARGUMENT "step-size-out-of-range", "steps-out-of-range" or
// "initialisation-unknown". NaN fails.
absl::Status CheckLearnerOptions(const v1::LearnerOptions& options);

struct PlannedRun {
  // would_be_refused: over the budget, or hopeless.
  v1::PlanRunReply reply;
  v1::Dataset dataset;
};

// Pure: what follows from the data set's facts and the ledger's position. A
// specification that no curator would accept is an error (those of
// CheckRunParameters, PlanRun and CheckLearnerOptions; "mechanism-unknown" for
// a mechanism without a dictionary, a figure and people); one that exceeds the
// budget or is hopeless is a plan that would be refused ("budget-exhausted",
// "identity-budget-exhausted", "run-hopeless").
absl::StatusOr<PlannedRun> PlanFor(const v1::RunSpecification& specification,
                                   const v1::Dataset& dataset,
                                   const v1::LedgerPosition& position);

// The data set of that name; NOT_FOUND "dataset-unknown".
absl::StatusOr<v1::Dataset> FindDataset(CuratorConnection* curator,
                                        const std::string& name);

// PlanFor with facts and position asked of the curator now. Besides its errors,
// those of the connection.
absl::StatusOr<PlannedRun> PlanWithCurator(
    const v1::RunSpecification& specification, CuratorConnection* curator);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_PLANNING_PLANNER_H_
