// The bounds against known values, and against plays whose mu is known.
#include "tests/attacks/attack_statistics.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

TEST(AttackStatistics, BoundsOfNoSuccessHaveTheirClosedForm) {
  // (1 - p)^n = miss.
  for (const double miss : {0.05, 5e-8}) {
    for (const std::uint64_t n : {1, 10, 100'000}) {
      const double exact = -std::expm1(std::log(miss) / static_cast<double>(n));
      EXPECT_NEAR(LargestProbability(0, n, miss) / exact, 1, 1e-9);
      EXPECT_NEAR(SmallestProbability(n, n, miss), 1 - exact, 1e-12);
    }
  }
  EXPECT_EQ(LargestProbability(7, 7, 0.05), 1);
}

// Beta quantiles from 50-digit arithmetic.
TEST(AttackStatistics, BoundsAreThoseOfClopperAndPearson) {
  EXPECT_NEAR(LargestProbability(3, 10, 0.05), 0.606624216105413, 1e-10);
  EXPECT_NEAR(LargestProbability(230'000, 524'288, 5e-8), 0.442343866728755,
              1e-10);
  EXPECT_NEAR(SmallestProbability(95, 100, 0.025), 0.887165088894537, 1e-10);
}

TEST(AttackStatistics, NormalQuantileUndoesTheDistributionFunction) {
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(NormalQuantile(5e-8), -5.326723886384096, 1e-9);
}

// The two examples printed in the paper (Appendix D and section 7).
TEST(AttackStatistics, OneRunEpsilonIsThePapers) {
  EXPECT_NEAR(OneRunEpsilon(1000, 100, 75, 1e-4, 0.05), 0.673, 1e-3);
  EXPECT_NEAR(OneRunEpsilon(100'000, 1510, 1439, 1e-5, 0.05), 2.675, 1e-3);
}

// Each of 400 audits of N(b mu, 1) is above the truth with probability at most
// 5 %: more than 50 of them with one below 1e-8 (binomial tail). At the same
// time no bound is empty.
TEST(AttackStatistics, MuLowerBoundIsBelowTheTruthAsOftenAsItSays) {
  constexpr double kMu = 0.7;
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  int above = 0;
  for (int audit = 0; audit < 400; ++audit) {
    Guesses guesses{2000, 0, 2000, 0};
    for (int play = 0; play < 2000; ++play) {
      guesses.said_1_in_0 += normal(random) > kMu / 2 ? 1 : 0;
      guesses.said_0_in_1 += normal(random) + kMu > kMu / 2 ? 0 : 1;
    }
    const double bound = MuLowerBound(guesses, 0.05);
    above += bound > kMu ? 1 : 0;
    EXPECT_GT(bound, kMu / 2);
  }
  EXPECT_LE(above, 50);
}

}  // namespace
}  // namespace dpnmf::curator
