// A thousand million values. Labelled `slow`; run with
//
//   ctest --test-dir BUILD -L slow -R Noise
//
// False-alarm rate at most 1e-8 a verdict (four verdicts).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <vector>

#include "common/threads/parallel.h"
#include "tests/statistics/gaussian_reference.h"
#include "tests/statistics/goodness_of_fit.h"
#include "tests/statistics/noise_key_for_testing.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kSeed = 20160617;
constexpr int kSigmaBits = 30;

// Counts over cells of 2^-16 sigma, from -8 to 8 sigma; the outer two are open.
constexpr std::size_t kCells = 1 << 20;

std::vector<std::uint64_t> CountCells(std::size_t fills,
                                      std::size_t fill_size) {
  std::vector<std::uint64_t> counts(kCells);
  std::vector<std::int64_t> noise(fill_size);
  const NoiseKey key = NoiseKeyForTesting::FromSeed(kSeed);
  for (std::size_t fill = 0; fill < fills; ++fill) {
    FillGaussian(key, static_cast<std::uint32_t>(fill),
                 std::uint64_t{1} << kSigmaBits, 1, DefaultThreads(), noise);
    for (const std::int64_t value : noise) {
      const std::int64_t cell =
          (value >> (kSigmaBits - 16)) + std::int64_t{kCells / 2};
      ++counts[static_cast<std::size_t>(
          std::clamp<std::int64_t>(cell, 0, std::int64_t{kCells} - 1))];
    }
  }
  return counts;
}

TEST(NoiseSlow, OfAThousandMillionValuesHasTheNormalLawAndTails) {
  std::cout << "seed " << kSeed << "\n";
  constexpr std::size_t kFillSize = 1 << 22, kFills = 239;  // 1.002e9 values
  const double n = static_cast<double>(kFillSize) * kFills;
  const std::vector<std::uint64_t> counts = CountCells(kFills, kFillSize);
  double distance = 0;
  std::uint64_t up_to = 0;
  std::array<std::uint64_t, 3> beyond{};
  constexpr std::array<double, 3> kLimits{5.5, 6, 6.5};
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    const double left = (static_cast<double>(cell) - kCells / 2) * 0x1p-16;
    for (std::size_t i = 0; i < 3; ++i) {
      if (left >= kLimits[i] || left < -kLimits[i]) beyond[i] += counts[cell];
    }
    up_to += counts[cell];
    if (cell + 1 == kCells) break;
    // The last integer of the cell is 2^14 (cell + 1) - 1; rounding adds half a
    // step.
    const double right = left + 0x1p-16 - 0.5 * std::ldexp(1.0, -kSigmaBits);
    const double cdf = std::erfc(-right * M_SQRT1_2) / 2;
    distance =
        std::fmax(distance, std::abs(static_cast<double>(up_to) / n - cdf));
  }
  std::cout << "sqrt(n) D " << std::sqrt(n) * distance
            << ", beyond 5.5, 6, 6.5: " << beyond[0] << " " << beyond[1] << " "
            << beyond[2] << "\n";
  EXPECT_LE(std::sqrt(n) * distance,
            std::sqrt(std::log(2 / 1e-9) / 2));  // Massart
  EXPECT_TRUE(MatchesPoisson(beyond[0], n * kBeyond5_5));
  EXPECT_TRUE(MatchesPoisson(beyond[1], n * kBeyond6));
  EXPECT_TRUE(MatchesPoisson(beyond[2], n * kBeyond6_5));
}

}  // namespace
}  // namespace dpnmf::curator
