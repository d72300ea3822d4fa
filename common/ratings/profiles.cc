#include "common/ratings/profiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "common/nmf/linear_algebra.h"
#include "common/ratings/co_ratings.h"
#include "common/ratings/solve.h"

namespace dpnmf {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Eigen::VectorXi;

namespace {

constexpr double kMultiplierVariance = 0.09;  // of a group, about 1
constexpr double kLeastMultiplier = 0.1, kLeastVariance = 0.02;
constexpr int kFactorSteps = 15, kCorrectionSteps = 12;
constexpr Index kMostCorrected = 8'192;

// Factor that shrinks values with noise of this variance, if they are normal
// about 0 with the variance that they show beyond the noise and its standard
// error.
double Shrinkage(const VectorXd& values, double noise) {
  const double count = double(values.size());
  if (!(noise > 0) || values.size() == 0) return 1;
  const double shown =
      values.squaredNorm() / count - noise * (1 + std::sqrt(2 / count));
  return shown > 0 ? shown / (shown + noise) : 0;
}

MatrixXd WithLeast(double least, const MatrixXd& matrix, const Stop& stop) {
  const SymmetricEigen eigen = EigenOfSymmetric(matrix, stop);
  return Conjugated(eigen.vectors, eigen.values.cwiseMax(least));
}

}  // namespace

MatrixXd PriorCovariance(const MatrixXd& mean, double stddev,
                         const VectorXi& group, const Stop& stop) {
  std::vector<std::vector<Index>> groups(std::size_t(group.maxCoeff()) + 1);
  for (Index k = 0; k < mean.rows(); ++k)
    groups[std::size_t(group(k))].push_back(k);
  std::erase_if(groups, [](const auto& one) { return one.empty(); });
  const double noise = stddev * stddev;
  MatrixXd covariance = MatrixXd::Zero(mean.rows(), mean.cols());
  for (std::size_t a = 0; a < groups.size(); ++a) {
    const std::vector<Index>& rows = groups[a];
    const double count = double(rows.size());
    MatrixXd block = mean(rows, rows);
    const VectorXd diagonal = block.diagonal();
    const double multiplier = std::max(
        kLeastMultiplier, 1 + (diagonal.mean() - 1) * kMultiplierVariance /
                                  (kMultiplierVariance + 2 * noise / count));
    const VectorXd deviations = diagonal.array() - diagonal.mean();
    VectorXd beside(Index(rows.size() * (rows.size() - 1) / 2));
    Index next = 0;
    for (Index j = 1; j < block.cols(); ++j) {
      beside.segment(next, j) = block.col(j).head(j);
      next += j;
    }
    block *= Shrinkage(beside, noise);
    block.diagonal() =
        (multiplier + Shrinkage(deviations, 2 * noise) * deviations.array())
            .max(kLeastMultiplier / 2);
    covariance(rows, rows) = block;
    for (std::size_t b = a + 1; b < groups.size(); ++b) {
      const MatrixXd across = mean(rows, groups[b]);
      const MatrixXd shrunk = Shrinkage(across.reshaped(), noise) * across;
      covariance(rows, groups[b]) = shrunk;
      covariance(groups[b], rows) = shrunk.transpose();
    }
  }
  return WithLeast(kLeastVariance, covariance, stop);
}

MatrixXd ResidualFactors(const MatrixXd& s, double stddev, const MatrixXd& c,
                         double sampling, Index most, const Stop& stop) {
  const Index size = s.rows();
  MatrixXd start = s;
  start.diagonal().setZero();
  const Spikes spikes = SpikesOf(
      start, std::sqrt(stddev * stddev + sampling * std::max(0.0, c.mean())),
      most, stop);
  const Index factors = spikes.values.size();
  if (factors == 0) return MatrixXd::Zero(size, 0);
  // F ~ V sqrt(l) / q with C ~ q q'.
  VectorXd q = c.rowwise().sum() / std::sqrt(std::max(c.sum(), 1e-12));
  q = q.cwiseMax(0.3 * q.mean());
  MatrixXd f = q.cwiseInverse().asDiagonal() * spikes.vectors *
               spikes.values.cwiseSqrt().asDiagonal();

  const MatrixXd variance = (sampling * c).array() + (stddev * stddev + 1e-12);
  MatrixXd weights = c.cwiseAbs2().cwiseQuotient(variance);
  MatrixXd targets = c.cwiseProduct(s).cwiseQuotient(variance);
  weights.diagonal().setZero();
  targets.diagonal().setZero();
  MatrixXd products(size, factors * (factors + 1) / 2);
  for (int step = 0; step < kFactorSteps && !Stopped(stop); ++step) {
    Index column = 0;
    for (Index j = 0; j < factors; ++j)
      for (Index i = 0; i <= j; ++i)
        products.col(column++) = f.col(i).cwiseProduct(f.col(j));
    const MatrixXd grams = Product(weights, products, stop);
    const MatrixXd rights = Product(targets, f, stop);
    const VectorXd prior =
        (f.colwise().squaredNorm().transpose() / double(size)).cwiseMax(1e-4);
    for (Index m = 0; m < size; ++m) {
      MatrixXd gram(factors, factors);
      column = 0;
      for (Index j = 0; j < factors; ++j)
        for (Index i = 0; i <= j; ++i)
          gram(i, j) = gram(j, i) = grams(m, column++);
      gram.diagonal() += prior.cwiseInverse();
      f.row(m) =
          0.5 * f.row(m) +
          0.5 * SolvePositive(gram, rights.row(m).transpose()).transpose();
    }
  }
  return f;
}

Corrections EstimateCorrections(const MatrixXd& b, double stddev,
                                const MatrixXd& a, double a_stddev,
                                const VectorXd& counts,
                                const VectorXd& first_scale, double sampling,
                                const Stop& stop) {
  const Index size = b.rows(), k = b.cols();
  // A, its eigenvalues within its noise cut to 0.
  const SymmetricEigen eigen = EigenOfSymmetric(a);
  const double edge = 2 * a_stddev * std::sqrt(double(k));
  const VectorXd kept = (eigen.values.array() > edge).select(eigen.values, 0.0);
  const MatrixXd moment = Conjugated(eigen.vectors, kept);
  const double level = kept.sum() / double(k);
  // With R the noise's variance of a row (taken as a multiple of I):
  // posterior precision (counts^2 / R) A A + diag(1/v).
  const MatrixXd squared = Product(moment, moment);
  const MatrixXd rights = Product(b, moment);
  const auto posterior = [&](Index i, const VectorXd& v, VectorXd* mean,
                             VectorXd* variance) {
    const double noise = stddev * stddev + sampling * counts(i) * level + 1e-12;
    MatrixXd precision = (counts(i) * counts(i) / noise) * squared;
    precision.diagonal() += v.cwiseInverse();
    precision(0, 0) += (1 / first_scale(i) - 1) / v(0);
    const MatrixXd covariance = InverseOfPositive(precision);
    *mean = covariance * (counts(i) / noise * rights.row(i).transpose());
    *variance = covariance.diagonal();
  };
  VectorXd v = VectorXd::Constant(k, 0.03), mean(k), variance(k);
  v(0) = 1;
  const Index stride = (size + kMostCorrected - 1) / kMostCorrected;
  for (int step = 0; step < kCorrectionSteps; ++step) {
    VectorXd sum = VectorXd::Constant(k, 1e-9);
    double weight = 1e-12;
    for (Index i = 0; i < size && !Stopped(stop); i += stride) {
      posterior(i, v, &mean, &variance);
      VectorXd square = mean.cwiseAbs2() + variance;
      square(0) /= first_scale(i);
      sum += counts(i) * square;
      weight += counts(i);
    }
    v = (sum / weight).cwiseMax(1e-9);
  }
  Corrections result{MatrixXd(size, k), VectorXd(size)};
  for (Index i = 0; i < size && !Stopped(stop); ++i) {
    posterior(i, v, &mean, &variance);
    result.mean.row(i) = mean.transpose();
    result.first_variance(i) = variance(0);
  }
  return result;
}

}  // namespace dpnmf
