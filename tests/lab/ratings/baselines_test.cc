#include "lab/ratings/baselines.h"

#include "common/base/error.h"
#include "common/ratings/solve.h"
#include "gtest/gtest.h"
#include "tests/lab/ratings/ratings_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

Metrics Of(const Split& split, const Recommender& recommender) {
  return *Measure(split, recommender, {.threads = 2});
}

TEST(MeanOfAll, IsTheMean) {
  const RatingTable table = TableOf(3, {{{0, 1}, {1, 5}}, {{2, 4.5}}});
  const Opinion opinion = MeanOfAll(table)(0, table.Of(0));
  EXPECT_DOUBLE_EQ(opinion.ratings[2], 3.5);
  EXPECT_EQ(opinion.scores.size(), 0);
}

TEST(Popularity, CountsRatings) {
  const RatingTable table = TableOf(3, {{{0, 1}, {2, 5}}, {{2, 1}}});
  EXPECT_EQ(Popularity(table)(0, table.Of(0)).scores, VectorXd({{1, 0, 2}}));
}

// The conditions of the least squares hold at the fixed point.
TEST(Biases, SolveTheRidgeEquations) {
  const RatingTable table = Generate({});
  const Recommender biases = Biases(table);
  VectorXd gradient = VectorXd::Zero(60);
  double mean = 0;
  for (const std::int32_t units : table.units) mean += RatingOf(units);
  mean /= static_cast<double>(table.size());
  VectorXd base;
  for (std::size_t u = 0; u < table.people(); ++u) {
    const RatedItems own = table.Of(u);
    const Opinion opinion = biases(u, own);
    base = opinion.scores;
    double residual = 0;
    for (std::size_t k = 0; k < own.items.size(); ++k) {
      const double error =
          RatingOf(own.units[k]) - opinion.ratings[own.items[k]];
      gradient[own.items[k]] += error;
      residual += error;
    }
    const double bias = opinion.ratings[0] - base[0];
    EXPECT_NEAR(residual, 2 * bias, 1e-9);
  }
  gradient -= 3 * (base.array() - mean).matrix();
  EXPECT_LT(gradient.cwiseAbs().maxCoeff(), 1e-6);
}

// Noise of .5, rounding to whole ratings (standard deviation .29) and clipping
// bound what can be reached; a bias alone cannot see the two factors.
TEST(Als, FindsTheFactorsOfGeneratedRatings) {
  const Split split = SplitOf(Generate({.people = 600, .items = 80}));
  const Metrics als = Of(split, *Als(split.train, {.factors = 4}, Execution()));
  const Metrics biases = Of(split, Biases(split.train));
  const Metrics mean = Of(split, MeanOfAll(split.train));
  EXPECT_LT(als.rmse, 0.75);
  EXPECT_GT(biases.rmse, 0.9);
  EXPECT_GT(mean.rmse, biases.rmse);
}

TEST(Als, IsAFunctionOfTheSeedForAnyNumberOfThreads) {
  const RatingTable table = Generate({});
  const auto rating = [&](std::uint64_t seed, int threads) {
    AlsOptions options;
    options.rounds = 2;
    options.seed = seed;
    return (*Als(table, options, {.threads = threads}))(0, table.Of(0))
        .ratings[5];
  };
  EXPECT_EQ(rating(1, 1), rating(1, 4));
  EXPECT_NE(rating(1, 1), rating(2, 1));
}

TEST(Als, Stops) {
  const RatingTable table = Generate({});
  Execution execution;
  execution.stop = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(Als(table, {}, execution).status()));
}

// Against the formula with a dense inverse in doubles.
TEST(Ease, IsSteckesFormula) {
  const RatingTable table = Generate({.people = 100, .items = 20});
  MatrixXd x = MatrixXd::Zero(100, 20);
  for (std::size_t u = 0; u < 100; ++u) {
    for (const std::int32_t item : table.Of(u).items)
      x(static_cast<Eigen::Index>(u), item) = 1;
  }
  const MatrixXd p =
      InverseOfPositive(x.transpose() * x + 10 * MatrixXd::Identity(20, 20));
  MatrixXd b = -p * p.diagonal().cwiseInverse().asDiagonal();
  b.diagonal().setZero();
  const Recommender ease = *Ease(table, 10, Execution());
  for (const std::size_t u : {0u, 1u, 50u}) {
    const VectorXd scores = ease(u, table.Of(u)).scores;
    const VectorXd expected =
        (x.row(static_cast<Eigen::Index>(u)) * b).transpose();
    EXPECT_LT((scores - expected).cwiseAbs().maxCoeff(), 1e-5);
  }
}

TEST(Ease, RefusesManyItems) {
  RatingTable table = TableOf(kMostEaseItems + 1, {{{0, 1}}});
  EXPECT_EQ(ReasonCode(Ease(table, 1, Execution()).status()),
            "evaluate-too-many-items");
}

}  // namespace
}  // namespace dpnmf::curator::lab
