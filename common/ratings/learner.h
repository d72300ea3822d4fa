// Learner of a run of `ratings`: what its releases teach, and the next request.
// Pure: a function of released values and public facts, the same bits on every
// machine and for any number of threads.
#ifndef DPNMF_COMMON_RATINGS_LEARNER_H_
#define DPNMF_COMMON_RATINGS_LEARNER_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/nmf/noised_matrix.h"
#include "common/nmf/round_input.h"
#include "common/privacy/run_plan.h"
#include "common/ratings/item_model.h"
#include "common/threads/stop.h"

namespace dpnmf {

// Fills in shares, moment_rows, profile_directions, rank and rounds where they
// are empty or 0, from N, D, the range, the number of public features and the
// run's cost alone.
void FillRatingsDefaults(const DatasetFacts& facts, RunParameters* parameters);

// Public facts of a run.
struct RatingsFacts {
  DatasetFacts dataset;
  RunParameters parameters;
  RunPlan plan;
  // D x p: the declared public features of items as they were declared; no
  // columns if there are none.
  Eigen::MatrixXd item_features;
  // Affects RatingsModel only (common/ratings/parts.h): requests and the memory
  // are the same.
  bool non_negative = false;
  // Asks RatingsUpdate to end with CANCELLED "cancelled" and no change of the
  // memory.
  Stop stopped;
};

// Memory that a run carries from release to release, by names of the learner's
// choice.
using RatingsMemory = std::map<std::string, Eigen::MatrixXd>;

// The request of round `round` (1 to rounds) of the run. DATA_LOSS
// "state-damaged" if the memory cannot be one that RatingsUpdate has left.
absl::StatusOr<RoundInput> RatingsInput(std::uint32_t round,
                                        const RatingsFacts& facts,
                                        const RatingsMemory& memory);

// Learns from the release of round `round`. INVALID_ARGUMENT
// "release-malformed" if the parts do not fit the plan; the memory is then
// unchanged. A round that was lost is left out: later rounds use the memory
// without it.
absl::Status RatingsUpdate(std::uint32_t round, const RatingsFacts& facts,
                           const std::vector<NoisedMatrix>& parts,
                           RatingsMemory* memory);

// The model as far as it is known. FAILED_PRECONDITION "model-not-ready" before
// the first release.
absl::StatusOr<ItemModel> RatingsModel(const RatingsFacts& facts,
                                       const RatingsMemory& memory);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_LEARNER_H_
