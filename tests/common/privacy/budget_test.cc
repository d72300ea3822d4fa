#include "common/privacy/budget.h"

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "common/base/digits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/privacy/test_values.h"

namespace dpnmf {
namespace {

using ::testing::HasSubstr;

constexpr double kDelta = 1e-5;

MuSquared CostOf(Conversion conversion, double epsilon, double delta) {
  return LargestCost(conversion, epsilon, delta).value();
}

// Returns true if `shown`, copied from a screen into --epsilon, fits in `room`.
bool FitsAsTyped(const std::string& shown, MuSquared room,
                 Conversion conversion, double delta) {
  const double epsilon = std::strtod(shown.c_str(), nullptr);
  return epsilon == 0 || CostOf(conversion, epsilon, delta) <= room;
}

TEST(Budget, SpentIsNeverBelowTheEpsilonOfWhatIsCharged) {
  for (const Conversion conversion : kConversions) {
    const Budget budget = {.cap = CostOf(conversion, 8, kDelta),
                           .charged = CostOf(conversion, 4, kDelta),
                           .reserved = CostOf(conversion, 1, kDelta)};
    const double spent = Spent(budget, conversion, kDelta).value();
    EXPECT_NEAR(spent, 4, 1e-9);
    EXPECT_EQ(FormatUp(spent), "4");
    // Costs add; epsilons do not.
    const double both = SpentAndReserved(budget, conversion, kDelta).value();
    EXPECT_GT(both, spent);
    EXPECT_LT(both, 5);
  }
}

TEST(Budget, TheLargestRunIsNotTheDifferenceOfTwoEpsilons) {
  Budget budget = {.cap = CostOf(Conversion::kRdp, 8, kDelta),
                   .charged = CostOf(Conversion::kRdp, 4, kDelta)};
  // epsilon(rho) = rho + 2 sqrt(rho ln 1e5), so that sqrt(rho) =
  // sqrt(ln 1e5 + epsilon) - sqrt(ln 1e5).
  const double rho_8 =
      std::pow(std::sqrt(std::log(1e5) + 8) - std::sqrt(std::log(1e5)), 2);
  const double rho_4 =
      std::pow(std::sqrt(std::log(1e5) + 4) - std::sqrt(std::log(1e5)), 2);
  const double rho = rho_8 - rho_4;
  const double expected = rho + 2 * std::sqrt(rho * std::log(1e5));
  EXPECT_NEAR(LargestRun(RoomOf(budget), Conversion::kRdp, kDelta).value(),
              expected, 1e-8);
  EXPECT_GT(expected, 6);
}

TEST(Budget, AWholeBudgetAllowsTheOperatorsOwnNumber) {
  for (const Conversion conversion : kConversions) {
    for (const double epsilon :
         {0.1, 0.3, 1.0, 2.5, 4.0, 8.0, 12.3456, 1000.0}) {
      for (const double delta : {1e-3, 1e-5, 1e-9}) {
        const Budget budget = {.cap = CostOf(conversion, epsilon, delta)};
        EXPECT_EQ(LargestRun(RoomOf(budget), conversion, delta).value(),
                  epsilon);
      }
    }
  }
}

TEST(Budget, ALargestRunThatIsTypedBackIsAccepted) {
  constexpr unsigned kSeed = 20261122;
  std::mt19937_64 random(kSeed);
  const auto uniform = [&random](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  for (const Conversion conversion : kConversions) {
    for (int i = 0; i < 60; ++i) {
      const double delta = std::exp(uniform(-30, -3));
      const MuSquared room =
          MuSquared::RoundDown(std::exp(uniform(-25, 6))).value();
      const double largest = LargestRun(room, conversion, delta).value();
      ASSERT_GE(largest, 0);
      for (const int digits : {2, 4, 17}) {
        EXPECT_TRUE(
            FitsAsTyped(FormatDown(largest, digits), room, conversion, delta))
            << NameOf(conversion) << " " << digits << " digits of " << largest
            << ", delta " << delta << ", seed " << kSeed;
      }
      // It is the largest, too.
      if (largest > 0 && largest < 999) {
        const double mu = std::sqrt(room.ToDouble());
        const double more = largest + 1e-4 * std::max(largest, mu) + 1e-9;
        EXPECT_GT(CostOf(conversion, more, delta), room) << largest;
      }
    }
  }
}

TEST(Budget, NoRunFitsWhereNothingIsLeft) {
  for (const Conversion conversion : kConversions) {
    const MuSquared cap = CostOf(conversion, 1, kDelta);
    EXPECT_EQ(RoomOf({.cap = cap, .charged = cap}), MuSquared());
    EXPECT_EQ(LargestRun(MuSquared(), conversion, kDelta).value(), 0);
  }
}

TEST(Budget, NumbersThatDoNotFitTogetherLeaveNoRoom) {
  const MuSquared one = MuSquared::RoundDown(1).value();
  const MuSquared huge = MuSquared::FromUnits((Uint128{1} << 120) - 1);
  EXPECT_EQ(RoomOf({.cap = one, .charged = huge, .reserved = huge}),
            MuSquared());
  EXPECT_EQ(Committed({.cap = one, .charged = huge, .reserved = huge}), huge);
  EXPECT_FALSE(
      SpentAndReserved({.cap = one, .charged = huge}, Conversion::kRdp, kDelta)
          .ok());
  EXPECT_FALSE(LargestRun(one, Conversion::kRdp, 0).ok());
}

TEST(Budget, ARefusalRoundsUpWhatIsSpentAndDownWhatMayBeAsked) {
  const MuSquared cap = CostOf(Conversion::kRdp, 1, kDelta);
  for (std::uint32_t part = 2; part < 200; ++part) {
    const Budget budget = {.cap = cap, .charged = MuSquared::Divide(cap, part)};
    const MuSquared room = RoomOf(budget);
    const std::string text = OverBudgetSentence(
        "population `people`", cap, budget, room, Conversion::kRdp, kDelta);
    const auto number_after = [&text](const std::string& word) {
      return std::strtod(text.c_str() + text.find(word) + word.size(), nullptr);
    };
    EXPECT_GE(number_after(", spent "),
              Spent(budget, Conversion::kRdp, kDelta).value());
    const double largest = number_after("largest run ");
    EXPECT_LE(CostOf(Conversion::kRdp, largest, kDelta), room) << text;
    EXPECT_GT(largest, 0.6) << text;
  }
}

TEST(Budget, ARefusalSaysWhatToDoWhenNothingIsLeft) {
  const MuSquared cap = CostOf(Conversion::kRdp, 1, kDelta);
  const auto sentence = [&](const Budget& budget) {
    return OverBudgetSentence("x", cap, budget, RoomOf(budget),
                              Conversion::kRdp, kDelta);
  };
  EXPECT_THAT(sentence({.cap = cap, .charged = cap}),
              HasSubstr("the cap is used up"));
  EXPECT_THAT(sentence({.cap = cap, .reserved = cap}),
              HasSubstr("wait until open runs end and return"));
  EXPECT_THAT(OverBudgetSentence("x", cap, {.cap = cap}, MuSquared(),
                                 Conversion::kRdp, kDelta),
              HasSubstr("this identity has used up its own limit"));
}

// A rest of rounding is not offered.
TEST(Budget, AnOwnLimitThatIsUsedUpIsNamedWithWhomToAsk) {
  const MuSquared cap = CostOf(Conversion::kRdp, 1, kDelta);
  const auto sentence = [&](MuSquared left) {
    const Budget own = {.cap = cap,
                        .charged = MuSquared::Subtract(cap, left).value()};
    return OverBudgetSentence("`dns:analyst` on population `people`", cap, own,
                              RoomOf(own), Conversion::kRdp, kDelta,
                              /*is_own_limit=*/true);
  };
  for (const MuSquared left : {MuSquared(), MuSquared::FromUnits(7)})
    EXPECT_EQ(sentence(left),
              "The run exceeds the own limit of `dns:analyst` on population "
              "`people`: asked epsilon 1, spent 1, spent and reserved 1, "
              "largest run 0, limit 1 (rdp at delta 1e-05); this identity has "
              "used up its own limit; ask the curator's operator, who can "
              "raise it (`budgets` in the allow-list).");
  EXPECT_THAT(sentence(MuSquared::Divide(cap, 2)),
              HasSubstr("; ask for at most the largest run."));
}

TEST(Budget, ASmallCapIsNotUsedUpFromTheStart) {
  const MuSquared cap = CostOf(Conversion::kRdp, 5e-4, kDelta);
  EXPECT_FALSE(IsUsedUp(5e-4, cap, Conversion::kRdp, kDelta));
  EXPECT_TRUE(IsUsedUp(4e-7, cap, Conversion::kRdp, kDelta));
  const Budget budget = {.cap = cap};
  EXPECT_THAT(
      OverBudgetSentence("x", CostOf(Conversion::kRdp, 1, kDelta), budget,
                         RoomOf(budget), Conversion::kRdp, kDelta),
      HasSubstr("; ask for at most the largest run."));
}

}  // namespace
}  // namespace dpnmf
