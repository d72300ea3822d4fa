#include "common/nmf/statistics_update.h"

#include <cmath>
#include <utility>

#include "common/nmf/dictionary.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

// A is positive semidefinite, its noised average need not be. The noise is a
// Gaussian orthogonal matrix, whose spectral norm is about 2 sigma sqrt(K);
// adding that to the diagonal keeps directions that the noise has flattened
// from being divided by almost nothing. Without noise nothing is added.
Eigen::MatrixXd DenoiseA(const Eigen::MatrixXd& a, double stddev,
                         const Stop& stop) {
  Eigen::MatrixXd denoised = NearestPositiveSemidefinite(a, stop);
  denoised.diagonal().array() +=
      2 * stddev * std::sqrt(static_cast<double>(a.rows()));
  return denoised;
}

}  // namespace

double ShareOfRound(std::uint32_t round) { return 2.0 / (round + 1.0); }

void AverageRounds(std::uint32_t round, Eigen::MatrixXd fresh,
                   Eigen::MatrixXd* kept) {
  const double share = ShareOfRound(round);
  if (kept->size() == 0 || share >= 1) {
    *kept = std::move(fresh);
  } else {
    *kept += share * (fresh - *kept);
  }
}

double VarianceShareOfAverage(std::uint32_t round) {
  const double t = round;
  return 2.0 / 3.0 * (2 * t + 1) / (t * (t + 1));
}

void UpdateFromStatistics(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                          const StatisticsStep& step, Eigen::MatrixXd* w,
                          const Stop& stop) {
  const Eigen::MatrixXd denoised = DenoiseA(a, step.stddev_a, stop);
  // u and h are non-negative, so B is.
  const Eigen::MatrixXd positive = b.cwiseMax(0);
  for (std::uint32_t i = 0; i < step.steps && !Stopped(stop); ++i) {
    ProjectedGradientStep(denoised, positive, step.step_size, w, stop);
  }
}

Eigen::MatrixXd StatisticsStandardErrors(const Eigen::MatrixXd& a,
                                         const Eigen::MatrixXd& w,
                                         const StatisticsNoise& noise,
                                         const StatisticsStep& step,
                                         std::uint64_t seed, int replicates,
                                         const Stop& stop) {
  const Eigen::MatrixXd center_a = NearestPositiveSemidefinite(a, stop);
  // B of a W that is at rest where A is what UpdateFromStatistics makes of it.
  const Eigen::MatrixXd center_b =
      Product(w, DenoiseA(center_a, step.stddev_a, stop), stop);
  Draws draws(seed);
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(w.rows(), w.cols());
  Eigen::MatrixXd squares = sum;
  for (int replicate = 0; replicate < replicates && !Stopped(stop);
       ++replicate) {
    Eigen::MatrixXd b = center_b;
    for (auto column : b.colwise()) {
      if (Stopped(stop)) break;
      for (double& entry : column) entry += noise.stddev_b * draws.Normal();
    }
    Eigen::MatrixXd again = w;
    UpdateFromStatistics(
        center_a + SymmetricNoise(a.rows(), noise.stddev_a,
                                  noise.diagonal_stddev_a, &draws),
        b, step, &again, stop);
    again -= w;
    sum += again;
    squares += again.cwiseAbs2();
  }
  const double count = replicates;
  return ((squares - sum.cwiseAbs2() / count).cwiseMax(0.0) / (count - 1))
      .cwiseSqrt();
}

}  // namespace dpnmf
