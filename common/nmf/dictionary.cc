#include "common/nmf/dictionary.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

absl::Status BadEntry(std::string_view code, std::string_view what,
                      Eigen::Index row, Eigen::Index column) {
  return Refusal(absl::StatusCode::kInvalidArgument, code,
                 absl::StrCat("The dictionary's entry at row ", row,
                              ", column ", column, " ", View(what)));
}

void ProjectColumns(const Stop& stop, Eigen::MatrixXd* w) {
  // An entry takes as long as some ten multiplications.
  const auto columns_between_stops = static_cast<Eigen::Index>(std::max(
      1.0,
      kWorkBetweenStops / 10 / std::max(1.0, static_cast<double>(w->rows()))));
  for (Eigen::Index column = 0; column < w->cols(); ++column) {
    if (column % columns_between_stops == 0 && Stopped(stop)) return;
    auto w_k = w->col(column);
    w_k = w_k.unaryExpr(
        [](double x) { return std::isfinite(x) && x > 0 ? x : 0.0; });
    // Once in exact arithmetic; again where rounding left the length above 1.
    // Every pass makes all normal entries smaller, so it ends.
    for (double norm = w_k.stableNorm(); norm > 1; norm = w_k.stableNorm()) {
      w_k /= norm;
    }
  }
}

}  // namespace

absl::Status CheckDictionary(const Eigen::MatrixXd& w) {
  for (Eigen::Index column = 0; column < w.cols(); ++column) {
    for (Eigen::Index row = 0; row < w.rows(); ++row) {
      const double entry = w(row, column);
      if (entry >= 0 && entry <= kLargestDictionaryEntry) continue;
      if (!std::isfinite(entry)) {
        return BadEntry("dictionary-not-finite",
                        "is not finite; send finite numbers.", row, column);
      }
      if (entry < 0) {
        return BadEntry("dictionary-negative",
                        "is negative; entries must be in [0, 2].", row, column);
      }
      return BadEntry("dictionary-out-of-range",
                      "is above 2; scale the columns to length 1.", row,
                      column);
    }
  }
  return absl::OkStatus();
}

void ProjectDictionary(Eigen::MatrixXd* w) { ProjectColumns({}, w); }

void ProjectedGradientStep(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                           double step_size, Eigen::MatrixXd* w,
                           const Stop& stop) {
  const double norm = a.norm();  // |A|_F bounds the largest eigenvalue
  if (!(norm > 0) || !std::isfinite(norm)) return;
  // gradient of 1/2 tr(W'W A) - tr(W'B) = W A - B
  // A row of it follows from that row of W: by as many rows as are one step.
  const auto rows_between_stops = static_cast<Eigen::Index>(
      std::max(1.0, kWorkBetweenStops / static_cast<double>(a.size())));
  for (Eigen::Index row = 0; row < w->rows(); row += rows_between_stops) {
    if (Stopped(stop)) return;
    const Eigen::Index count = std::min(rows_between_stops, w->rows() - row);
    auto part = w->middleRows(row, count);
    const Eigen::MatrixXd gradient =
        Product(part, a) - b.middleRows(row, count);
    part -= (step_size / norm) * gradient;
  }
  ProjectColumns(stop, w);
}

Eigen::MatrixXd NearestPositiveSemidefinite(const Eigen::MatrixXd& a,
                                            const Stop& stop) {
  const Eigen::MatrixXd symmetric = (a + a.transpose()) / 2;
  const auto [lambda, q] = EigenOfSymmetric(symmetric, stop);
  if (lambda.size() == 0 || lambda.minCoeff() >= 0) return symmetric;
  // Q max(0, Lambda) Q'
  const Eigen::MatrixXd nearest = Conjugated(q, lambda.cwiseMax(0), stop);
  return (nearest + nearest.transpose()) / 2;
}

}  // namespace dpnmf
