#include "common/ratings/person.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "common/base/flush_subnormals.h"
#include "common/nmf/linear_algebra.h"
#include "common/ratings/solve.h"

namespace dpnmf {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Threshold of a liked rating, a part of the range; the scale of the logistic
// that is nearest to the normal distribution.
constexpr double kLikedPart = 0.55, kLogistic = 1.702;
// Draws of items that stand for all in the next one's probability; steps of
// Newton.
constexpr Index kStandIns = 256;
constexpr int kNewtonSteps = 3;
constexpr double kDamping = 0.7, kLargestExponent = 8;
// Sweeps for a profile within bounds.
constexpr int kBoundSweeps = 300;
// Rows of RankingBasis::ranking that are looked at together.
constexpr Index kBlock = 128;

// The mode of a ~ N(0, I) given that n items were picked with probabilities in
// proportion to p_i exp(y_i.a) and the sum of their y: a first step at 0, where
// the mean of y is 0, and damped steps of Newton with the curvature where the
// first one ended. 0, the prior's mode, where a step cannot be solved for.
VectorXd Taste(const RankingBasis& basis, const VectorXd& sum, double n) {
  const MatrixXd& y = basis.stand_ins;
  MatrixXd information = n * basis.covariance;
  information.diagonal().array() += 1;
  const VectorXd prior = VectorXd::Zero(y.cols());
  const auto first = TrySolvePositive(information, sum);
  if (!first.has_value()) return prior;
  VectorXd taste = *first;
  for (int step = 0; step < kNewtonSteps; ++step) {
    VectorXd p =
        (y * taste).array().max(-kLargestExponent).min(kLargestExponent).exp() *
        basis.weights.array();
    p /= p.sum();
    const VectorXd mean = y.transpose() * p;
    if (step == 0) {
      information = n * (TransposeProduct(y, p.asDiagonal() * y) -
                         mean * mean.transpose());
      information.diagonal().array() += 1;
    }
    const auto change = TrySolvePositive(information, sum - n * mean - taste);
    if (!change.has_value()) return prior;
    taste += kDamping * *change;
  }
  return taste.allFinite() ? taste : prior;
}

// The taste that the own items show; empty if there is nothing to tell from.
VectorXd TasteOf(const RankingBasis& basis,
                 std::span<const std::int32_t> items) {
  if (items.empty() || basis.stand_ins.rows() == 0) return {};
  VectorXd sum = VectorXd::Zero(basis.tastes.rows());
  for (const std::int32_t item : items) sum += basis.tastes.col(item);
  return Taste(basis, sum, static_cast<double>(items.size()));
}

// Items drawn in proportion to their popularity, evenly (systematic sampling):
// an item's weight is how often it is met.
void DrawStandIns(const ItemModel& model, RankingBasis* basis) {
  const VectorXd& popularity = model.popularity;
  const double total = popularity.sum();
  if (model.ranking.cols() == 0 || !(total > 0)) return;
  std::vector<Index> items;
  std::vector<double> weights;
  double below = 0;
  Index met = 0;
  for (Index i = 0; i < popularity.size(); ++i) {
    below += popularity(i);
    // Points (met + 1/2) / kStandIns of the total that lie below.
    const auto next = std::min<Index>(
        kStandIns, static_cast<Index>(std::ceil(
                       below / total * static_cast<double>(kStandIns) - 0.5)));
    if (next <= met) continue;
    items.push_back(i);
    weights.push_back(static_cast<double>(next - met));
    met = next;
  }
  basis->stand_ins = model.ranking(items, Eigen::all);
  basis->weights = Eigen::Map<VectorXd>(weights.data(), Index(weights.size()));
  basis->weights /= basis->weights.sum();
  // All items together have mean 0; so have these.
  const Eigen::RowVectorXd mean = basis->weights.transpose() * basis->stand_ins;
  basis->stand_ins.rowwise() -= mean;
  basis->covariance = TransposeProduct(
      basis->stand_ins, basis->weights.asDiagonal() * basis->stand_ins);
}

// `matrix` with the rows and columns of the unit matrix at `fixed`. A system of
// the others alone, of one size for everybody.
MatrixXd WithUnitsAt(const std::vector<Index>& fixed, MatrixXd matrix) {
  for (const Index k : fixed) {
    matrix.row(k).setZero();
    matrix.col(k).setZero();
    matrix(k, k) = 1;
  }
  return matrix;
}

// The h that minimises h' A h - 2 c' h with h_k >= -level for k >= 1; A is
// positive definite. One coordinate at a time from the minimum without bounds,
// then the linear system of those that are not at their bound. False if the
// numbers overflow. As many steps for everybody: the time does not tell how far
// a person's minimum is from the one without bounds.
bool MeanWithin(double level, const MatrixXd& a, const VectorXd& c,
                Profile* profile) {
  VectorXd& h = profile->mean;
  const Index q = h.size();
  h.tail(q - 1) = h.tail(q - 1).cwiseMax(-level);
  for (int sweep = 0; sweep < kBoundSweeps; ++sweep) {
    for (Index k = 0; k < q; ++k) {
      const double free = h(k) + (c(k) - a.col(k).dot(h)) / a(k, k);
      h(k) = k == 0 ? free : std::max(-level, free);
    }
  }
  VectorXd bounds = VectorXd::Zero(q);
  for (Index k = 1; k < q; ++k) {
    if (!(h(k) <= -level)) continue;
    profile->at_bound.push_back(k);
    bounds(k) = -level;
  }
  VectorXd right = c - a * bounds;
  for (const Index k : profile->at_bound) right(k) = -level;
  const auto exact = TrySolvePositive(WithUnitsAt(profile->at_bound, a), right);
  if (!exact.has_value()) return false;
  h = *exact;
  h.tail(q - 1) = h.tail(q - 1).cwiseMax(-level);
  return h.allFinite();
}

// loadings: q x D. With X the columns of the own items, y = rating - base, and
// S diagonal with s_j^2 of RatingVariance:
//   covariance = (X S^-1 X' + I)^-1,  mean = covariance X S^-1 y,
// the mean of a non-negative model within its bounds.
template <typename Loadings>
Profile Solve(const ItemModel& model, const Loadings& loadings,
              std::span<const std::int32_t> items,
              std::span<const double> ratings) {
  const FlushSubnormals flush;
  const Index q = loadings.rows();
  const auto n = static_cast<Index>(items.size());
  MatrixXd x(q, n);
  VectorXd y(n);
  for (Index j = 0; j < n; ++j) {
    const std::int32_t item = items[static_cast<std::size_t>(j)];
    const double stddev = std::sqrt(RatingVariance(model, item));
    x.col(j) = loadings.col(item) / stddev;
    y(j) = (ratings[static_cast<std::size_t>(j)] - model.base(item)) / stddev;
  }
  MatrixXd information = ProductTranspose(x, x);
  information.diagonal().array() += 1;
  Profile profile;
  auto covariance = TrySolvePositive(information, MatrixXd::Identity(q, q));
  if (covariance.has_value()) {
    profile.covariance = *std::move(covariance);
    const VectorXd right = Applied(x, y);
    profile.mean = Applied(profile.covariance, right);
    const bool within = !(model.level > 0) ||
                        MeanWithin(model.level, information, right, &profile);
    if (within && profile.mean.allFinite()) return profile;
  }
  return {VectorXd::Zero(q), MatrixXd::Identity(q, q), false};
}

// A place in a list.
struct Ranked {
  double score;
  std::int32_t item;
  bool operator<(const Ranked& other) const {  // before the other
    return score != other.score ? score > other.score : item < other.item;
  }
};

}  // namespace

RankingBasis RankingBasisOf(const ItemModel& model) {
  RankingBasis basis;
  DrawStandIns(model, &basis);
  basis.loadings = model.loadings.transpose();
  basis.tastes = model.ranking.transpose();
  basis.order.resize(static_cast<std::size_t>(model.popularity.size()));
  std::iota(basis.order.begin(), basis.order.end(), 0);
  std::stable_sort(basis.order.begin(), basis.order.end(),
                   [&](std::int32_t a, std::int32_t b) {
                     return model.popularity(a) > model.popularity(b);
                   });
  basis.log_popularity = model.popularity(basis.order).array().log();
  basis.ranking = model.ranking(basis.order, Eigen::all);
  const VectorXd lengths = basis.ranking.rowwise().norm();
  const Index size = lengths.size();
  basis.longest.resize((size + kBlock - 1) / kBlock);
  for (Index block = 0; block < basis.longest.size(); ++block) {
    const Index begin = block * kBlock;
    basis.longest(block) =
        lengths.segment(begin, std::min(kBlock, size - begin)).maxCoeff();
  }
  return basis;
}

Profile SolveProfile(const ItemModel& model,
                     std::span<const std::int32_t> items,
                     std::span<const double> ratings) {
  return Solve(model, model.loadings.transpose(), items, ratings);
}

Profile SolveProfile(const ItemModel& model, const RankingBasis& basis,
                     std::span<const std::int32_t> items,
                     std::span<const double> ratings) {
  return Solve(model, basis.loadings, items, ratings);
}

double RatingVariance(const ItemModel& model, std::int32_t item) {
  return model.residual_stddev * model.residual_stddev +
         model.base_stddev(item) * model.base_stddev(item);
}

MatrixXd CovarianceWithin(const Profile& profile) {
  const FlushSubnormals flush;
  const std::vector<Index>& fixed = profile.at_bound;
  std::vector<Index> inside;
  for (Index k = 0; k < profile.mean.size(); ++k) {
    if (!std::binary_search(fixed.begin(), fixed.end(), k)) inside.push_back(k);
  }
  // The covariance of a normal distribution, given those at their bound.
  MatrixXd across = profile.covariance;
  for (const Index k : inside) across.row(k).setZero();
  MatrixXd within =
      profile.covariance -
      TransposeProduct(
          across,
          SolvePositive(WithUnitsAt(inside, profile.covariance), across));
  for (const Index k : fixed) {
    within.row(k).setZero();
    within.col(k).setZero();
  }
  return within;
}

Prediction Predict(const ItemModel& model, const Profile& profile,
                   std::int32_t item) {
  const FlushSubnormals flush;
  const VectorXd x = model.loadings.row(item).transpose();
  Prediction prediction;
  prediction.rating =
      std::clamp(model.base(item) + x.dot(profile.mean), model.low, model.high);
  prediction.stddev =
      std::sqrt(std::max(0.0, x.dot(Applied(profile.covariance, x))) +
                RatingVariance(model, item));
  return prediction;
}

// popularity_i exp(y_i.a) P(rating of i is above kLikedPart of the range), a
// the taste that the choice of items shows.
VectorXd RankingScores(const ItemModel& model, const RankingBasis& basis,
                       const Profile& profile,
                       std::span<const std::int32_t> items,
                       std::span<const double> ratings) {
  const FlushSubnormals flush;
  static_cast<void>(ratings);
  const double liked = model.low + kLikedPart * (model.high - model.low);
  VectorXd rating = model.base;
  rating.noalias() += model.loadings * profile.mean;
  Eigen::ArrayXd score =
      model.popularity.array() /
      (1 + ((liked - rating.array()) * (kLogistic / model.residual_stddev))
               .min(500.0)
               .exp());
  const VectorXd taste = TasteOf(basis, items);
  if (taste.size() == 0) return score;
  VectorXd exponent = model.ranking * taste;
  score *= exponent.array().max(-kLargestExponent).min(kLargestExponent).exp();
  return score;
}

VectorXd RankingScores(const ItemModel& model, const Profile& profile,
                       std::span<const std::int32_t> items,
                       std::span<const double> ratings) {
  return RankingScores(model, RankingBasisOf(model), profile, items, ratings);
}

// The logarithm of a score is
//   log popularity_i + y_i.a - log(1 + odds against),
// at most log popularity_i + min(8, |y_i||a|). Items are seen from the most
// popular on; the list so far, a heap with the worst in front, says which can
// still enter it.
std::optional<std::vector<std::int32_t>> BestRanked(
    const ItemModel& model, const RankingBasis& basis, const Profile& profile,
    std::span<const std::int32_t> items, std::span<const std::int32_t> left_out,
    std::size_t length) {
  const FlushSubnormals flush;
  constexpr double kRounding = 1e-9;  // more than that of the bound
  const VectorXd taste = TasteOf(basis, items);
  const double taste_norm = taste.norm();
  const double liked = model.low + kLikedPart * (model.high - model.low);
  const double logistic = kLogistic / model.residual_stddev;
  std::vector<Ranked> list;
  if (length == 0) return std::vector<std::int32_t>{};
  const Index size = basis.log_popularity.size();
  VectorXd exponents = VectorXd::Zero(kBlock);
  for (Index begin = 0; begin < size; begin += kBlock) {
    const Index count = std::min(kBlock, size - begin);
    const bool full = list.size() == length;
    const double reach =
        std::min(kLargestExponent, basis.longest(begin / kBlock) * taste_norm);
    if (full &&
        basis.log_popularity(begin) + reach + kRounding < list.front().score)
      continue;
    if (taste.size() > 0) {
      exponents.head(count).noalias() =
          basis.ranking.middleRows(begin, count) * taste;
      if (!exponents.head(count).allFinite()) return std::nullopt;
    }
    for (Index i = 0; i < count; ++i) {
      double score =
          basis.log_popularity(begin + i) +
          std::clamp(exponents(i), -kLargestExponent, kLargestExponent);
      if (list.size() == length && score < list.front().score) continue;
      const std::int32_t item =
          basis.order[static_cast<std::size_t>(begin + i)];
      if (std::binary_search(left_out.begin(), left_out.end(), item)) continue;
      const double rating =
          model.base(item) + basis.loadings.col(item).dot(profile.mean);
      if (!std::isfinite(rating)) return std::nullopt;
      // log(1 + exp(odds)) in two parts, of which the first is most.
      const double odds = std::min(500.0, (liked - rating) * logistic);
      score -= std::max(0.0, odds);
      if (list.size() == length && score < list.front().score) continue;
      score -= std::log1p(std::exp(-std::abs(odds)));
      if (list.size() == length) {
        if (!(Ranked{score, item} < list.front())) continue;
        std::pop_heap(list.begin(), list.end());
        list.pop_back();
      }
      list.push_back({score, item});
      std::push_heap(list.begin(), list.end());
    }
  }
  std::sort_heap(list.begin(), list.end());
  std::vector<std::int32_t> best(list.size());
  std::transform(list.begin(), list.end(), best.begin(),
                 [](const Ranked& one) { return one.item; });
  return best;
}

std::vector<std::int32_t> TopItems(const Eigen::VectorXd& scores,
                                   std::span<const std::int32_t> own,
                                   std::size_t length) {
  std::vector<std::int32_t> items;
  items.reserve(static_cast<std::size_t>(scores.size()));
  auto next = own.begin();
  for (std::int32_t i = 0; i < scores.size(); ++i) {
    if (next != own.end() && *next == i) {
      ++next;
    } else {
      items.push_back(i);
    }
  }
  const std::size_t count = std::min(length, items.size());
  std::partial_sort(
      items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count),
      items.end(), [&](std::int32_t a, std::int32_t b) {
        return scores(a) != scores(b) ? scores(a) > scores(b) : a < b;
      });
  items.resize(count);
  return items;
}

}  // namespace dpnmf
