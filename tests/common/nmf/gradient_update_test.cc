#include "common/nmf/gradient_update.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/nmf/dictionary.h"
#include "common/nmf/draws.h"
#include "common/nmf/statistics_update.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;

constexpr Eigen::Index kFeatures = 30, kRank = 4;

struct Statistics {
  MatrixXd a, b;
};
// Statistics of V = W H with a sparse H.
Statistics PlantedStatistics(const MatrixXd& truth) {
  MatrixXd h = RandomDictionary(kRank, 300, 2);
  h = h.unaryExpr([](double x) { return x < 0.5 ? 0 : x; });
  Statistics planted;
  planted.a = h * h.transpose() / 300;
  planted.b = truth * planted.a;
  return planted;
}

// Weights 1, 2, 3, ... over their sum.
TEST(AddGradient, KeepsTheWeightedMomentsOfAllRounds) {
  GradientMemory memory;
  std::vector<MatrixXd> w, g;
  for (std::uint32_t round = 1; round <= 9; ++round) {
    w.push_back(RandomDictionary(kFeatures, kRank, round));
    g.push_back(RandomDictionary(kFeatures, kRank, 100 + round));
    AddGradient(round, w.back(), g.back(), &memory);
  }
  MatrixXd mean_w = MatrixXd::Zero(kFeatures, kRank), mean_g = mean_w;
  for (int t = 1; t <= 9; ++t) {
    mean_w += t / 45.0 * w[t - 1];
    mean_g += t / 45.0 * g[t - 1];
  }
  MatrixXd ww = MatrixXd::Zero(kRank, kRank), wg = ww;
  for (int t = 1; t <= 9; ++t) {
    ww += t / 45.0 * (w[t - 1] - mean_w).transpose() * (w[t - 1] - mean_w);
    wg += t / 45.0 * (w[t - 1] - mean_w).transpose() * (g[t - 1] - mean_g);
  }
  EXPECT_TRUE(memory.w.isApprox(mean_w, 1e-12));
  EXPECT_TRUE(memory.gradient.isApprox(mean_g, 1e-12));
  EXPECT_TRUE(memory.ww.isApprox(ww, 1e-12));
  EXPECT_TRUE(memory.wg.isApprox(wg, 1e-12));
}

// Two exact gradients at different W give A and B away.
TEST(FitStatistics, FindsAAndBFromTwoGradientsWithoutNoise) {
  const Statistics planted =
      PlantedStatistics(RandomDictionary(kFeatures, kRank, 1));
  GradientMemory memory;
  for (const std::uint32_t round : {1, 2}) {
    const MatrixXd w = RandomDictionary(kFeatures, kRank, 10 + round);
    AddGradient(round, w, w * planted.a - planted.b, &memory);
  }
  const StatisticsOfGradients fitted = FitStatistics(memory, {});
  EXPECT_TRUE(fitted.a.isApprox(planted.a, 1e-9));
  EXPECT_TRUE(fitted.b.isApprox(planted.b, 1e-9));
}

// One round says nothing of A.
TEST(FitStatistics, TakesThePriorWhereWHasNotMoved) {
  const MatrixXd w = RandomDictionary(kFeatures, kRank, 1);
  GradientMemory memory;
  AddGradient(1, w, MatrixXd::Zero(kFeatures, kRank), &memory);
  const MatrixXd a =
      FitStatistics(memory, {.variance = 1, .largest_a_norm = 2}).a;
  const double scale = 0.3 * 2 / kRank;
  // Mean scale (I + 11'), deviation `scale` in each direction.
  EXPECT_NEAR(a(0, 1), scale, 1e-12);
  EXPECT_NEAR(a(2, 2), 3 * scale, 1e-12);
}

// The error of A, with the deviation that is added to it, falls with the noise.
// No chance in it: the seed is fixed.
TEST(FitStatistics, TrustsTheRoundsAsFarAsTheirNoiseAllows) {
  const Statistics planted =
      PlantedStatistics(RandomDictionary(kFeatures, kRank, 1));
  double last = std::numeric_limits<double>::infinity();
  for (const double stddev : {0.1, 0.01, 0.001}) {
    Draws draws(5);
    GradientMemory memory;
    for (std::uint32_t round = 1; round <= 20; ++round) {
      const MatrixXd w = RandomDictionary(kFeatures, kRank, 10 + round);
      MatrixXd g = w * planted.a - planted.b;
      for (double& entry : g.reshaped()) entry += stddev * draws.Normal();
      AddGradient(round, w, g, &memory);
    }
    const double error =
        (FitStatistics(memory, {.variance = stddev * stddev,
                                .variance_share = VarianceShareOfAverage(20)})
             .a -
         planted.a)
            .norm();
    EXPECT_LT(error, last) << stddev;
    last = error;
  }
  EXPECT_LT(last, 0.01);
}

TEST(UpdateFromGradients, LearnsWhatExactStatisticsWouldTeach) {
  const MatrixXd truth = RandomDictionary(kFeatures, kRank, 1);
  const Statistics planted = PlantedStatistics(truth);
  const auto value = [&](const MatrixXd& w) {
    return 0.5 * (w.transpose() * w * planted.a).trace() -
           (w.transpose() * planted.b).trace();
  };
  MatrixXd w = RandomDictionary(kFeatures, kRank, 3);
  const double before = value(w) - value(truth);
  GradientMemory memory;
  for (std::uint32_t round = 1; round <= 10; ++round) {
    AddGradient(round, w, w * planted.a - planted.b, &memory);
    UpdateFromGradients(memory, {.steps = 500}, &w);
  }
  EXPECT_LT(value(w) - value(truth), 1e-3 * before);
}

TEST(UpdateFromGradients, StaysFeasibleWhateverIsReleased) {
  const double huge = 1e300, nan = std::numeric_limits<double>::quiet_NaN();
  for (const double entry : {0.0, huge, -huge, nan}) {
    MatrixXd w = RandomDictionary(kFeatures, kRank, 3);
    GradientMemory memory;
    for (std::uint32_t round = 1; round <= 5; ++round) {
      AddGradient(round, w, MatrixXd::Constant(kFeatures, kRank, entry * round),
                  &memory);
      UpdateFromGradients(memory, {.variance = 1, .steps = 20}, &w);
      ASSERT_TRUE(CheckDictionary(w).ok()) << entry;
    }
  }
}

TEST(GradientNoiseVariance, IsThatOfWTimesTheNoiseOfALessTheNoiseOfB) {
  Draws draws(7);
  const MatrixXd w = RandomDictionary(kFeatures, kRank, 1);
  double squares = 0;
  constexpr int kDraws = 2000;
  for (int draw = 0; draw < kDraws; ++draw) {
    MatrixXd a = MatrixXd::Zero(kRank, kRank),
             b = MatrixXd::Zero(kFeatures, kRank);
    for (double& entry : a.reshaped()) entry = 0.7 * draws.Normal();
    for (double& entry : b.reshaped()) entry = 0.2 * draws.Normal();
    squares += (w * a - b).squaredNorm();
  }
  // The seed is fixed; the mean of 240,000 squares is within 2 %.
  EXPECT_NEAR(squares / (kDraws * kFeatures * kRank),
              GradientNoiseVariance(0.7, 0.2, w), 0.002);
}

}  // namespace
}  // namespace dpnmf
