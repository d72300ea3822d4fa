#include "common/nmf/dictionary.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

absl::Status BadEntry(std::string_view code, std::string_view what,
                      Eigen::Index row, Eigen::Index column) {
  return Refusal(absl::StatusCode::kInvalidArgument, code,
                 absl::StrCat("The dictionary's entry at row ", row,
                              ", column ", column, " ", View(what)));
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
                        "is negative; entries lie in [0, 2].", row, column);
      }
      return BadEntry("dictionary-out-of-range",
                      "is above 2; scale the columns to length 1.", row,
                      column);
    }
  }
  return absl::OkStatus();
}

void ProjectDictionary(Eigen::MatrixXd* w) {
  *w = w->unaryExpr(
      [](double x) { return std::isfinite(x) && x > 0 ? x : 0.0; });
  for (Eigen::Index column = 0; column < w->cols(); ++column) {
    auto w_k = w->col(column);
    // Once in exact arithmetic; again where rounding left the length above 1.
    // Every pass makes all normal entries smaller, so it ends.
    for (double norm = w_k.stableNorm(); norm > 1; norm = w_k.stableNorm()) {
      w_k /= norm;
    }
  }
}

void ProjectedGradientStep(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                           double step_size, Eigen::MatrixXd* w) {
  const double norm = a.norm();  // |A|_F bounds the largest eigenvalue
  if (!(norm > 0) || !std::isfinite(norm)) return;
  // gradient of 1/2 tr(W'W A) - tr(W'B) = W A - B
  const Eigen::MatrixXd gradient = Product(*w, a) - b;
  *w -= (step_size / norm) * gradient;
  ProjectDictionary(w);
}

Eigen::MatrixXd NearestPositiveSemidefinite(const Eigen::MatrixXd& a) {
  const Eigen::MatrixXd symmetric = (a + a.transpose()) / 2;
  const auto [lambda, q] = EigenOfSymmetric(symmetric);
  if (lambda.size() == 0 || lambda.minCoeff() >= 0) return symmetric;
  // Q max(0, Lambda) Q'
  const Eigen::MatrixXd nearest = Conjugated(q, lambda.cwiseMax(0));
  return (nearest + nearest.transpose()) / 2;
}

}  // namespace dpnmf
