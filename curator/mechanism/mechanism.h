// Kinds of release: what is summed over people, and what is published of the
// noised sums. A further kind is one file here, one on the analyst's side, one
// row in each table and its stage in PlanRun.
#ifndef DPNMF_CURATOR_MECHANISM_MECHANISM_H_
#define DPNMF_CURATOR_MECHANISM_MECHANISM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/nmf/round_input.h"
#include "common/privacy/run_plan.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"
#include "curator/release/release_gate.h"

namespace dpnmf::curator {

// What a round is computed from.
struct RoundContext {
  const Dataset& data;
  const RunParameters& parameters;
  const RunPlan& plan;
  Execution execution;
  // H of the run's rounds before; made by the first round that needs it.
  std::unique_ptr<Coefficients>* coefficients = nullptr;
};

struct Mechanism {
  ReleaseKind kind;
  // From the request and public facts alone. Errors of CheckDictionary;
  // INVALID_ARGUMENT "matrix-shape", "rows-malformed".
  absl::Status (*check)(const RoundInput& input,
                        const RunParameters& parameters,
                        const DatasetFacts& facts);
  // The exact sums of the stage's parts.
  absl::StatusOr<RoundSums> (*sums)(const RoundInput& input,
                                    const RoundContext& context);
  // The post-processing of one round: it sees noised values and the request
  // alone.
  PostProcess (*publish)(const RoundInput& input);
};

const Mechanism& MechanismOf(ReleaseKind kind);

// Each in the file of its name (mean: moments.cc).
extern const Mechanism kMeanMechanism, kMomentsMechanism, kStatisticsMechanism,
    kGradientMechanism, kObjectiveMechanism;

// Shared by the kinds.
absl::Status CheckTakesDictionary(const RoundInput& input,
                                  const RunParameters& parameters,
                                  const DatasetFacts& facts);
absl::Status CheckTakesNothing(const RoundInput& input,
                               const RunParameters& parameters,
                               const DatasetFacts& facts);
absl::StatusOr<RoundSums> SumsOfStatistics(const RoundInput& input,
                                           const RoundContext& context);
StatisticsRequest StatisticsRequestOf(const RoundInput& input,
                                      const RoundContext& context);
PostProcess PublishAll(const RoundInput& input);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MECHANISM_MECHANISM_H_
