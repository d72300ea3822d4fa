#include "common/ratings/parts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kMostParts = 20, kMostFitted = 4096;
constexpr int kSweeps = 80, kRowSweeps = 30;
// b_0 as a part of the model's bias; where H is 0, in deviations of people.
constexpr double kLeastBias = 0.3, kLevel = 2;

// The most counted items, ascending.
std::vector<Index> MostCounted(const VectorXd& counts) {
  std::vector<Index> items(static_cast<std::size_t>(counts.size()));
  std::iota(items.begin(), items.end(), Index{0});
  std::stable_sort(items.begin(), items.end(),
                   [&](Index a, Index b) { return counts(a) > counts(b); });
  items.resize(std::min(items.size(), std::size_t{kMostFitted}));
  std::sort(items.begin(), items.end());
  return items;
}

// Both signs of each column of x, the heaviest `most` of them.
MatrixXd Poles(const MatrixXd& x, const VectorXd& p, Index most) {
  MatrixXd poles(x.rows(), 2 * x.cols());
  poles.leftCols(x.cols()) = x.cwiseMax(0.0);
  poles.rightCols(x.cols()) = (-x).cwiseMax(0.0);
  std::vector<Index> order(static_cast<std::size_t>(poles.cols()));
  std::iota(order.begin(), order.end(), Index{0});
  const VectorXd weights = poles.cwiseAbs2().transpose() * p;
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return weights(a) > weights(b); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(most)));
  return poles(Eigen::all, order);
}

// W and b^2 of parts.h on the fitted items: l is L of them, p their weights.
struct Fit {
  MatrixXd w;
  double bias_square = 0;
};

Fit FitParts(const MatrixXd& l, const VectorXd& p, double least_bias_square,
             const Stop& stop) {
  Fit fit;
  fit.w =
      Poles(l.rightCols(l.cols() - 1), p, std::min(kMostParts, l.cols() - 1));
  const double total = (l.transpose() * p).squaredNorm();
  for (int sweep = 0; sweep < kSweeps && !Stopped(stop); ++sweep) {
    fit.bias_square = std::max(least_bias_square,
                               total - (fit.w.transpose() * p).squaredNorm());
    for (Index k = 0; k < fit.w.cols(); ++k) {
      // (L L' - b^2 - sum over the other columns) P w, for w of column k.
      const VectorXd weighted = p.cwiseProduct(fit.w.col(k));
      const double square = weighted.dot(fit.w.col(k));
      if (!(square > 1e-12)) continue;
      VectorXd inner = fit.w.transpose() * weighted;
      inner(k) = 0;
      VectorXd next = l * (l.transpose() * weighted) - fit.w * inner;
      next.array() -= fit.bias_square * weighted.sum();
      // Half a step to what is best if the other side of w w' stays.
      fit.w.col(k) = 0.5 * (fit.w.col(k) + (next / square).cwiseMax(0.0));
    }
  }
  return fit;
}

// Rows of W for any items: min over w >= 0 of w G w' - 2 w r', one entry at a
// time.
MatrixXd Rows(const MatrixXd& loadings, const MatrixXd& fitted_l,
              const VectorXd& p, const Fit& fit, const Stop& stop) {
  const Index parts = fit.w.cols();
  const MatrixXd weighted = p.asDiagonal() * fit.w;
  const MatrixXd gram = TransposeProduct(fit.w, weighted);
  MatrixXd right = Product(loadings, TransposeProduct(fitted_l, weighted));
  right.rowwise() -= fit.bias_square * weighted.colwise().sum();
  MatrixXd rows = MatrixXd::Zero(loadings.rows(), parts);
  for (Index i = 0; i < rows.rows(); ++i) {
    if (i % 1024 == 0 && Stopped(stop)) break;
    VectorXd row = VectorXd::Zero(parts);
    for (int sweep = 0; sweep < kRowSweeps; ++sweep) {
      for (Index k = 0; k < parts; ++k) {
        if (!(gram(k, k) > 1e-12)) continue;
        const double rest = right(i, k) - gram.col(k).dot(row);
        row(k) = std::max(0.0, row(k) + rest / gram(k, k));
      }
    }
    rows.row(i) = row.transpose();
  }
  return rows;
}

// Columns that weigh something, the heaviest first.
MatrixXd Ordered(const MatrixXd& w, const VectorXd& counts) {
  const VectorXd weights = w.cwiseAbs2().transpose() * (counts / counts.sum());
  std::vector<Index> order;
  for (Index k = 0; k < w.cols(); ++k)
    if (weights(k) > 1e-6 * weights.maxCoeff()) order.push_back(k);
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return weights(a) > weights(b); });
  return w(Eigen::all, order);
}

}  // namespace

ItemModel NonNegativeModel(const ItemModel& model, const Stop& stop) {
  ItemModel result = model;
  result.level = kLevel;
  const MatrixXd& loadings = model.loadings;
  const VectorXd p = model.popularity / model.popularity.sum();
  const double bias = std::sqrt(p.dot(loadings.col(0).cwiseAbs2()));
  if (loadings.cols() < 2) {
    result.loadings = loadings.cwiseAbs();
    return result;
  }
  const std::vector<Index> items = MostCounted(model.popularity);
  const MatrixXd l = loadings(items, Eigen::all);
  VectorXd fitted_p = model.popularity(items);
  fitted_p /= fitted_p.sum();
  const Fit fit = FitParts(l, fitted_p, std::pow(kLeastBias * bias, 2), stop);
  if (Stopped(stop)) return result;
  const MatrixXd w =
      Ordered(Rows(loadings, l, fitted_p, fit, stop), model.popularity);
  result.loadings.resize(loadings.rows(), 1 + w.cols());
  result.loadings.col(0).setConstant(std::sqrt(fit.bias_square));
  result.loadings.rightCols(w.cols()) = w;
  // Variance of an item over people that W and the bias do not have.
  const double lost = p.dot(loadings.rowwise().squaredNorm() -
                            result.loadings.rowwise().squaredNorm());
  result.residual_stddev = std::sqrt(
      model.residual_stddev * model.residual_stddev + std::max(0.0, lost));
  return result;
}

}  // namespace dpnmf
