#include "common/moments/moments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/moments/empirical_bayes.h"
#include "common/moments/moment_estimates.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

absl::Status CheckMoments(const NoisedMoments& moments) {
  const MatrixXd& g = moments.g;
  if (g.rows() != g.cols() || g.rows() < 1 || g.rows() > kLargestMomentRows) {
    return BadInput("moments-shape-invalid",
                    absl::StrCat("The second moment must be square with 1 to ",
                                 kLargestMomentRows, " rows."));
  }
  if (!g.allFinite()) {
    return BadInput("moments-not-finite",
                    "The second moment must consist of finite numbers.");
  }
  if (g != g.transpose()) {
    return BadInput("moments-not-symmetric",
                    "The second moment must be symmetric.");
  }
  if (!(moments.stddev_off >= 0 &&
        moments.stddev_diagonal >= moments.stddev_off &&
        std::isfinite(moments.stddev_diagonal))) {
    return BadInput("moments-noise-out-of-range",
                    "The noise's deviations must satisfy 0 <= stddev_off <= "
                    "stddev_diagonal, finite.");
  }
  return absl::OkStatus();
}

constexpr double kThinning = 0.5;
constexpr std::size_t kSplitsWithPriors = 4;

// Z a fresh copy of the noise, Y1 = Y + c Z, Y2 = Y - Z/c: their noises are
// independent (Oliveira, Lei and Tibshirani 2021).
HeldOutSplit SplitBy(const NoisedMoments& moments, const MatrixXd& noise) {
  return {moments.g + kThinning * noise, moments.g - noise / kThinning,
          moments.stddev_off * std::sqrt(1 + kThinning * kThinning)};
}

// Takes the noise to be equal in all directions.
HeldOutSplit Split(const NoisedMoments& moments, std::uint64_t seed) {
  Draws draws(seed);
  return SplitBy(moments, SymmetricNoise(moments.g.rows(), moments.stddev_off,
                                         moments.stddev_diagonal, &draws));
}

// The estimates that are mixed; the three from kBase with priors alone,
// kPatterns, which takes the place of the first two, where a declared order
// predicts better. Of the two of one direction, kSquare with a mean alone, one
// is kept beside them (DenoisedMoments::direction).
enum Part : std::size_t {
  kSpectral,
  kEntries,
  kBase,
  kWithin,
  kBeside,
  kDirection,
  kSquare,  // of the mean
  kPatterns,
  kParts
};
using Estimates = std::array<MatrixXd, kParts>;

// Normal equations of the least squares that bring the estimates from Y1
// nearest to Y2 off the diagonal; |Y2 - .|^2 differs from the error of the mix
// by a constant, in expectation. Sums over splits.
struct Normal {
  MatrixXd gram = MatrixXd::Zero(kParts, kParts);
  MatrixXd c = MatrixXd::Zero(kParts, 1);

  void Add(Estimates estimates, MatrixXd held_out) {
    held_out.diagonal().setZero();
    const auto product = [](const MatrixXd& a, const MatrixXd& b) {
      return a.cwiseProduct(b).sum();
    };
    for (std::size_t i = 0; i < kParts; ++i) {
      if (estimates[i].size() == 0) continue;
      const auto row = static_cast<Eigen::Index>(i);
      estimates[i].diagonal().setZero();
      c(row) += product(estimates[i], held_out);
      for (std::size_t j = 0; j <= i; ++j) {
        const auto column = static_cast<Eigen::Index>(j);
        if (estimates[j].size() == 0) continue;
        gram(row, column) += product(estimates[i], estimates[j]);
        gram(column, row) = gram(row, column);
      }
    }
  }
};

// Shares >= 0 of some of the estimates, and what they lower |Y2 - .|^2 by.
struct Shares {
  VectorXd of = VectorXd::Zero(kParts);
  double gain = 0;
};

Shares SharesOf(const Normal& normal, const std::vector<Eigen::Index>& among) {
  const auto count = static_cast<Eigen::Index>(among.size());
  const MatrixXd gram = normal.gram(among, among);
  const MatrixXd c = normal.c(among, Eigen::all);
  MatrixXd shares = MatrixXd::Zero(count, 1);
  // Proposals of priors are often close to the estimates from the release.
  SweepNonNegative(gram, c, count > 2 ? 20'000 : 1000, 1, &shares);
  Shares result;
  for (Eigen::Index i = 0; i < count; ++i)
    result.of(among[static_cast<std::size_t>(i)]) = shares(i);
  const VectorXd fitted = gram * shares.col(0);
  result.gain = 2 * c.col(0).dot(shares.col(0)) - shares.col(0).dot(fitted);
  return result;
}

// The estimates of the release alone.
std::vector<Eigen::Index> ReleaseParts(bool has_patterns) {
  if (has_patterns) return {kPatterns};
  return {kSpectral, kEntries};
}

// Their shares; that of an estimate in patterns is 1: its diagonal is estimated
// as well.
VectorXd SharesOfRelease(const Normal& normal, bool has_patterns) {
  if (has_patterns) return VectorXd::Unit(kParts, kPatterns);
  return SharesOf(normal, ReleaseParts(has_patterns)).of;
}

// The release alone, the priors' base alone or with what the release says about
// it, or all: each only if it is better by more than a few shares without worth
// are by chance. Such a share lowers the sum over both triangles by twice the
// variance times a chi squared (`chance`): the variance of an entry of Y2,
// summed over the splits with the Y that they have in common, over their
// number. All has to win clearly: a few directions of the wrong people lower
// the error of G a little and spoil parts. `first`: of the split that is used
// without priors. The release alone has its shares, so that W is what it is
// without priors.
VectorXd SharesWithPriors(const Normal& normal, const Normal& first,
                          bool has_patterns, double chance) {
  constexpr double kChiSquaredOfBent = 40, kChiSquaredOfPriors = 4,
                   kChiSquaredOfBoth = 64;
  const std::vector<Eigen::Index> parts = ReleaseParts(has_patterns);
  const Shares release = SharesOf(normal, parts);
  const Shares alone = SharesOf(normal, {kBase});
  const Shares bent = SharesOf(normal, {kBase, kWithin, kBeside});
  const Shares& priors =
      bent.gain - alone.gain > chance * kChiSquaredOfBent ? bent : alone;
  std::vector<Eigen::Index> all = parts;
  all.insert(all.end(), {kBase, kWithin, kBeside});
  const Shares both = SharesOf(normal, all);
  const bool is_better =
      priors.gain - release.gain > chance * kChiSquaredOfPriors;
  const Shares& better = is_better ? priors : release;
  if (both.gain - better.gain > chance * kChiSquaredOfBoth) return both.of;
  return is_better ? priors.of : SharesOfRelease(first, has_patterns);
}

// All noise: no feature before another, and half of what people are is shared
// by all of them.
MatrixXd NothingKnown(const DenoisedMoments& moments, Eigen::Index rows) {
  const double level = moments.trace / static_cast<double>(rows);
  MatrixXd g = MatrixXd::Constant(rows, rows, level / 2);
  g.diagonal().setConstant(level);
  return g;
}

// Direction of the rank-1 estimate that predicts better, at its best scale;
// empty if neither predicts.
VectorXd DirectionOf(const Normal& normal, const Estimates& estimates) {
  double best = 0;
  VectorXd direction;
  for (const std::size_t part : {kDirection, kSquare}) {
    const auto of = static_cast<Eigen::Index>(part);
    const Shares alone = SharesOf(normal, {of});
    const MatrixXd& estimate = estimates[part];
    if (!(alone.gain > best) || estimate.size() == 0) continue;
    Eigen::Index largest = 0;
    if (!(estimate.diagonal().maxCoeff(&largest) > 0)) continue;
    best = alone.gain;
    direction = estimate.col(largest).normalized() *
                std::sqrt(alone.of(of) * estimate.trace());
  }
  return direction;
}

// The estimates that are asked for, in the order of their tasks.
std::vector<std::size_t> KindsOf(const NoisedMoments& moments, bool is_mixed,
                                 bool is_based, bool has_patterns) {
  if (!is_mixed) return {kSpectral};
  std::vector<std::size_t> kinds;
  if (has_patterns) {
    kinds = {kPatterns};
  } else {
    kinds = {kSpectral, kEntries, kDirection};
    if (moments.mean.size() > 0) kinds.push_back(kSquare);
  }
  if (is_based) kinds.push_back(kBase);
  return kinds;
}

// The mix without priors or an order, in the shares that predict best.
MatrixXd Unordered(const HeldOutSplit& split, const Stop& stop) {
  Estimates estimates;
  estimates[kSpectral] = EstimateBySpectrum(split.fitted, split.stddev, stop).g;
  estimates[kEntries] = EstimateByEntries(split.fitted, split.stddev, stop);
  Normal normal;
  normal.Add(estimates, split.held_out);
  const VectorXd shares = SharesOf(normal, {kSpectral, kEntries}).of;
  return shares(kSpectral) * estimates[kSpectral] +
         shares(kEntries) * estimates[kEntries];
}

// Noise of the same law in every orthonormal basis becomes that of `moments`:
// some entries in one basis are widened. A self-adjoint map.
MatrixXd Widened(const NoisedMoments& moments, MatrixXd noise) {
  if (moments.wider == nullptr) return noise;
  const MatrixXd& q = moments.wider->directions;  // M x L
  const MatrixXd of_q = TransposeProduct(q, noise);
  const MatrixXd inner = Product(of_q, q);
  const MatrixXd more =
      q * ((moments.wider->cross.array() - 1).matrix().asDiagonal() *
           (of_q - ProductTranspose(inner, q)));
  noise += more + more.transpose() +
           q * inner.cwiseProduct((moments.wider->inner.array() - 1).matrix()) *
               q.transpose();
  return (noise + noise.transpose()) / 2;
}

// The patterns of the order in which G is estimated best (M x d); of no columns
// where the mix without the order is as good, or there is none.
MatrixXd PatternsFor(const NoisedMoments& moments, int threads,
                     const Stop& stop) {
  if (moments.order == nullptr) return {};
  const std::shared_ptr<const Patterns> patterns =
      moments.patterns != nullptr ? moments.patterns
                                  : std::make_shared<const Patterns>(PatternsOf(
                                        *moments.order, stop, threads));
  PatternQuestion question;
  question.patterns = patterns.get();
  question.stddev = moments.stddev_off;
  question.thinning = kThinning;
  question.split = [&](std::size_t i) {
    Draws draws(SeedOfStream("splits for patterns", i));
    return SplitBy(moments, DrawNoise(moments, &draws));
  };
  question.unordered = Unordered;
  question.deviation = [&](const MatrixXd& of) {
    return DeviationOf(moments, of);
  };
  return patterns->columns.leftCols(ChoosePatterns(question, threads, stop));
}

}  // namespace

MatrixXd DrawNoise(const NoisedMoments& moments, Draws* draws) {
  return Widened(moments, SymmetricNoise(moments.g.rows(), moments.stddev_off,
                                         moments.stddev_diagonal, draws));
}

// <A, widened noise> is <widened A, noise>.
double DeviationOf(const NoisedMoments& moments, const MatrixXd& of) {
  return std::sqrt(2.0) * moments.stddev_off * Widened(moments, of).norm();
}

VectorXd MeanOnRows(const VectorXd& mean, double stddev,
                    const std::vector<int>& rows) {
  return PosteriorMeans(mean, stddev)(rows);
}

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
  result.trace = std::min(std::max(result.noise_edge, moments.g.trace()),
                          moments.largest_trace);
  if (!(result.trace > 0)) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "moments-empty",
                   "The second moment is zero: there is nothing to fit.");
  }
  result.diagonal = y.diagonal().cwiseMax(0.0);
  const bool has_priors = moments.priors != nullptr && !moments.priors->empty();
  if (has_priors) DPNMF_RETURN_IF_ERROR(CheckPriors(*moments.priors, y.rows()));
  const PriorMoments proposed =
      has_priors ? ProposeMoments(*moments.priors, y, stop) : PriorMoments();
  const bool is_based = !proposed.proposals.empty();
  // The estimates of Y, then of Y1 of each split.
  const bool is_mixed = s > 0 && y.rows() > 1;
  const VectorXd start = moments.mean.size() > 0 && moments.mean.norm() > 0
                             ? moments.mean
                             : VectorXd();
  const MatrixXd patterns =
      is_mixed ? PatternsFor(moments, threads, stop) : MatrixXd();
  const bool has_patterns = patterns.cols() > 0;
  // Patterns without priors have no shares to find.
  const std::size_t splits = !is_mixed      ? 0
                             : is_based     ? kSplitsWithPriors
                             : has_patterns ? 0
                                            : 1;
  const std::vector<std::size_t> kinds =
      KindsOf(moments, is_mixed, is_based, has_patterns);
  std::vector<HeldOutSplit> halves(splits);
  for (std::size_t i = 0; i < splits; ++i) halves[i] = Split(moments, i + 1);
  VectorXd spikes;
  PriorBase base;
  std::vector<Estimates> estimates(splits + 1);
  ParallelForWithStop(
      kinds.size() * (splits + 1), threads, stop,
      [&](std::size_t task, const Stop& ask) {
        const std::size_t of = task % (splits + 1),
                          kind = kinds[task / (splits + 1)];
        const MatrixXd& from = of == 0 ? y : halves[of - 1].fitted;
        const double stddev = of == 0 ? s : halves[of - 1].stddev;
        Estimates& to = estimates[of];
        if (kind == kSpectral) {
          SpectralEstimate spectral = EstimateBySpectrum(from, stddev, ask);
          to[kSpectral] = std::move(spectral.g);
          if (of == 0) spikes = std::move(spectral.spikes);
        } else if (kind == kEntries) {
          to[kEntries] = EstimateByEntries(from, stddev, ask);
        } else if (kind == kBase) {
          PriorBase fitted = FitBase(proposed, from);
          ResidualEstimate more =
              EstimateResidual(from, fitted.moment, stddev, ask);
          to[kBase] = fitted.moment;
          to[kWithin] = std::move(more.within);
          to[kBeside] = std::move(more.beside);
          if (of == 0) base = std::move(fitted);
        } else if (kind == kDirection) {
          to[kDirection] = EstimateByDirection(from, start, stddev);
        } else if (kind == kSquare) {
          to[kSquare] = moments.mean * moments.mean.transpose();
        } else {
          SpectralEstimate in_patterns =
              EstimateInPatterns(from, patterns, stddev, ask);
          to[kPatterns] = OnFeatures(patterns, in_patterns.g, ask);
          if (of == 0) spikes = std::move(in_patterns.spikes);
        }
      });
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
  result.spikes = std::move(spikes);
  const Estimates& of_y = estimates[0];
  result.g = of_y[kSpectral];
  if (is_mixed) {
    Normal normal, first;
    for (std::size_t i = 0; i < splits; ++i) {
      normal.Add(std::move(estimates[i + 1]), std::move(halves[i].held_out));
      if (i == 0) first = normal;
    }
    const auto count = static_cast<double>(splits);
    const double chance = 2 * s * s * (count + 1 / (kThinning * kThinning));
    const VectorXd shares =
        is_based ? SharesWithPriors(normal, first, has_patterns, chance)
                 : SharesOfRelease(normal, has_patterns);
    if (has_patterns) {
      result.noise_edge = NoiseEdge(patterns.transpose(), s);
      const VectorXd diagonal = of_y[kPatterns].diagonal().cwiseMax(0.0);
      // No feature has a variance of its own.
      if (diagonal.sum() > 0) {
        result.beside = (result.diagonal - diagonal).cwiseMax(0.0);
        const double missing = std::max(0.0, result.trace - diagonal.sum());
        if (result.beside.sum() > 0)
          result.beside *= missing / result.beside.sum();
        result.diagonal = diagonal;
        result.trace = std::min(diagonal.sum(), moments.largest_trace);
      }
    } else {
      result.direction = DirectionOf(first, of_y);
    }
    const double sum = shares.sum() - shares(kWithin) - shares(kBeside);
    result.g.setZero(y.rows(), y.cols());
    for (std::size_t i = 0; i < kParts; ++i) {
      const double share = shares(static_cast<Eigen::Index>(i));
      if (of_y[i].size() > 0 && share != 0) result.g += share * of_y[i];
    }
    // Entries have no estimate of the diagonal but Y's; `within` and `beside`
    // are differences.
    if (sum > 0) result.g.diagonal() /= sum;
    if (is_based && sum > 0 && shares(kBase) > 0) {
      const double share = shares(kBase) / sum;
      const VectorXd mixed = result.g.diagonal().cwiseMax(0.0);
      result.share_of_priors = share;
      result.diagonal = (1 - share) * result.diagonal + share * mixed;
      result.trace = (1 - share) * result.trace + share * mixed.sum();
      result.parts = PartsOf(*moments.priors);
      result.known = ColumnsOfBase(proposed, base) *
                     static_cast<float>(std::sqrt(shares(kBase)));
    }
  }
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
  // Products of a prior's estimate differ across the diagonal in the last bit;
  // what is symmetric keeps its bits.
  result.g = ((result.g + result.g.transpose()) / 2).cwiseMax(0.0).eval();
  if (!(result.g.maxCoeff() > 0)) result.g = NothingKnown(result, y.rows());
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
  // Not of the released mean itself: rows are chosen for its noise, too.
  const VectorXd exact = PosteriorMeans(mean, stddev);
  SweepNonNegative(TransposeProduct(w, w),
                   TransposeProduct(w, MatrixXd(exact(rows))), kSweeps, 1,
                   &usage);
  VectorXd fill = VectorXd::Zero(mean.size());
  if (usage.sum() > 0) fill = exact / usage.sum();
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
