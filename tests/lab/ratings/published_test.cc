#include "lab/ratings/published.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/lab/ratings/ratings_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

ProfileMatrix Profiles(Eigen::Index rows, Eigen::Index columns,
                       std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  ProfileMatrix profiles(rows, columns);
  for (double& entry : profiles.reshaped()) entry = normal(random);
  return profiles;
}

// Its objective (3) on the observed entries.
double Objective(const RatingTable& table, const ProfileMatrix& x,
                 const ProfileMatrix& theta, double regularisation) {
  double sum = regularisation * (x.squaredNorm() + theta.squaredNorm());
  for (std::size_t u = 0; u < table.people(); ++u) {
    const RatedItems rated = table.Of(u);
    for (std::size_t k = 0; k < rated.items.size(); ++k) {
      const double error =
          x.row(rated.items[k]).dot(theta.row(static_cast<Eigen::Index>(u))) -
          RatingOf(rated.units[k]);
      sum += error * error;
    }
  }
  return sum / 2;
}

// Without shortening, both are the derivatives of (3): central differences of
// a quartic, exact but for rounding and a term of order 1e-8.
TEST(PublishedGradients, AreTheDerivativesOfTheObjective) {
  const RatingTable table = Generate({.people = 12, .items = 8});
  const ByItem by_item = Transpose(table);
  ProfileMatrix x = Profiles(8, 3, 1), theta = Profiles(12, 3, 2);
  const PublishedGradients gradients =
      GradientsOf(table, by_item, x, theta, 0.3, /*clip=*/1e9, 1);
  constexpr double kStep = 1e-4;
  const auto check = [&](ProfileMatrix* profiles,
                         const ProfileMatrix& gradient) {
    for (Eigen::Index at = 0; at < profiles->size(); ++at) {
      double& entry = profiles->data()[at];
      const double kept = entry;
      entry = kept + kStep;
      const double above = Objective(table, x, theta, 0.3);
      entry = kept - kStep;
      const double below = Objective(table, x, theta, 0.3);
      entry = kept;
      EXPECT_NEAR(gradient.data()[at], (above - below) / (2 * kStep), 1e-5);
    }
  };
  check(&x, gradients.x);
  check(&theta, gradients.theta);
}

// Lines 5 and 6: the other side's profiles are shortened to C, the errors and
// the regularisation are of those as they are.
TEST(PublishedGradients, ShortenTheOtherSideAlone) {
  const RatingTable table = TableOf(1, {{{0, 4}}});
  ProfileMatrix x(1, 2), theta(1, 2);
  x << 3, 4;      // length 5
  theta << 0, 2;  // length 2; the error is 8 - 4
  const PublishedGradients gradients =
      GradientsOf(table, Transpose(table), x, theta, 0.5, /*clip=*/1, 1);
  EXPECT_DOUBLE_EQ(gradients.x(0, 0), 4 * 0 + 0.5 * 3);
  EXPECT_DOUBLE_EQ(gradients.x(0, 1), 4 * 1 + 0.5 * 4);
  EXPECT_DOUBLE_EQ(gradients.theta(0, 0), 4 * 0.6 + 0.5 * 0);
  EXPECT_DOUBLE_EQ(gradients.theta(0, 1), 4 * 0.8 + 0.5 * 2);
}

TEST(PublishedGradients, AreTheSameForAnyNumberOfThreads) {
  const RatingTable table = Generate({});
  const ByItem by_item = Transpose(table);
  const ProfileMatrix x = Profiles(60, 3, 1), theta = Profiles(300, 3, 2);
  const PublishedGradients one = GradientsOf(table, by_item, x, theta, 0, 1, 1);
  const PublishedGradients four =
      GradientsOf(table, by_item, x, theta, 0, 1, 4);
  EXPECT_EQ(one.x, four.x);
  EXPECT_EQ(one.theta, four.theta);
}

// (4/.4) sqrt(2 log 125) = 31.07...
TEST(PublishedAccounting, CalibratesByTheClassicFormula) {
  EXPECT_NEAR(PublishedStddev(4, 1, 0.4, 0.01), 31.0751146, 1e-6);
  EXPECT_DOUBLE_EQ(PublishedStddev(4, 2, 0.4, 0.01),
                   2 * PublishedStddev(4, 1, 0.4, 0.01));
}

// Equation (9) is the least over alpha of equation (7), whose ratio
// Delta/sigma is epsilon_i / sqrt(2 log(1.25/delta)).
TEST(PublishedAccounting, OverallEpsilonIsTheLeastOverTheOrder) {
  for (const double epsilon : {0.05, 0.4, 0.9}) {
    const double ratio_squared = epsilon * epsilon / (2 * std::log(125.0));
    double least = 1e300;
    for (double alpha = 1.001; alpha < 2000; alpha *= 1.0005) {
      least = std::min(
          least, alpha * 300 * ratio_squared / 2 + std::log(1e5) / (alpha - 1));
    }
    EXPECT_NEAR(PublishedOverallEpsilon(epsilon, 300, 0.01, 1e-5), least,
                1e-5 * least);
  }
  EXPECT_NEAR(PublishedOverallEpsilon(0.4, 300, 0.01, 1e-5), 13.1837, 1e-4);
}

TEST(PublishedAccounting, EpsilonOfARoundIsTheInverse) {
  for (const double overall : {1e-3, 1.0, 10.0, 100.0}) {
    const double per_round = PublishedEpsilonPerRound(overall, 300, 0.01, 1e-5);
    EXPECT_NEAR(PublishedOverallEpsilon(per_round, 300, 0.01, 1e-5), overall,
                1e-9 * overall);
  }
}

TEST(RunPublished, LowersTheErrorOfWhatItLearnsFrom) {
  const Split split = SplitOf(Generate({}));
  PublishedOptions options;
  options.profile_length = 4;
  options.step = 5e-3;
  options.rounds = 60;
  const PublishedRun run = *RunPublished(split, options, 20, Execution());
  ASSERT_EQ(run.curve.size(), 4u);
  EXPECT_EQ(run.curve[1].round, 20u);
  EXPECT_LT(run.curve.back().train_rmse, run.curve.front().train_rmse / 2);
  EXPECT_EQ(run.curve.back().claimed_epsilon, 0);
  EXPECT_EQ(run.x.rows(), 60);
  EXPECT_EQ(run.theta.rows(), 300);
}

// One step from the same start, with noise and without: Theta differs by step
// * sigma * Z and X not at all.
TEST(RunPublished, NoisesThePeoplesGradientAlone) {
  const Split split = SplitOf(Generate({}));
  PublishedOptions options;
  options.rounds = 1;
  options.step = 1e-3;
  const PublishedRun exact = *RunPublished(split, options, 0, Execution());
  options.epsilon_per_round = 0.5;
  const PublishedRun noisy = *RunPublished(split, options, 0, Execution());
  EXPECT_EQ(noisy.x, exact.x);
  const ProfileMatrix noise = noisy.theta - exact.theta;
  const double expected = 1e-3 * PublishedStddev(4, 1, 0.5, 0.01);
  const double found =
      std::sqrt(noise.squaredNorm() / static_cast<double>(noise.size()));
  // 6000 squares of normals: a standard deviation of .9 % of the deviation;
  // 8 of them, and the seed is fixed.
  EXPECT_NEAR(found / expected, 1, 0.075);
}

TEST(RunPublished, EndsWhereNumbersAreNotFinite) {
  const Split split = SplitOf(Generate({}));
  PublishedOptions options;
  options.step = 10;
  const PublishedRun run = *RunPublished(split, options, 1, Execution());
  EXPECT_TRUE(run.diverged);
  EXPECT_LT(run.rounds, options.rounds);
  EXPECT_TRUE(run.x.allFinite() && run.theta.allFinite());
  EXPECT_TRUE(std::isfinite(run.curve.back().held_out_rmse));
}

TEST(RunPublished, StopsWhereTheErrorNoLongerFalls) {
  const Split split = SplitOf(Generate({}));
  PublishedOptions options;
  options.profile_length = 1;
  options.step = 5e-3;
  options.rounds = 5000;
  options.stop_when_converged = true;
  const PublishedRun run = *RunPublished(split, options, 0, Execution());
  EXPECT_GT(run.rounds, 10u);
  EXPECT_LT(run.rounds, 5000u);
}

TEST(RunPublished, IsAFunctionOfTheSeed) {
  const Split split = SplitOf(Generate({}));
  PublishedOptions options;
  options.rounds = 3;
  options.epsilon_per_round = 0.5;
  const ProfileMatrix first =
      RunPublished(split, options, 0, {.threads = 1})->theta;
  EXPECT_EQ(RunPublished(split, options, 0, {.threads = 4})->theta, first);
  options.seed = 2;
  EXPECT_NE(RunPublished(split, options, 0, {.threads = 1})->theta, first);
}

}  // namespace
}  // namespace dpnmf::curator::lab
