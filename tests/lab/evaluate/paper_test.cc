#include "lab/evaluate/paper.h"

#include <cmath>

#include "common/privacy/accounting.h"
#include "gtest/gtest.h"

namespace dpnmf::curator::lab {
namespace {

TEST(Paper, SensitivitiesAreThoseOfThePaper) {
  EXPECT_EQ(PaperSensitivityOfA(1000), 0.002);
  EXPECT_EQ(PaperSensitivityOfB(1000, /*outliers=*/false), 0.002);
  EXPECT_EQ(PaperSensitivityOfB(1000, /*outliers=*/true), 0.004);
}

// sensitivity sqrt(2 log(1.25/delta)) / epsilon, by hand:
// 2 log(1.25e5) = 23.4721369..., its root 4.84480515...
TEST(Paper, CalibrationEqualsTheFormula) {
  EXPECT_NEAR(PaperStddev(1, 1, 1e-5), 4.844805262605, 1e-9);
  EXPECT_NEAR(PaperStddev(0.002, 0.5, 1e-5), 4 * 0.001 * 4.844805262605, 1e-12);
}

// Two Gaussian mechanisms a round, of mu = sensitivity / stddev each.
TEST(Paper, OverallEpsilonIsTheLedgersConversionOfItsRounds) {
  for (const double epsilon : {0.01, 0.3, 1.0, 7.0}) {
    for (const std::uint32_t rounds : {1u, 10u, 500u}) {
      for (const double delta : {1e-3, 1e-5, 1e-9}) {
        const double mu = 1 / PaperStddev(1, epsilon, delta);
        const auto expected = EpsilonRdp(rounds * 2 * mu * mu, delta);
        ASSERT_TRUE(expected.ok());
        EXPECT_NEAR(PaperOverallEpsilon(epsilon, rounds, delta),
                    expected->epsilon, 1e-9 * expected->epsilon);
      }
    }
  }
}

TEST(Paper, EpsilonPerRoundIsTheInverse) {
  for (const double overall : {1e-3, 1.0, 4.0, 300.0}) {
    for (const std::uint32_t rounds : {1u, 30u, 1000u}) {
      EXPECT_NEAR(
          PaperOverallEpsilon(PaperEpsilonPerRound(overall, rounds, 1e-5),
                              rounds, 1e-5),
          overall, 1e-12 * overall);
    }
  }
}

}  // namespace
}  // namespace dpnmf::curator::lab
