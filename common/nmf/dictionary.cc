#include "common/nmf/dictionary.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014: one step of SplitMix64. For W_0 alone, never for noise.
std::uint64_t SplitMix64(std::uint64_t* state) {
  std::uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Uniform on the multiples of 2^-53 in [0, 1).
double UniformOf(std::uint64_t bits) {
  return std::ldexp(static_cast<double>(bits >> 11), -53);
}

// One order of summation and one rounding per entry (fma), so that the bits do
// not depend on the instruction set or the compiler.
template <typename Column>
double PortableNorm(const Column& column) {
  double sum = 0;
  for (Eigen::Index i = 0; i < column.size(); ++i) {
    sum = std::fma(column(i), column(i), sum);
  }
  return std::sqrt(sum);
}

absl::Status BadEntry(std::string_view code, std::string_view what,
                      Eigen::Index row, Eigen::Index column) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, code,
      absl::StrCat("The dictionary's entry at row ", row, ", column ", column,
                   " ", absl::string_view(what.data(), what.size())));
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

Eigen::MatrixXd RandomDictionary(std::uint64_t features, std::uint64_t rank,
                                 std::uint64_t seed) {
  Eigen::MatrixXd w(features, rank);  // W: D x K
  for (Eigen::Index column = 0; column < w.cols(); ++column) {
    for (Eigen::Index row = 0; row < w.rows(); ++row) {
      w(row, column) = UniformOf(SplitMix64(&seed));
    }
    const double norm = PortableNorm(w.col(column));
    for (Eigen::Index row = 0; norm > 0 && row < w.rows(); ++row) {
      w(row, column) /= norm;
    }
  }
  return w;
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
