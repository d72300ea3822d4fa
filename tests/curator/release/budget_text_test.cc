#include "curator/release/budget_text.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "tests/curator/release/release_fixtures.h"

namespace dpnmf::curator {
namespace {

using testing::HasSubstr;

TEST(BudgetText, PrintsFourSignificantDigits) {
  EXPECT_EQ(FourDigits(1), "1");
  EXPECT_EQ(FourDigits(0.12345), "0.1235");
  EXPECT_EQ(FourDigits(1e-5), "1e-05");
  EXPECT_EQ(FourDigitsDown(0.12349), "0.1234");
  EXPECT_EQ(FourDigitsDown(2), "2");
  EXPECT_EQ(FourDigitsDown(0), "0");
}

TEST(BudgetText, RoundsDownWhereItPromises) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-9, 3);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::pow(10, exponent(random));
    const double shown = std::strtod(FourDigitsDown(value).c_str(), nullptr);
    ASSERT_LE(shown, value);
    ASSERT_GT(shown, value * (1 - 2e-3));
  }
}

// epsilon is a concave function of the cost that starts at 0: whoever is
// refused has asked for more than is left, also as epsilons.
TEST(BudgetText, WhatIsRefusedIsMoreThanWhatIsLeftAsEpsilons) {
  std::mt19937_64 random(6);
  for (const Conversion conversion :
       {Conversion::kRdp, Conversion::kRdpOptimal, Conversion::kGaussian}) {
    for (int i = 0; i < 300; ++i) {
      const double cap =
          std::exp(std::uniform_real_distribution(-9.0, 4.0)(random));
      const double used =
          cap * std::uniform_real_distribution(0.0, 1.0)(random);
      const double asked = (cap - used) * (1 + 1e-6);
      const double left = Epsilon(conversion, cap, 1e-6).value() -
                          Epsilon(conversion, used, 1e-6).value();
      EXPECT_GE(Epsilon(conversion, asked, 1e-6).value(), left * (1 - 1e-9));
    }
  }
}

TEST(BudgetText, SaysWhatToDoWhenNothingIsLeft) {
  const PopulationPolicy policy = PolicyFor("people");
  const MuSquared cap = CapOf(policy);
  EXPECT_THAT(OverBudgetSentence("x", policy, {cap, cap, MuSquared(), cap}),
              HasSubstr("the cap is used up"));
  EXPECT_THAT(OverBudgetSentence("x", policy, {cap, MuSquared(), cap, cap}),
              HasSubstr("wait until open runs end and return"));
}

}  // namespace
}  // namespace dpnmf::curator
