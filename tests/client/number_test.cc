#include "client/render/number.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace dpnmf::cli {
namespace {

TEST(Number, HasFourSignificantDigits) {
  EXPECT_EQ(FormatNumber(0), "0");
  EXPECT_EQ(FormatNumber(-0.0), "0");
  EXPECT_EQ(FormatNumber(12), "12");
  EXPECT_EQ(FormatNumber(0.012345), "0.01235");
  EXPECT_EQ(FormatNumber(1.23456e-7), "1.235e-07");
  EXPECT_EQ(FormatNumber(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Number, RoundsUpWhatIsSpent) {
  EXPECT_EQ(FormatUp(0), "0");
  EXPECT_EQ(FormatUp(4), "4");
  EXPECT_EQ(FormatUp(0.1), "0.1");
  EXPECT_EQ(FormatUp(1e-5), "1e-05");
  EXPECT_EQ(FormatUp(1.0001), "1.001");
  EXPECT_EQ(FormatUp(0.99999), "1");
  EXPECT_EQ(FormatUp(9.9999e-7), "1e-06");
  EXPECT_EQ(FormatUp(-1.23456), "-1.234");
  EXPECT_EQ(FormatUp(std::nan("")), "nan");
}

TEST(Number, RoundsDownWhatIsLeft) {
  EXPECT_EQ(FormatDown(3.58799), "3.587");
  EXPECT_EQ(FormatDown(0.3), "0.3");
  EXPECT_EQ(FormatDown(-0.00012345), "-0.0001235");
}

TEST(Number, RoundedTextLiesOnTheRightSideAndNear) {
  constexpr unsigned kSeed = 20260301;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> exponent(-12, 12);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::pow(10.0, exponent(random));
    const double up = std::strtod(FormatUp(value).c_str(), nullptr);
    const double down = std::strtod(FormatDown(value).c_str(), nullptr);
    const double exact = std::strtod(FormatExactUp(value).c_str(), nullptr);
    ASSERT_GE(up, value);
    ASSERT_LE(up, value * 1.0011);
    ASSERT_LE(down, value);
    ASSERT_GE(down, value * 0.9989);
    ASSERT_GE(exact, value);
    ASSERT_LE(exact, value * (1 + 1.1e-11));
  }
}

TEST(Number, DurationsUseTheUnitThatFits) {
  EXPECT_EQ(FormatDuration(0.423), "0.42 s");
  EXPECT_EQ(FormatDuration(8.4), "8 s");
  EXPECT_EQ(FormatDuration(59.7), "1 min 0 s");
  EXPECT_EQ(FormatDuration(200), "3 min 20 s");
  EXPECT_EQ(FormatDuration(7500), "2 h 5 min");
  EXPECT_EQ(FormatDuration(std::nan("")), "-");
}

TEST(Number, MomentsAreUtc) {
  EXPECT_EQ(FormatMoment(1'700'000'000), "2023-11-14T22:13:20Z");
  EXPECT_EQ(FormatMoment(0), "-");
}

}  // namespace
}  // namespace dpnmf::cli
