// "statistics": the curator sends the noised A and B themselves.
#include <algorithm>
#include <cmath>

#include "analyst/mechanism/mechanism.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"

namespace dpnmf::analyst {
namespace {

// Mixes this round's mean into the running one, weight of the new: `share`.
void Mix(const std::string& name, double share, Eigen::MatrixXd fresh,
         LearnerState* state) {
  Eigen::MatrixXd& kept = state->memory[name];
  if (kept.size() == 0 || share >= 1) {
    kept = std::move(fresh);
  } else {
    kept += share * (fresh - kept);
  }
}

}  // namespace

absl::Status UpdateFromStatistics(const std::vector<NoisedMatrix>& parts,
                                  const RoundFacts& facts,
                                  LearnerState* state) {
  const Eigen::Index features = state->w.rows();
  const Eigen::Index rank = state->w.cols();
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd a,
                         MeanOfPart(parts, "A", rank, rank, facts.users));
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd b,
                         MeanOfPart(parts, "B", features, rank, facts.users));
  const double share =
      facts.average ? std::min(1.0, 3.0 / (facts.round + 2.0)) : 1.0;
  Mix("A", share, std::move(a), state);
  Mix("B", share, std::move(b), state);
  const Eigen::MatrixXd denoised_a =
      NearestPositiveSemidefinite(state->memory["A"]);
  const Eigen::MatrixXd denoised_b = state->memory["B"].cwiseMax(0);
  for (std::uint32_t step = 0; step < facts.steps_per_round; ++step) {
    ProjectedGradientStep(denoised_a, denoised_b, facts.step_size, &state->w);
  }
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
