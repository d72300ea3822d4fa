// The tests tested: weakened noise of each kind must fail the verdict that is
// there for it, at the sample sizes that the tests of the product use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "curator/noise/noise.h"
#include "tests/statistics/gaussian_reference.h"
#include "tests/statistics/goodness_of_fit.h"
#include "tests/statistics/noise_key_for_testing.h"

namespace dpnmf::curator {
namespace {

constexpr std::size_t kSize = 4'000'000;
constexpr double kSigma = 0x1p30;

std::vector<std::int64_t> Sound(std::uint64_t numerator,
                                std::uint64_t denominator,
                                std::uint32_t stream = 0,
                                std::size_t size = kSize) {
  std::vector<std::int64_t> noise(size);
  FillGaussian(NoiseKeyForTesting::FromSeed(7), stream, numerator, denominator,
               2, noise);
  return noise;
}

const GaussianCase& CaseOf(const std::string& name) {
  return *std::find_if(
      GaussianCases().begin(), GaussianCases().end(),
      [&](const GaussianCase& one) { return one.name == name; });
}

TEST(WeakTwin, WithTailsCutAt4SigmasIsSeen) {
  std::vector<std::int64_t> noise = Sound(kTwo30, 1, 0, 20'000'000);
  std::erase_if(noise, [](std::int64_t value) {
    return std::abs(value) > 4 * static_cast<std::int64_t>(kTwo30);
  });
  EXPECT_FALSE(
      MatchesPoisson(CountBeyond(noise, 4.5, kSigma), 20e6 * kBeyond4_5));
  EXPECT_FALSE(HasNormalMoments(noise, kSigma));
}

TEST(WeakTwin, WithSigmaHalfAPercentShortIsSeen) {
  const std::vector<std::int64_t> noise = Sound(kTwo30 / 1000 * 995, 1);
  EXPECT_FALSE(MatchesCells(noise, CaseOf("2^30")));
  EXPECT_FALSE(HasNormalMoments(noise, kSigma));
}

TEST(WeakTwin, SummedFromTwelveUniformsIsSeen) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform;
  std::vector<std::int64_t> noise(kSize);
  for (std::int64_t& value : noise) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform(random);
    value = std::llround(sum * kSigma);
  }
  EXPECT_FALSE(MatchesCells(noise, CaseOf("2^30")));
  EXPECT_FALSE(MatchesDistribution(noise, kSigma));
}

TEST(WeakTwin, FromSinglePrecisionIsSeenInItsLastBits) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  std::vector<std::int64_t> noise(kSize);
  for (std::int64_t& value : noise) {
    value = std::llround(static_cast<double>(normal(random)) * 0x1p45);
  }
  EXPECT_FALSE(HasUniformLowBits(noise));
}

TEST(WeakTwin, RoundedTowardZeroIsSeenAtSmallSigma) {
  std::vector<std::int64_t> noise = Sound(3 * kTwo30, 1);
  for (std::int64_t& value : noise) value /= static_cast<std::int64_t>(kTwo30);
  EXPECT_FALSE(MatchesCells(noise, CaseOf("3")));
}

TEST(WeakTwin, DiscreteGaussianIsNotTheRoundedOne) {
  std::mt19937_64 random(7);
  std::vector<double> weights;
  for (int i = -3; i <= 3; ++i)
    weights.push_back(std::exp(-i * i / (2 * 0.09)));
  std::discrete_distribution<int> discrete(weights.begin(), weights.end());
  std::vector<std::int64_t> noise(kSize);
  for (std::int64_t& value : noise) value = discrete(random) - 3;
  EXPECT_FALSE(MatchesCells(noise, CaseOf("3/10")));
}

TEST(WeakTwin, WithOneSignALittleLikelierIsSeen) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> noise = Sound(kTwo30, 1);
  std::uint64_t above = 0;
  for (std::int64_t& value : noise) {
    if (value < 0 && random() % 100 == 0) value = -value;
    above += value > 0 ? 1 : 0;
  }
  EXPECT_FALSE(MatchesBinomial(above, kSize, 0.5));
  EXPECT_FALSE(MatchesCells(noise, CaseOf("2^30")));
}

TEST(WeakTwin, WithAStreamUsedTwiceIsSeen) {
  std::vector<std::int64_t> noise = Sound(kTwo30, 1, 0, 4096);
  for (int chunk = 1; chunk < 50; ++chunk) {
    noise.insert(noise.end(), noise.begin(), noise.begin() + 4096);
  }
  EXPECT_FALSE(IsUncorrelated(noise, std::span(noise).subspan(4096), kSigma));
  const std::vector<std::int64_t> one = Sound(kTwo30, 1, 3, 100'000);
  EXPECT_FALSE(IsUncorrelated(one, one, kSigma));
}

TEST(WeakTwin, WithMagnitudesThatLeanOnTheirNeighboursIsSeen) {
  std::vector<std::int64_t> noise = Sound(kTwo30, 1);
  const std::vector<std::int64_t> other = Sound(kTwo30, 1, 1);
  // Signs stay independent; one in fifty values borrows its neighbour's size.
  for (std::size_t i = 1; i < noise.size(); i += 50) {
    noise[i] = other[i] < 0 ? -std::abs(noise[i - 1]) : std::abs(noise[i - 1]);
  }
  EXPECT_FALSE(IsUncorrelated(noise, std::span(noise).subspan(1), kSigma));
}

}  // namespace
}  // namespace dpnmf::curator
