#include "common/nmf/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <tuple>
#include <utility>

#include "Eigen/Eigenvalues"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/coordinate_descent.h"

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

// Eigenpairs, largest first.
struct Spectrum {
  VectorXd values;
  MatrixXd vectors;
};

Spectrum SpectrumOf(const MatrixXd& symmetric) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
  return {solver.eigenvalues().reverse(),
          solver.eigenvectors().rowwise().reverse()};
}

// Y's eigenvalues above the edge, shrunk: y = l + s^2 M / l solved for l, then
// l (1 - s^2 M / l^2), the weight times the squared cosine.
VectorXd ShrunkSpikes(const VectorXd& values, double edge) {
  std::vector<double> spikes;
  for (const double y : values) {
    if (!(y > edge)) break;
    const double l = (y + std::sqrt(y * y - edge * edge)) / 2;
    spikes.push_back(l - edge * edge / (4 * l));
  }
  return Eigen::Map<VectorXd>(spikes.data(), spikes.size());
}

// A pair of features i < j: how far apart their loadings are, the rest of Y
// that the base leaves, and the unit sqrt(p_i p_j) in which it is measured.
struct FeaturePair {
  double distance, rest, unit;
  int i, j;
};

std::vector<FeaturePair> PairsOf(const MatrixXd& loadings, const MatrixXd& rest,
                                 const VectorXd& unit) {
  const int count = static_cast<int>(rest.rows());
  std::vector<FeaturePair> pairs;
  pairs.reserve(static_cast<std::size_t>(count) * (count - 1) / 2);
  const MatrixXd rows = loadings.transpose();
  for (int j = 0; j < count; ++j) {
    for (int i = 0; i < j; ++i) {
      pairs.push_back({(rows.col(i) - rows.col(j)).squaredNorm(), rest(i, j),
                       unit(i) * unit(j), i, j});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return std::tie(a.distance, a.j, a.i) < std::tie(b.distance, b.j, b.i);
  });
  return pairs;
}

// A level of the falling function: weighted mean `rest / unit` at a distance.
struct Level {
  double distance, weight, value;
};

// Least squares of rest = unit * value over pairs, by bins of equal count.
std::vector<Level> BinnedLevels(const std::vector<FeaturePair>& pairs) {
  constexpr std::size_t kPairsPerBin = 20, kMostBins = 400;
  const std::size_t bins =
      std::clamp(pairs.size() / kPairsPerBin, std::size_t{1}, kMostBins);
  std::vector<Level> levels;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t first = bin * pairs.size() / bins,
                      end = (bin + 1) * pairs.size() / bins;
    Level level{0, 0, 0};
    for (std::size_t at = first; at < end; ++at) {
      level.distance += pairs[at].distance;
      level.weight += pairs[at].unit * pairs[at].unit;
      level.value += pairs[at].unit * pairs[at].rest;
    }
    if (!(level.weight > 0)) continue;
    level.distance /= static_cast<double>(end - first);
    level.value /= level.weight;
    levels.push_back(level);
  }
  return levels;
}

// Pool adjacent violators: the nearest falling values in weighted least squares
// (Barlow et al. 1972).
void MakeFalling(std::vector<Level>* levels) {
  struct Pool {
    double weight, value;
    std::size_t count;
  };
  std::vector<Pool> pools;
  for (const Level& level : *levels) {
    pools.push_back({level.weight, level.value, 1});
    while (pools.size() > 1 &&
           pools[pools.size() - 2].value < pools.back().value) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& into = pools.back();
      const double weight = into.weight + last.weight;
      into.value =
          (into.weight * into.value + last.weight * last.value) / weight;
      into.weight = weight;
      into.count += last.count;
    }
  }
  std::size_t at = 0;
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i) {
      (*levels)[at++].value = pool.value;
    }
  }
}

// The rest that likeness of features explains, off the diagonal (M x M).
MatrixXd ExplainedByLikeness(const MatrixXd& loadings, const MatrixXd& rest,
                             const VectorXd& unit) {
  MatrixXd explained = MatrixXd::Zero(rest.rows(), rest.cols());
  const std::vector<FeaturePair> pairs = PairsOf(loadings, rest, unit);
  std::vector<Level> levels = BinnedLevels(pairs);
  if (levels.empty()) return explained;
  MakeFalling(&levels);
  std::size_t right = 0;  // first level at or past the pair's distance
  for (const FeaturePair& pair : pairs) {
    while (right < levels.size() && levels[right].distance < pair.distance) {
      ++right;
    }
    double value;
    if (right == 0) {
      value = levels.front().value;
    } else if (right == levels.size()) {
      value = levels.back().value;
    } else {
      const Level &a = levels[right - 1], &b = levels[right];
      const double share =
          (pair.distance - a.distance) / (b.distance - a.distance);
      value = a.value + share * (b.value - a.value);
    }
    explained(pair.i, pair.j) = explained(pair.j, pair.i) = value * pair.unit;
  }
  return explained;
}

// Each eigenvalue x of `noised` to x - 2 s^2 M h(x), h(x) = 1/M sum_j (x - x_j)
// / ((x - x_j)^2 + (2 s)^2): one noise eigenvalue spacing smooths the sum.
MatrixXd RotationInvariantShrinkage(const MatrixXd& noised, double stddev) {
  if (stddev == 0) return noised;
  const Spectrum spectrum = SpectrumOf(noised);
  const Eigen::Index count = spectrum.values.size();
  VectorXd shrunk(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::ArrayXd gap = spectrum.values(i) - spectrum.values.array();
    const double sum =
        (gap / (gap.square() + 4 * stddev * stddev)).sum();  // M h(x)
    shrunk(i) = spectrum.values(i) - 2 * stddev * stddev * sum;
  }
  return spectrum.vectors * shrunk.asDiagonal() * spectrum.vectors.transpose();
}

}  // namespace

absl::StatusOr<DenoisedMoments> DenoiseMoments(const NoisedMoments& moments) {
  DPNMF_RETURN_IF_ERROR(CheckMoments(moments));
  const MatrixXd& y = moments.g;
  const double s = moments.stddev_off;
  DenoisedMoments result;
  result.noise_edge = 2 * s * std::sqrt(static_cast<double>(y.rows()));
  result.trace = std::max(result.noise_edge, y.trace());
  if (!(result.trace > 0)) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "moments-empty",
                   "The second moment is zero: there is nothing to fit.");
  }
  result.diagonal = y.diagonal().cwiseMax(0.0);

  const Spectrum spectrum = SpectrumOf(y);
  result.spikes = ShrunkSpikes(spectrum.values, result.noise_edge);
  const MatrixXd loadings =  // F: M x directions
      spectrum.vectors.leftCols(result.directions()) *
      result.spikes.cwiseSqrt().asDiagonal();
  const MatrixXd base = loadings * loadings.transpose();

  // p: what the base leaves of the diagonal, not below 1/1000 of its mean.
  const VectorXd p =
      (y.diagonal() - base.diagonal()).cwiseMax(1e-3 * base.diagonal().mean());
  MatrixXd prior =
      base + ExplainedByLikeness(loadings, y - base, p.cwiseSqrt());
  prior.diagonal() += p;

  const MatrixXd estimate = prior + RotationInvariantShrinkage(y - prior, s);
  result.g = ((estimate + estimate.transpose()) / 2).cwiseMax(0.0);
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
  SweepNonNegative(w.transpose() * w, w.transpose() * mean(rows).cwiseMax(0.0),
                   kSweeps, 1, &usage);
  const double threshold =
      stddev * std::sqrt(2 * std::log(static_cast<double>(mean.size())));
  VectorXd fill = VectorXd::Zero(mean.size());
  if (usage.sum() > 0)
    fill = (mean.array() - threshold).cwiseMax(0.0) / usage.sum();
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

}  // namespace dpnmf
