// "statistics": the curator sends the noised A and B themselves.
#include <cmath>
#include <utility>

#include "analyst/mechanism/mechanism.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"

namespace dpnmf::analyst {
namespace {

// A is positive semidefinite, its noised average need not be. The noise is a
// Gaussian orthogonal matrix, whose spectral norm is about 2 sigma sqrt(K);
// adding that to the diagonal keeps directions that the noise has flattened
// from being divided by almost nothing. Without noise nothing is added.
Eigen::MatrixXd DenoiseA(const Eigen::MatrixXd& a, double stddev) {
  Eigen::MatrixXd denoised = NearestPositiveSemidefinite(a);
  denoised.diagonal().array() +=
      2 * stddev * std::sqrt(static_cast<double>(a.rows()));
  return denoised;
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
  const double stddev_a = facts.stddev_a * std::sqrt(VarianceShare(facts));
  a = DenoiseA(AverageIn("A", facts, std::move(a), state), stddev_a);
  // u and h are non-negative, so B is.
  b = AverageIn("B", facts, std::move(b), state).cwiseMax(0);
  for (std::uint32_t step = 0; step < facts.steps_per_round; ++step) {
    ProjectedGradientStep(a, b, facts.step_size, &state->w);
  }
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
