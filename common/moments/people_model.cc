#include "common/moments/people_model.h"

#include <algorithm>
#include <cmath>

#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kPilotColumns = 2000;
constexpr std::uint64_t kPilotSeed = 1;
constexpr double kStep = 0.8;
// Beyond so many rows a decomposition takes seconds.
constexpr Index kManyRows = 400;
constexpr int kStepsOfFew = 8, kStepsOfMany = 3;

// The positive part of a symmetric matrix as F F'; the first column of F points
// where entries are positive.
MatrixXd DirectionsOf(const MatrixXd& moment, const Stop& stop) {
  const SymmetricEigen solver = EigenOfSymmetric(moment, stop);
  const VectorXd values = solver.values.reverse();
  MatrixXd vectors = solver.vectors.rowwise().reverse();
  if (vectors.col(0).sum() < 0) vectors.col(0) *= -1;
  Index kept = 1;
  while (kept < values.size() && values(kept) > 1e-6 * values(0)) ++kept;
  return vectors.leftCols(kept) *
         values.head(kept).cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

}  // namespace

void BoundColumns(const ColumnBound& bound, MatrixXd* columns) {
  *columns = columns->cwiseMax(0.0);
  for (auto column : columns->colwise()) {
    const double length = column.norm();
    const double most = bound.is_unit ? 1 : bound.length;
    if (length > 0 && (bound.is_unit || length > most)) column *= most / length;
  }
}

MatrixXd DrawColumns(const PeopleLaw& law, Index count, Draws* draws) {
  MatrixXd c(law.directions.cols(), count);
  MatrixXd e(law.directions.rows(), count);
  for (Index n = 0; n < count; ++n) {
    c.col(n) = std::sqrt(draws->Exponential()) * draws->Normals(c.rows());
    c(0, n) = 1;
    e.col(n) = law.deviation.cwiseProduct(draws->Normals(e.rows()));
  }
  MatrixXd columns = Product(law.directions, c) + e;
  BoundColumns(law.bound, &columns);
  return columns;
}

absl::StatusOr<PeopleLaw> FitPeopleLaw(const DenoisedMoments& moments,
                                       const ColumnBound& bound,
                                       const Stop& stop) {
  PeopleLaw law;
  law.bound = bound;
  MatrixXd target = moments.g;
  VectorXd left = (moments.diagonal - target.diagonal()).cwiseMax(0.0);
  const double missing = std::max(0.0, moments.trace - target.trace());
  left *= left.sum() > 0 ? missing / left.sum() : 0.0;
  if (moments.beside.size() > 0) left += moments.beside;
  target.diagonal() += left;
  // The second moment of columns of length 1 has trace 1.
  const double scale = bound.is_unit ? 1 / target.trace() : 1;
  target *= scale;
  law.deviation = (scale * left).cwiseSqrt();
  MatrixXd latent = target;
  latent.diagonal() -= scale * left;
  const int steps = target.rows() > kManyRows ? kStepsOfMany : kStepsOfFew;
  for (int step = 0; step <= steps; ++step) {
    law.directions = DirectionsOf(latent, stop);
    DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
    if (step == steps) break;
    Draws draws(kPilotSeed);
    const MatrixXd x = DrawColumns(law, kPilotColumns, &draws);
    latent += kStep * (target - ProductTranspose(x, x, stop) /
                                    static_cast<double>(kPilotColumns));
  }
  return law;
}

}  // namespace dpnmf
