#include "common/ratings/person.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/nmf/linear_algebra.h"
#include "common/ratings/solve.h"
#include "common/threads/flush_subnormals.h"

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
  VectorXd right = Applied(x, y);
  auto covariance = TrySolvePositive(information, MatrixXd::Identity(q, q));
  profile.solved = covariance.has_value();
  if (!profile.solved) {  // the prior, with as many steps
    information.setIdentity();
    right.setZero();
    covariance = TrySolvePositive(information, MatrixXd::Identity(q, q));
  }
  profile.covariance = *std::move(covariance);
  profile.mean = Applied(profile.covariance, right);
  const bool within = !(model.level > 0) ||
                      MeanWithin(model.level, information, right, &profile);
  if (profile.solved && within && profile.mean.allFinite()) return profile;
  return {VectorXd::Zero(q), MatrixXd::Identity(q, q), false};
}

// Numbers in the order of the scores, above 0.
std::uint64_t KeyOf(double score) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(score + 0.0);  // no -0
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

// The `count`-th largest key. As many steps whatever the keys are: each bit of
// it is found by a count of all keys.
std::uint64_t KeyAt(const std::vector<std::uint64_t>& keys, std::size_t count) {
  std::uint64_t found = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t tried = found | std::uint64_t{1} << bit;
    std::uint64_t reached = 0;
    for (const std::uint64_t key : keys) reached += key >= tried ? 1 : 0;
    if (reached >= count) found = tried;
  }
  return found;
}

}  // namespace

RankingBasis RankingBasisOf(const ItemModel& model) {
  RankingBasis basis;
  DrawStandIns(model, &basis);
  basis.loadings = model.loadings.transpose();
  basis.tastes = model.ranking.transpose();
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

// For every item, whoever the person is: popularity_i exp(y_i.a) P(rating of i
// is above kLikedPart of the range), a the taste that the choice of items
// shows.
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
  const VectorXd overflow = VectorXd::Constant(
      rating.size(), std::numeric_limits<double>::quiet_NaN());
  if (!rating.allFinite()) return overflow;
  const VectorXd taste = TasteOf(basis, items);
  if (taste.size() == 0) return score;
  const VectorXd exponent = model.ranking * taste;
  if (!exponent.allFinite()) return overflow;
  score *= exponent.array().max(-kLargestExponent).min(kLargestExponent).exp();
  return score;
}

VectorXd RankingScores(const ItemModel& model, const Profile& profile,
                       std::span<const std::int32_t> items,
                       std::span<const double> ratings) {
  return RankingScores(model, RankingBasisOf(model), profile, items, ratings);
}

std::vector<std::int32_t> TopItems(const Eigen::VectorXd& scores,
                                   std::span<const std::int32_t> own,
                                   std::size_t length) {
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(scores.size()));
  std::transform(scores.begin(), scores.end(), keys.begin(), KeyOf);
  for (const std::int32_t item : own) keys[static_cast<std::size_t>(item)] = 0;
  const std::size_t count = std::min(length, keys.size() - own.size());
  if (count == 0) return {};
  const std::uint64_t last = KeyAt(keys, count);
  const auto above = static_cast<std::size_t>(
      std::count_if(keys.begin(), keys.end(),
                    [last](std::uint64_t key) { return key > last; }));
  std::size_t equal = count - above;  // those that the list has room for
  std::vector<std::int32_t> items;
  items.reserve(count);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] > last || (keys[i] == last && equal > 0)) {
      if (keys[i] == last) --equal;
      items.push_back(static_cast<std::int32_t>(i));
    }
  }
  std::sort(items.begin(), items.end(), [&](std::int32_t a, std::int32_t b) {
    return scores(a) != scores(b) ? scores(a) > scores(b) : a < b;
  });
  return items;
}

}  // namespace dpnmf
