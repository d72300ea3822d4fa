#include "common/ratings/co_ratings.h"

#include <algorithm>
#include <cmath>

#include "common/nmf/linear_algebra.h"

namespace dpnmf {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

MatrixXd SelectRows(const MatrixXd& matrix, const std::vector<Index>& rows) {
  return matrix(rows, Eigen::all);
}

// Weighted to mean 0 and deviation 1; 0 if all are alike.
VectorXd StandardisedBy(const VectorXd& values, const VectorXd& weights) {
  const VectorXd centred = values.array() - weights.dot(values) / weights.sum();
  const double variance = weights.dot(centred.cwiseAbs2()) / weights.sum();
  return variance > 1e-12 ? VectorXd(centred / std::sqrt(variance))
                          : VectorXd(VectorXd::Zero(values.size()));
}

// Turns y to its principal directions under weights p and drops the weak.
MatrixXd PrincipalDirections(const MatrixXd& y, const VectorXd& p, Index most) {
  const SymmetricEigen eigen =
      EigenOfSymmetric(TransposeProduct(y, p.asDiagonal() * y));
  const Index size = y.cols();
  Index kept = 0;
  while (kept < std::min(size, most) &&
         eigen.values(size - 1 - kept) > 1e-3 * eigen.values(size - 1) &&
         eigen.values(size - 1 - kept) > 1e-9) {
    ++kept;
  }
  return Product(y, eigen.vectors.rightCols(kept).rowwise().reverse());
}

}  // namespace

MatrixXd NoisedCoRatings::Damped(const MatrixXd& x) const {
  if (direction.size() == 0) return x;
  const Eigen::RowVectorXd along = direction.transpose() * x;
  return x - direction * ((1 - kept) * along);
}

MatrixXd NoisedCoRatings::Undamped(const MatrixXd& x) const {
  if (direction.size() == 0) return x;
  const Eigen::RowVectorXd along = direction.transpose() * x;
  return x + direction * ((1 / kept - 1) * along);
}

double AboveEdge(Index size) { return 1 + std::pow(double(size), -2.0 / 3); }

Spikes SpikesOf(const MatrixXd& matrix, double stddev, Index most,
                const Stop& stop) {
  const SymmetricEigen eigen = EigenOfSymmetric(matrix, stop);
  const Index size = matrix.rows();
  if (Stopped(stop)) return {VectorXd(0), VectorXd(0), MatrixXd(size, 0)};
  const double edge = 2 * stddev * std::sqrt(double(size));
  const double least = AboveEdge(size) * edge;
  Index kept = 0;
  while (kept < std::min(size, most) && eigen.values(size - 1 - kept) > least &&
         eigen.values(size - 1 - kept) > 0) {
    ++kept;
  }
  Spikes spikes{eigen.values.reverse().head(kept), VectorXd(kept),
                eigen.vectors.rightCols(kept).rowwise().reverse()};
  for (Index k = 0; k < kept; ++k) {
    const double seen = spikes.values(k);
    const double value = (seen + std::sqrt(seen * seen - edge * edge)) / 2;
    spikes.values(k) = value;
    spikes.shrunk(k) = value - stddev * stddev * double(size) / value;
  }
  return spikes;
}

bool CountsFromCoRatings(const NoisedCoRatings& co_ratings,
                         const VectorXd& counts, VectorXd* second,
                         VectorXd* stddev, const Stop& stop) {
  VectorXd direction;
  double length = 0;  // of what `direction` was before: the noise is in it
  if (co_ratings.direction.size() > 0) {
    // The first direction is short here, and lies about p: one step of the
    // power method has no more noise than C has.
    direction = co_ratings.Undamped(co_ratings.c * co_ratings.direction);
    length = direction.norm();
    if (!(length > 0)) return false;
    direction /= length;
  } else {
    const Spikes first = SpikesOf(co_ratings.c, co_ratings.stddev, 1, stop);
    if (first.values.size() == 0) return false;
    direction = first.vectors.col(0);
    length = first.values(0);
  }
  if (direction.sum() < 0) direction *= -1;
  double overlap = 0;
  for (std::size_t k = 0; k < co_ratings.rows.size(); ++k)
    overlap += direction(Index(k)) * counts(co_ratings.rows[k]);
  *second = VectorXd::Zero(counts.size());
  *stddev = VectorXd::Constant(counts.size(), INFINITY);
  for (std::size_t k = 0; k < co_ratings.rows.size(); ++k) {
    const Index row = co_ratings.rows[k];
    (*second)(row) = overlap * direction(Index(k));
    (*stddev)(row) = overlap * co_ratings.stddev / length;
  }
  return true;
}

CoRatingModel FitCoRatings(const NoisedCoRatings& co_ratings,
                           const VectorXd& counts, const MatrixXd& features,
                           Index most, const Stop& stop) {
  const Index size = counts.size();
  const VectorXd p = counts / counts.sum();
  const VectorXd popularity = StandardisedBy(
      (counts.array() / counts.maxCoeff()).max(1e-3).log().matrix(), p);
  MatrixXd wide(size, features.cols() + 2);
  wide << VectorXd::Ones(size), features, popularity;

  // Q: an orthonormal basis of the rows of c_i (1, features_i, popularity_i),
  // damped.
  const MatrixXd weighted = co_ratings.Damped(
      SelectRows(counts.asDiagonal() * wide, co_ratings.rows));
  const SymmetricEigen gram =
      EigenOfSymmetric(TransposeProduct(weighted, weighted, stop), stop);
  if (Stopped(stop)) return {0, MatrixXd::Zero(size, 0)};
  Index rank = 0;
  const Index all = gram.values.size();
  while (rank < all &&
         gram.values(all - 1 - rank) > 1e-5 * gram.values(all - 1)) {
    ++rank;
  }
  const MatrixXd turn =
      gram.vectors.rightCols(rank) *
      gram.values.tail(rank).cwiseSqrt().cwiseInverse().asDiagonal();
  const MatrixXd basis = Product(weighted, turn);
  Spikes known = SpikesOf(
      TransposeProduct(basis, Product(co_ratings.c, basis, stop), stop),
      co_ratings.stddev, rank, stop);
  CoRatingModel model;
  if (known.values.size() == 0) {
    model.y = MatrixXd::Zero(size, 0);
    return model;
  }
  const MatrixXd directions = Product(basis, known.vectors);
  const MatrixXd explained =
      Product(Product(wide, Product(turn, known.vectors)),
              known.shrunk.cwiseSqrt().asDiagonal());

  // The rest: y_i = sqrt(l) v_i / c_i with noise stddev^2 / (l c_i^2), shrunk
  // toward 0 by the mean square that the column shows beyond its noise.
  const Spikes rest =
      SpikesOf(co_ratings.c - Conjugated(directions, known.shrunk),
               co_ratings.stddev, most, stop);
  if (Stopped(stop)) return {0, MatrixXd::Zero(size, 0)};
  MatrixXd y = MatrixXd::Zero(size, explained.cols() + rest.values.size());
  y.leftCols(explained.cols()) = explained;
  double squared_counts = 0;
  for (const Index row : co_ratings.rows)
    squared_counts += counts(row) * counts(row);
  for (Index k = 0; k < rest.values.size(); ++k) {
    const VectorXd loading =
        co_ratings.Undamped(rest.vectors.col(k) * std::sqrt(rest.shrunk(k)));
    const double noise = co_ratings.stddev * co_ratings.stddev / rest.values(k);
    const double variance =
        std::max((loading.squaredNorm() - noise * double(loading.size())) /
                     squared_counts,
                 1e-9);
    for (std::size_t m = 0; m < co_ratings.rows.size(); ++m) {
      const Index row = co_ratings.rows[m];
      const double count = counts(row);
      y(row, explained.cols() + k) = loading(Index(m)) / count * variance /
                                     (variance + noise / (count * count));
    }
  }
  const Eigen::RowVectorXd mean = p.transpose() * y;
  model.scale = mean.squaredNorm();
  y.rowwise() -= mean;
  y /= std::sqrt(model.scale);
  model.y = PrincipalDirections(y, p, most);
  return model;
}

}  // namespace dpnmf
