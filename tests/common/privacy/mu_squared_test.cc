#include "common/privacy/mu_squared.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/common/privacy/test_values.h"

namespace dpnmf {
namespace {

constexpr Uint128 kLimit = Uint128{1} << 120;

MuSquared Units(Uint128 units) { return MuSquared::FromUnits(units); }

// Any number of bits up to `bits`, so that small and large values both occur.
Uint128 RandomUnits(std::mt19937_64& random, int bits) {
  const Uint128 wide = (static_cast<Uint128>(random()) << 64) | random();
  const int kept = 1 + static_cast<int>(random() % bits);
  return wide >> (128 - kept);
}

TEST(MuSquared, CountsUnitsOfTwoToTheMinusSixty) {
  EXPECT_EQ(MuSquared::RoundUp(1)->units(), Uint128{1} << 60);
  EXPECT_EQ(MuSquared::RoundUp(0x1p-60)->units(), 1u);
  EXPECT_EQ(MuSquared::RoundUp(0)->units(), 0u);
  EXPECT_EQ(MuSquared().units(), 0u);
}

TEST(MuSquared, RoundsFractionsOfAUnitToTheNamedSide) {
  EXPECT_EQ(MuSquared::RoundUp(0x1p-61)->units(), 1u);
  EXPECT_EQ(MuSquared::RoundDown(0x1p-61)->units(), 0u);
  EXPECT_EQ(MuSquared::RoundUp(0x1.8p-60)->units(), 2u);
  EXPECT_EQ(MuSquared::RoundDown(0x1.8p-60)->units(), 1u);
  EXPECT_EQ(
      MuSquared::RoundUp(std::numeric_limits<double>::denorm_min())->units(),
      1u);
}

TEST(MuSquared, RefusesWhatIsNoCost) {
  for (const double value :
       {-1.0, -1e-300, 0x1p60, 1e300, kInfinity, -kInfinity, kNan}) {
    EXPECT_FALSE(MuSquared::RoundUp(value).has_value()) << value;
    EXPECT_FALSE(MuSquared::RoundDown(value).has_value()) << value;
  }
}

TEST(MuSquared, TakesTheLargestDoubleBelowItsLimit) {
  const double largest = std::nextafter(0x1p60, 0);
  EXPECT_EQ(MuSquared::RoundUp(largest)->units(), kLimit - (Uint128{1} << 67));
}

TEST(MuSquared, BracketsEveryDoubleByLessThanAUnit) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::ldexp(static_cast<double>(random() >> 11),
                                    -static_cast<int>(random() % 140));
    if (value >= 0x1p60) continue;
    const auto up = MuSquared::RoundUp(value),
               down = MuSquared::RoundDown(value);
    ASSERT_TRUE(up.has_value() && down.has_value());
    ASSERT_LE(up->units() - down->units(), 1u);
    ASSERT_GE(up->ToDoubleUp(), value);
    ASSERT_LE(down->ToDouble(), value);
  }
}

TEST(MuSquared, ReadsUpwardNeverBelowTheCost) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const Uint128 units = RandomUnits(random, 120);
    const double up = Units(units).ToDoubleUp();
    ASSERT_GE(static_cast<Uint128>(std::ldexp(up, 60)), units);
    // ... and the next double down is below it.
    const double down = std::nextafter(up, 0);
    ASSERT_TRUE(units == 0 ||
                static_cast<Uint128>(std::ldexp(down, 60)) < units);
    ASSERT_LE(std::abs(Units(units).ToDouble() - up), up * 0x1p-52);
  }
}

TEST(MuSquared, ReadsTheWholeRangeOfItsIntegers) {
  EXPECT_EQ(Units(~Uint128{0}).ToDoubleUp(), 0x1p68);
  EXPECT_EQ(Units((Uint128{1} << 53) + 1).ToDouble(), 0x1p-7);
  EXPECT_GT(Units((Uint128{1} << 53) + 1).ToDoubleUp(), 0x1p-7);
}

TEST(MuSquared, ReturnsFromText) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    const MuSquared cost = Units(RandomUnits(random, 120));
    ASSERT_EQ(MuSquared::FromUnitsText(cost.UnitsText()), cost);
  }
  EXPECT_EQ(Units(0).UnitsText(), "0");
  EXPECT_EQ(Units(Uint128{1} << 60).UnitsText(), "1152921504606846976");
  EXPECT_EQ(Units(kLimit - 1).UnitsText(),
            "1329227995784915872903807060280344575");
}

TEST(MuSquared, RefusesTextThatIsNotACanonicalInteger) {
  for (const char* text :
       {"", " ", "+1", "-1", "01", "00", "1 ", " 1", "1.0", "1e3", "0x1", "a",
        "1_0",
        "1329227995784915872903807060280344576",    // 2^120
        "340282366920938463463374607431768211456",  // 2^128
        "99999999999999999999999999999999999999999999999999999999"}) {
    EXPECT_FALSE(MuSquared::FromUnitsText(text).has_value()) << text;
  }
  EXPECT_FALSE(
      MuSquared::FromUnitsText(std::string_view("1\0", 2)).has_value());
}

TEST(MuSquared, AddsAndSubtractsExactly) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 5000; ++i) {
    const MuSquared a = Units(RandomUnits(random, 119)),
                    b = Units(RandomUnits(random, 119));
    const auto sum = MuSquared::Add(a, b);
    ASSERT_EQ(sum->units(), a.units() + b.units());
    ASSERT_EQ(MuSquared::Add(b, a), sum);
    ASSERT_EQ(MuSquared::Subtract(*sum, b), a);
  }
}

TEST(MuSquared, RefusesSumsDifferencesAndProductsThatLeaveTheRange) {
  const MuSquared most = Units(kLimit - 1);
  EXPECT_EQ(MuSquared::Add(most, Units(0)), most);
  EXPECT_FALSE(MuSquared::Add(most, Units(1)).has_value());
  EXPECT_FALSE(MuSquared::Add(Units(~Uint128{0}), Units(1)).has_value());
  EXPECT_FALSE(MuSquared::Subtract(Units(1), Units(2)).has_value());
  EXPECT_EQ(MuSquared::Multiply(most, 1), most);
  EXPECT_EQ(MuSquared::Multiply(most, 0), Units(0));
  EXPECT_FALSE(MuSquared::Multiply(most, 2).has_value());
  // Would come out small if the product were reduced mod 2^128.
  EXPECT_FALSE(
      MuSquared::Multiply(Units(Uint128{1} << 112), 1u << 16).has_value());
  EXPECT_FALSE(MuSquared::Multiply(Units(Uint128{1} << 119), 2).has_value());
  EXPECT_TRUE(MuSquared::Multiply(Units(Uint128{1} << 118), 2).has_value());
}

TEST(MuSquared, DividesDownAndMultipliesBackToNoMore) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 5000; ++i) {
    const MuSquared whole = Units(RandomUnits(random, 120));
    const auto count = static_cast<std::uint32_t>(1 + random() % 0xffffffffu);
    const auto back =
        MuSquared::Multiply(MuSquared::Divide(whole, count), count);
    ASSERT_TRUE(back.has_value());
    ASSERT_LE(*back, whole);
    ASSERT_LT(whole.units() - back->units(), count);
  }
}

}  // namespace
}  // namespace dpnmf
