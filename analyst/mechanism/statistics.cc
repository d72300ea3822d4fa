// "statistics": the curator sends the noised A and B themselves.
#include <cmath>
#include <utility>

#include "analyst/mechanism/mechanism.h"
#include "common/base/error.h"
#include "common/nmf/statistics_update.h"

namespace dpnmf::analyst {

absl::Status UpdateFromStatistics(const std::vector<NoisedMatrix>& parts,
                                  const RoundFacts& facts,
                                  LearnerState* state) {
  const Eigen::Index features = state->w.rows();
  const Eigen::Index rank = state->w.cols();
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd a,
                         MeanOfPart(parts, "A", rank, rank, facts.users));
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd b,
                         MeanOfPart(parts, "B", features, rank, facts.users));
  a = AverageIn("A", facts, std::move(a), state);
  b = AverageIn("B", facts, std::move(b), state);
  dpnmf::UpdateFromStatistics(
      a, b,
      {.stddev_a = facts.stddev_a * std::sqrt(VarianceShare(facts)),
       .step_size = facts.step_size,
       .steps = facts.steps_per_round},
      &state->w);
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
