#include "common/nmf/statistics_update.h"

#include <cmath>

#include "common/nmf/dictionary.h"
#include "common/nmf/draws.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;

// Weights 1, 2, 3, ... over their sum.
TEST(AverageRounds, WeighsARoundByItsNumber) {
  MatrixXd kept;
  double weighted = 0, weights = 0;
  for (std::uint32_t round = 1; round <= 20; ++round) {
    const double value = std::sin(round);
    AverageRounds(round, MatrixXd::Constant(2, 3, value), &kept);
    weighted += round * value;
    weights += round;
    EXPECT_NEAR(kept(1, 2), weighted / weights, 1e-12) << round;
  }
}

TEST(AverageRounds, VarianceShareIsThatOfTheWeights) {
  for (const int rounds : {1, 2, 7, 100}) {
    double weights = 0, squares = 0;
    for (int t = 1; t <= rounds; ++t) {
      weights += t;
      squares += t * t;
    }
    EXPECT_NEAR(VarianceShareOfAverage(static_cast<std::uint32_t>(rounds)),
                squares / (weights * weights), 1e-12)
        << rounds;
  }
}

// From exact A and B of V = W H: the objective 1/2 tr(W'W A) - tr(W'B) comes
// near its minimum, which W attains.
TEST(UpdateFromStatistics, FindsTheDictionaryOfExactStatistics) {
  const MatrixXd truth = RandomDictionary(20, 3, 1);
  MatrixXd h = RandomDictionary(3, 200, 2);
  h = h.unaryExpr([](double x) { return x < 0.5 ? 0 : x; });
  const MatrixXd a = h * h.transpose() / 200, b = truth * a;
  const auto value = [&](const MatrixXd& w) {
    return 0.5 * (w.transpose() * w * a).trace() - (w.transpose() * b).trace();
  };
  MatrixXd w = RandomDictionary(20, 3, 3);
  const double before = value(w) - value(truth);
  UpdateFromStatistics(a, b, {.steps = 2000}, &w);
  EXPECT_LT(value(w) - value(truth), 1e-4 * before);
}

// A + 2 sigma sqrt(K) I: the limit of W A = B is B (A + ...)^-1.
TEST(UpdateFromStatistics, KnownNoiseInAIsAddedToItsDiagonal) {
  const MatrixXd a = MatrixXd::Identity(4, 4);
  const MatrixXd b = MatrixXd::Constant(3, 4, 0.3);
  MatrixXd w = RandomDictionary(3, 4, 1);
  UpdateFromStatistics(a, b, {.stddev_a = 0.25, .steps = 500}, &w);
  EXPECT_LT((w - b / (1 + 2 * 0.25 * 2)).norm(), 1e-9);
}

TEST(UpdateFromStatistics, NegativeEntriesOfBCountAsZero) {
  const MatrixXd a = MatrixXd::Identity(2, 2);
  MatrixXd b = MatrixXd::Constant(4, 2, 0.3), clipped = b;
  b(2, 1) = -5;
  clipped(2, 1) = 0;
  MatrixXd w = RandomDictionary(4, 2, 1), expected = w;
  UpdateFromStatistics(a, b, {.steps = 5}, &w);
  UpdateFromStatistics(a, clipped, {.steps = 5}, &expected);
  EXPECT_EQ(w, expected);
}

TEST(UpdateFromStatistics, AnIndefiniteACannotBlowWUp) {
  MatrixXd a = MatrixXd::Identity(2, 2);
  a(1, 1) = -1;
  MatrixXd w = RandomDictionary(4, 2, 1);
  UpdateFromStatistics(a, MatrixXd::Zero(4, 2), {.steps = 500}, &w);
  // Along the negative direction nothing moves; along the other W goes to 0.
  EXPECT_LT(w.col(0).norm(), 1e-6);
  EXPECT_NEAR(w.col(1).norm(), 1, 1e-12);
}

// W of many noisy A and B around one truth: their spread is what the standard
// errors predict. 400 draws and 200 replicates: the ratio of the two root mean
// squares over 60 entries has a deviation below 2 %, and 0.8 to 1.25 is more
// than ten of them.
TEST(StatisticsStandardErrors, AgreeWithTheSpreadOverReleases) {
  const MatrixXd truth = RandomDictionary(20, 3, 1);
  MatrixXd h = RandomDictionary(3, 200, 2) * 3;
  h = h.unaryExpr([](double x) { return x < 0.2 ? 0 : x; });
  const MatrixXd a = h * h.transpose() / 200;
  const StatisticsNoise noise{1e-4, 1.5e-4, 1e-4};
  const StatisticsStep step{.stddev_a = noise.stddev_a, .steps = 3000};
  Draws draws(7);
  const auto learn = [&] {
    MatrixXd b = truth * a;
    for (double& entry : b.reshaped()) entry += noise.stddev_b * draws.Normal();
    MatrixXd w = truth;
    UpdateFromStatistics(
        a + SymmetricNoise(3, noise.stddev_a, noise.diagonal_stddev_a, &draws),
        b, step, &w);
    return w;
  };
  constexpr int kDraws = 400;
  MatrixXd sum = MatrixXd::Zero(20, 3), squares = sum;
  for (int draw = 0; draw < kDraws; ++draw) {
    const MatrixXd off = learn() - truth;
    sum += off;
    squares += off.cwiseAbs2();
  }
  const MatrixXd spread =
      ((squares - sum.cwiseAbs2() / kDraws) / (kDraws - 1)).cwiseSqrt();
  const MatrixXd claimed =
      StatisticsStandardErrors(a, truth, noise, step, 3, 200);
  EXPECT_GT(claimed.norm(), 0.8 * spread.norm());
  EXPECT_LT(claimed.norm(), 1.25 * spread.norm());
  EXPECT_GT(spread.norm(), 3e-4);
}

TEST(StatisticsStandardErrors, VanishWithTheNoise) {
  const MatrixXd w = RandomDictionary(6, 2, 1);
  EXPECT_LE(StatisticsStandardErrors(MatrixXd::Identity(2, 2), w, {},
                                     {.steps = 50}, 1, 4)
                .norm(),
            1e-9);
}

}  // namespace
}  // namespace dpnmf
