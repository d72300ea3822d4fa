#include "common/nmf/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "common/nmf/empirical_bayes.h"
#include "common/nmf/linear_algebra.h"
#include "common/nmf/moment_estimates.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

absl::Status Invalid(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, code, sentence);
}

absl::Status CheckMoments(const NoisedMoments& moments) {
  const MatrixXd& g = moments.g;
  if (g.rows() != g.cols() || g.rows() < 1 || g.rows() > kLargestMomentRows) {
    return Invalid("moments-shape-invalid",
                   absl::StrCat("The second moment must be square with 1 to ",
                                kLargestMomentRows, " rows."));
  }
  if (!g.allFinite()) {
    return Invalid("moments-not-finite",
                   "The second moment must consist of finite numbers.");
  }
  if (g != g.transpose()) {
    return Invalid("moments-not-symmetric",
                   "The second moment must be symmetric.");
  }
  if (!(moments.stddev_off >= 0 &&
        moments.stddev_diagonal >= moments.stddev_off &&
        std::isfinite(moments.stddev_diagonal))) {
    return Invalid("moments-noise-out-of-range",
                   "The noise's deviations must satisfy 0 <= stddev_off <= "
                   "stddev_diagonal, finite.");
  }
  return absl::OkStatus();
}

// How much of each estimate.
struct Shares {
  double spectral = 1, entries = 0;
};

// Z a fresh copy of the noise, Y1 = Y + c Z, Y2 = Y - Z/c: their noises are
// independent (Oliveira, Lei and Tibshirani 2021).
struct Halves {
  MatrixXd fitted, held_out;
  double stddev = 0;  // of the noise in `fitted`
};

Halves Split(const NoisedMoments& moments) {
  constexpr double kThinning = 0.5;
  constexpr std::uint64_t kSeed = 1;
  Draws draws(kSeed);
  const MatrixXd noise = SymmetricNoise(moments.g.rows(), moments.stddev_off,
                                        moments.stddev_diagonal, &draws);
  return {moments.g + kThinning * noise, moments.g - noise / kThinning,
          moments.stddev_off * std::sqrt(1 + kThinning * kThinning)};
}

// Shares >= 0 that bring the estimates from Y1 nearest to Y2 off the diagonal;
// |Y2 - .|^2 differs from the error of the mix by a constant, in expectation.
Shares SharesOf(MatrixXd spectral, MatrixXd entries, MatrixXd held_out) {
  for (MatrixXd* matrix : {&held_out, &spectral, &entries})
    matrix->diagonal().setZero();
  const auto product = [](const MatrixXd& a, const MatrixXd& b) {
    return a.cwiseProduct(b).sum();
  };
  MatrixXd gram(2, 2), c(2, 1), shares = MatrixXd::Zero(2, 1);
  gram << product(spectral, spectral), product(spectral, entries),
      product(spectral, entries), product(entries, entries);
  c << product(spectral, held_out), product(entries, held_out);
  SweepNonNegative(gram, c, 1000, 1, &shares);
  return {shares(0), shares(1)};
}

}  // namespace

absl::Status CheckNotStopped(const Stop& stop) {
  if (!Stopped(stop)) return absl::OkStatus();
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "The computation was stopped.");
}

absl::StatusOr<DenoisedMoments> DenoiseMoments(const NoisedMoments& moments,
                                               const Stop& stop, int threads) {
  DPNMF_RETURN_IF_ERROR(CheckMoments(moments));
  const MatrixXd& y = moments.g;
  const double s = moments.stddev_off;
  DenoisedMoments result;
  result.noise_edge = NoiseEdge(y, s);
  result.trace = std::max(result.noise_edge, y.trace());
  if (!(result.trace > 0)) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "moments-empty",
                   "The second moment is zero: there is nothing to fit.");
  }
  result.diagonal = y.diagonal().cwiseMax(0.0);
  // The estimates by spectrum and by entries, of Y and of Y1.
  const bool is_mixed = s > 0 && y.rows() > 1;
  const Halves halves = is_mixed ? Split(moments) : Halves();
  SpectralEstimate spectral[2];
  MatrixXd entries[2];
  ParallelForWithStop(is_mixed ? 4 : 1, threads, stop,
                      [&](std::size_t task, const Stop& ask) {
                        const std::size_t of = task % 2;
                        const MatrixXd& from = of == 0 ? y : halves.fitted;
                        const double stddev = of == 0 ? s : halves.stddev;
                        if (task < 2) {
                          spectral[of] = EstimateBySpectrum(from, stddev, ask);
                        } else {
                          entries[of] = EstimateByEntries(from, stddev, ask);
                        }
                      });
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
  result.spikes = std::move(spectral[0].spikes);
  result.g = std::move(spectral[0].g);
  if (is_mixed) {
    const Shares shares = SharesOf(std::move(spectral[1].g),
                                   std::move(entries[1]), halves.held_out);
    const double sum = shares.spectral + shares.entries;
    const VectorXd diagonal =
        sum > 0 ? VectorXd((shares.spectral * result.g.diagonal() +
                            shares.entries * y.diagonal()) /
                           sum)
                : y.diagonal();
    result.g = shares.spectral * result.g + shares.entries * entries[0];
    result.g.diagonal() = diagonal;
  }
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
  result.g = result.g.cwiseMax(0.0);
  if (!(result.g.maxCoeff() > 0)) {  // all noise: no feature before another
    result.g.setZero();
    result.g.diagonal().setConstant(result.trace /
                                    static_cast<double>(y.rows()));
  }
  return result;
}

std::vector<int> ChooseRows(const VectorXd& mean, double stddev, int most) {
  constexpr double kShareOfNoise = 0.25;
  constexpr std::ptrdiff_t kFewestRows = 200;
  std::vector<int> order(mean.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int row) {
    return std::isnan(mean(row)) ? -std::numeric_limits<double>::infinity()
                                 : mean(row);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return key(a) > key(b); });
  // The largest n for which D Q(mean of rank n / stddev) <= n / 4.
  std::ptrdiff_t above = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double tail =
        std::erfc(key(order[rank]) / (stddev * std::numbers::sqrt2)) / 2;
    const auto count = static_cast<double>(rank + 1);
    if (static_cast<double>(order.size()) * tail <= kShareOfNoise * count) {
      above = static_cast<std::ptrdiff_t>(rank) + 1;
    }
  }
  order.resize(std::min({std::max(above, kFewestRows),
                         static_cast<std::ptrdiff_t>(std::max(0, most)),
                         static_cast<std::ptrdiff_t>(order.size())}));
  std::sort(order.begin(), order.end());
  return order;
}

MatrixXd LiftDictionary(const MatrixXd& w, const std::vector<int>& rows,
                        const VectorXd& mean, double stddev) {
  constexpr int kSweeps = 200;
  MatrixXd usage = MatrixXd::Zero(w.cols(), 1);  // a
  SweepNonNegative(TransposeProduct(w, w),
                   w.transpose() * mean(rows).cwiseMax(0.0), kSweeps, 1,
                   &usage);
  VectorXd fill = VectorXd::Zero(mean.size());
  if (usage.sum() > 0) fill = PosteriorMeans(mean, stddev) / usage.sum();
  MatrixXd lifted = fill.replicate(1, w.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) lifted.row(rows[i]) = w.row(i);
  for (auto column : lifted.colwise()) {
    const double length = column.norm();
    if (length > 0) column /= length;
  }
  return lifted;
}

MomentsForecast PredictMoments(double users, int rows, double mu_squared) {
  MomentsForecast forecast;
  forecast.stddev_off = 1 / (users * std::sqrt(mu_squared));
  forecast.noise_edge =
      2 * forecast.stddev_off * std::sqrt(static_cast<double>(rows));
  const auto directions = [&](double count) {
    return static_cast<int>(std::min<double>(rows, count));
  };
  forecast.most_directions = directions(2 / forecast.noise_edge);
  forecast.typical_directions =
      directions(0.75 * std::pow(forecast.noise_edge, -0.55));
  return forecast;
}

double DefaultShareOfMean(double users, double mu_squared) {
  return std::clamp(3 * PredictMoments(users, 200, mu_squared).noise_edge,
                    kLeastShareOfMean, kLargestShareOfMean);
}

}  // namespace dpnmf
