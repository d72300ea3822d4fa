#include "common/nmf/gradient_update.h"

#include <algorithm>
#include <cmath>

#include "common/nmf/dictionary.h"
#include "common/nmf/linear_algebra.h"
#include "common/nmf/statistics_update.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Users' coefficients are few and of length at most c_h: A's entries are some
// c_h^2/K, larger on the diagonal. Measured on faces, digits and counts
// (docs/research/utility.md); twice or half of it changes the objective by 2 %.
constexpr double kPriorScale = 0.3;

}  // namespace

void AddGradient(std::uint32_t round, const MatrixXd& w,
                 const MatrixXd& gradient, GradientMemory* memory,
                 const Stop& stop) {
  const Eigen::Index rank = w.cols();
  if (memory->w.size() == 0 || round <= 1) {
    *memory = {w, gradient, MatrixXd::Zero(rank, rank),
               MatrixXd::Zero(rank, rank)};
    return;
  }
  const double share = ShareOfRound(round);
  const MatrixXd dw = w - memory->w;
  const MatrixXd dg = gradient - memory->gradient;
  memory->w += share * dw;
  memory->gradient += share * dg;
  // Weighted scatter around the new means (West 1979).
  memory->ww =
      (1 - share) * (memory->ww + ScaledTransposeProduct(share, dw, dw, stop));
  memory->wg =
      (1 - share) * (memory->wg + ScaledTransposeProduct(share, dw, dg, stop));
}

double GradientNoiseVariance(double stddev_a, double stddev_b,
                             const MatrixXd& w) {
  const double rows = static_cast<double>(w.rows());
  return stddev_b * stddev_b + stddev_a * stddev_a * w.squaredNorm() / rows;
}

StatisticsOfGradients FitStatistics(const GradientMemory& memory,
                                    const GradientStep& step,
                                    const Stop& stop) {
  const Eigen::Index rank = memory.ww.rows();
  const double scale =
      kPriorScale * step.largest_a_norm / static_cast<double>(rank);
  MatrixXd prior = MatrixXd::Constant(rank, rank, scale);
  prior.diagonal().array() += scale;
  // By directions q_i of W's movement: precision of the rounds s_i / noise.
  const SymmetricEigen moved = EigenOfSymmetric(memory.ww, stop);
  const MatrixXd& q = moved.vectors;
  const double noise = step.variance * step.variance_share;
  const double ridge = noise / (scale * scale);
  // Movement below rounding tells nothing.
  const double least = 1e-12 * std::max(1.0, moved.values.maxCoeff());
  MatrixXd rows = TransposeProduct(q, prior, stop);
  const MatrixXd seen = TransposeProduct(q, memory.wg, stop);
  VectorXd deviation = VectorXd::Constant(rank, scale);
  for (Eigen::Index i = 0; i < rank; ++i) {
    const double movement = moved.values(i);
    if (movement <= least) continue;
    rows.row(i) = (seen.row(i) + ridge * rows.row(i)) / (movement + ridge);
    deviation(i) = std::sqrt(noise / (movement + ridge));
  }
  StatisticsOfGradients fitted;
  fitted.a = NearestPositiveSemidefinite(Product(q, rows, stop), stop) +
             Conjugated(q, deviation, stop);
  fitted.b = (Product(memory.w, fitted.a, stop) - memory.gradient).cwiseMax(0);
  return fitted;
}

void UpdateFromGradients(const GradientMemory& memory, const GradientStep& step,
                         MatrixXd* w, const Stop& stop) {
  const StatisticsOfGradients fitted = FitStatistics(memory, step, stop);
  for (std::uint32_t i = 0; i < step.steps && !Stopped(stop); ++i)
    ProjectedGradientStep(fitted.a, fitted.b, step.step_size, w, stop);
}

}  // namespace dpnmf
