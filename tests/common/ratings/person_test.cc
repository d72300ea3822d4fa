#include "common/ratings/person.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "common/ratings/solve.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

ItemModel SomeModel(Index items, Index columns, Index taste) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  const auto normals = [&](Index rows, Index cols) {
    MatrixXd matrix(rows, cols);
    for (double& value : matrix.reshaped()) value = normal(engine);
    return matrix;
  };
  ItemModel model;
  model.low = 1;
  model.high = 5;
  model.residual_stddev = 0.8;
  model.base = (3 + 0.3 * normals(items, 1).array()).matrix();
  model.base_stddev = VectorXd::Constant(items, 0.1);
  model.loadings = 0.4 * normals(items, columns);
  model.loadings.col(0).setConstant(0.4);
  model.popularity = normals(items, 1).array().exp();
  model.ranking = 0.5 * normals(items, taste);
  const VectorXd p = model.popularity / model.popularity.sum();
  model.ranking.rowwise() -= (p.transpose() * model.ranking).eval();
  model.counts = model.popularity;
  model.counts_stddev = VectorXd::Ones(items);
  return model;
}

const std::vector<std::int32_t> kOwnItems = {0, 3, 4, 9, 17};
const std::vector<double> kOwnRatings = {5, 1, 4, 2, 5};

// r ~ N(base, X X' + S), S diagonal with s^2 + base_stddev_j^2, and
// Cov(h, r) = X': conditional moments by the
// n x n system, which shares nothing with the solve under test.
TEST(PersonTest, TheProfileIsTheConditionalMeanAndCovariance) {
  ItemModel model = SomeModel(30, 6, 3);
  model.base_stddev = VectorXd::LinSpaced(30, 0.05, 0.9);
  model.base_stddev(20) = 0.1;
  const MatrixXd x = model.loadings(kOwnItems, Eigen::all);
  const VectorXd y =
      Eigen::Map<const VectorXd>(kOwnRatings.data(), 5) - model.base(kOwnItems);
  MatrixXd covariance = x * x.transpose();
  covariance.diagonal().array() +=
      0.64 + model.base_stddev(kOwnItems).array().square();
  const MatrixXd inverse = InverseOfPositive(covariance);
  const Profile profile = SolveProfile(model, kOwnItems, kOwnRatings);
  EXPECT_LT((profile.mean - x.transpose() * inverse * y).norm(), 1e-10);
  const MatrixXd posterior =
      MatrixXd::Identity(6, 6) - x.transpose() * inverse * x;
  EXPECT_LT((profile.covariance - posterior).norm(), 1e-10);
  const VectorXd next = model.loadings.row(20).transpose();
  const Prediction prediction = Predict(model, profile, 20);
  EXPECT_NEAR(prediction.rating, model.base(20) + next.dot(profile.mean),
              1e-12);
  EXPECT_NEAR(prediction.stddev,
              std::sqrt(next.dot(posterior * next) + 0.64 + 0.01), 1e-10);
}

TEST(PersonTest, WithoutRatingsTheProfileIsThePrior) {
  const ItemModel model = SomeModel(30, 6, 3);
  const Profile profile = SolveProfile(model, {}, {});
  EXPECT_EQ(profile.mean, VectorXd::Zero(6));
  EXPECT_EQ(profile.covariance, MatrixXd::Identity(6, 6));
  EXPECT_EQ(Predict(model, profile, 4).rating, model.base(4));
  const VectorXd scores = RankingScores(model, profile, {}, {});
  ASSERT_EQ(scores.size(), 30);
  EXPECT_TRUE(scores.allFinite());
}

// Loadings at the limit of a file: the unit matrix is below the rounding of
// X'X, so that it is not positive definite in double precision.
TEST(PersonTest, WhereTheSystemCannotBeSolvedTheProfileIsThePrior) {
  ItemModel model = SomeModel(30, 6, 3);
  model.loadings *= 1e6;
  model.residual_stddev = 4e-6;
  model.base_stddev.setZero();
  model.ranking *= 1e6;
  int priors = 0;
  for (std::int32_t item = 0; item < 30; ++item) {
    const std::vector<std::int32_t> items = {item};
    const std::vector<double> ratings = {5};
    const Profile profile = SolveProfile(model, items, ratings);
    ASSERT_TRUE(profile.mean.allFinite() && profile.covariance.allFinite());
    if (!profile.solved) {
      ++priors;
      EXPECT_EQ(profile.covariance, MatrixXd::Identity(6, 6));
      EXPECT_EQ(profile.mean, VectorXd::Zero(6));
    }
    EXPECT_TRUE(RankingScores(model, profile, items, ratings).allFinite());
  }
  EXPECT_GT(priors, 15);
}

ItemModel NonNegative(double level) {
  ItemModel model = SomeModel(30, 6, 3);
  model.loadings = model.loadings.cwiseAbs();
  model.level = level;
  return model;
}

// The conditions of Karush, Kuhn and Tucker of the most likely profile.
TEST(PersonTest, TheProfileOfANonNegativeModelIsTheMostLikelyWithinItsBounds) {
  const std::vector<double> low = {1, 1, 2, 1, 2};
  int bound = 0;
  for (const double level : {0.05, 0.2, 1.0}) {
    for (const std::vector<double>& ratings : {kOwnRatings, low}) {
      const ItemModel model = NonNegative(level);
      const Profile profile = SolveProfile(model, kOwnItems, ratings);
      ASSERT_TRUE(profile.solved);
      const MatrixXd x = model.loadings(kOwnItems, Eigen::all);
      const VectorXd y =
          Eigen::Map<const VectorXd>(ratings.data(), 5) - model.base(kOwnItems);
      const VectorXd& h = profile.mean;
      const VectorXd gradient =
          x.transpose() * (x * h - y) / 0.65 + h;  // of half the exponent
      for (Index k = 0; k < 6; ++k) {
        const bool at_bound = k > 0 && h(k) == -level;
        if (at_bound) {
          EXPECT_GE(gradient(k), -1e-7);
        } else {
          EXPECT_NEAR(gradient(k), 0, 1e-7);
          EXPECT_TRUE(k == 0 || h(k) > -level);
        }
        bound += at_bound;
        EXPECT_EQ(
            std::count(profile.at_bound.begin(), profile.at_bound.end(), k),
            at_bound);
      }
      // Inside: what the own ratings say, less what is taken away everywhere.
      VectorXd left = y;
      for (const Index k : profile.at_bound) left -= x.col(k) * h(k);
      VectorXd inside = h;
      for (const Index k : profile.at_bound) inside(k) = 0;
      EXPECT_LT(
          (CovarianceWithin(profile) * x.transpose() * left / 0.65 - inside)
              .norm(),
          1e-7);
    }
  }
  EXPECT_GT(bound, 5);
}

TEST(PersonTest, BoundsThatHoldNobodyChangeNoBit) {
  ItemModel model = NonNegative(100);
  const Profile with = SolveProfile(model, kOwnItems, kOwnRatings);
  EXPECT_TRUE(with.at_bound.empty());
  EXPECT_TRUE(CovarianceWithin(with) == with.covariance);
  model.level = 0;
  const Profile without = SolveProfile(model, kOwnItems, kOwnRatings);
  EXPECT_TRUE(with.covariance == without.covariance);
  EXPECT_LT((with.mean - without.mean).norm(), 1e-9);
}

TEST(PersonTest, ANewPersonOfANonNegativeModelHasThePrior) {
  const ItemModel model = NonNegative(0.5);
  const Profile profile = SolveProfile(model, {}, {});
  EXPECT_EQ(profile.mean, VectorXd::Zero(6));
  EXPECT_EQ(Predict(model, profile, 4).rating, model.base(4));
}

// How long a number takes would tell whose it is. Each result here is subnormal
// on the way, or read from subnormal numbers, and so 0.
TEST(PersonTest, SubnormalNumbersAreZero) {
  constexpr double kSmall = 1e-160, kSubnormal = 1e-320;
  ItemModel model = SomeModel(3, 2, 1);
  model.low = -1;
  model.base.setZero();
  model.loadings.setConstant(kSmall);
  const std::vector<std::int32_t> own = {2};
  EXPECT_EQ(SolveProfile(model, own, {{kSmall}}).mean, VectorXd::Zero(2));
  EXPECT_EQ(SolveProfile(model, RankingBasisOf(model), own, {{kSmall}}).mean,
            VectorXd::Zero(2));
  Profile profile{VectorXd::Constant(2, kSmall), MatrixXd::Identity(2, 2)};
  EXPECT_EQ(Predict(model, profile, 0).rating, 0);
  profile.covariance(0, 0) = kSubnormal;
  profile.at_bound = {1};
  EXPECT_EQ(CovarianceWithin(profile), MatrixXd::Zero(2, 2));
  model.popularity.setConstant(kSubnormal);
  EXPECT_EQ(RankingScores(model, profile, {}, {}), VectorXd::Zero(3));
  const volatile double small = kSmall;
  EXPECT_NE(small * small, 0) << "the thread is as it was";
}

TEST(PersonTest, PredictionsStayInTheRange) {
  ItemModel model = SomeModel(30, 6, 3);
  model.base(2) = 40;
  model.base(5) = -40;
  const Profile profile = SolveProfile(model, {}, {});
  EXPECT_EQ(Predict(model, profile, 2).rating, 5);
  EXPECT_EQ(Predict(model, profile, 5).rating, 1);
  EXPECT_TRUE(RankingScores(model, profile, {}, {}).allFinite());
}

// Lists are by popularity if all ratings are expected to be equal and nobody
// has a taste.
TEST(PersonTest, WithoutTasteListsAreByPopularity) {
  ItemModel model = SomeModel(30, 1, 0);
  model.base.setConstant(3);
  const Profile profile = SolveProfile(model, kOwnItems, kOwnRatings);
  const VectorXd scores = RankingScores(model, profile, kOwnItems, kOwnRatings);
  for (Index i = 1; i < 30; ++i) {
    EXPECT_EQ(scores(i) > scores(i - 1),
              model.popularity(i) > model.popularity(i - 1));
  }
}

// The mode of the taste: the slope of its log density is 0 where every item
// stands for itself.
TEST(PersonTest, ListsFollowTheTasteThatTheOwnItemsShow) {
  ItemModel model = SomeModel(30, 1, 1);
  model.base.setConstant(3);
  model.loadings.setZero();
  model.popularity.setOnes();
  model.ranking.setZero();
  model.ranking.topRows(15).setConstant(1);
  model.ranking.bottomRows(15).setConstant(-1);
  const Profile profile = SolveProfile(model, kOwnItems, kOwnRatings);
  const std::vector<std::int32_t> own = {0, 1, 2, 3, 4, 5, 6, 20};
  const std::vector<double> ratings(own.size(), 3);
  const VectorXd scores = RankingScores(model, profile, own, ratings);
  // log of the ratio: 2 a, with 6 = 8 tanh(a) + a for the mode a.
  const double a = std::log(scores(10) / scores(25)) / 2;
  EXPECT_NEAR(8 * std::tanh(a) + a, 6, 0.1);
}

TEST(PersonTest, ScoresAreFiniteForHostileModels) {
  ItemModel model = SomeModel(30, 6, 3);
  model.ranking *= 1e6;
  model.base *= 1e6;
  model.popularity.setZero();
  const Profile profile = SolveProfile(model, kOwnItems, kOwnRatings);
  EXPECT_TRUE(
      RankingScores(model, profile, kOwnItems, kOwnRatings).allFinite());
}

TEST(PersonTest, WithABasisTheProfileHasTheSameBits) {
  const ItemModel model = SomeModel(30, 6, 3);
  const Profile one = SolveProfile(model, kOwnItems, kOwnRatings);
  const Profile other =
      SolveProfile(model, RankingBasisOf(model), kOwnItems, kOwnRatings);
  EXPECT_EQ(one.mean, other.mean);
  EXPECT_EQ(one.covariance, other.covariance);
}

// Equal scores, both zeros, both signs, subnormal and largest numbers.
TEST(PersonTest, TheTopItemsAreThoseOfAFullSort) {
  const std::vector<double> few = {0.0,    -0.0,    1,     1,      -1,
                                   5e-324, -5e-324, 1e308, -1e308, 1e-9};
  for (const Index size : {0, 1, 2, 10, 1000}) {
    VectorXd scores(size);
    for (Index i = 0; i < size; ++i)
      scores(i) = i % 3 == 0 ? few[i % few.size()] : std::sin(0.1 * (i % 97));
    for (const std::size_t step : {2000u, 7u, 2u, 1u}) {
      std::vector<std::int32_t> own, others;
      for (Index i = 0; i < size; ++i)
        (i % step == step - 1 ? own : others).push_back(std::int32_t(i));
      std::stable_sort(others.begin(), others.end(),
                       [&](auto a, auto b) { return scores(a) > scores(b); });
      for (const std::size_t length : {0u, 1u, 20u, 700u, 2000u}) {
        std::vector<std::int32_t> best = others;
        best.resize(std::min(length, best.size()));
        EXPECT_EQ(TopItems(scores, own, length), best)
            << size << " " << step << " " << length;
      }
    }
  }
}

TEST(PersonTest, NothingIsScoredWhereTheNumbersOverflow) {
  ItemModel model = SomeModel(30, 6, 3);
  const Profile profile{VectorXd::Constant(6, 1e10), MatrixXd::Identity(6, 6)};
  EXPECT_TRUE(RankingScores(model, profile, kOwnItems, {}).allFinite());
  model.popularity(29) = 0;  // so it is no stand-in of the others
  model.ranking.bottomRows(1).setConstant(
      std::numeric_limits<double>::infinity());
  EXPECT_TRUE(
      RankingScores(model, profile, kOwnItems, {}).array().isNaN().all());
  model.ranking.setZero();
  model.loadings.bottomRows(1).setConstant(1e308);
  EXPECT_TRUE(
      RankingScores(model, profile, kOwnItems, {}).array().isNaN().all());
}

}  // namespace
}  // namespace dpnmf
