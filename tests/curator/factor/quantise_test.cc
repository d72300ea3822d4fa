#include "curator/factor/kernels/quantise.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/privacy/run_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

using testing::Each;
using testing::ElementsAre;

LatticeBounds Bounds(double bound, int bits) {
  return *LatticeBoundsOf(bound, bits);
}

// Runs a vector through the strip kernel in every lane of two strips (beside
// company that is far too long, and then beside company that is not) and
// through the column kernel, of every instruction set; expects the same and
// returns it.
template <typename Strip, typename Column>
std::vector<double> Through(const Strip& strip_kernel,
                            const Column& column_kernel,
                            const LatticeBounds& bounds,
                            const std::vector<double>& x) {
  std::vector<double> column;
  const KernelTables runnable = RunnableKernels();
  for (int table = runnable.count - 1; table >= 0; --table) {
    UseKernels(runnable.tables[table]);
    column = x;
    column_kernel(bounds, std::span(column));
    constexpr int kStrips = 3, kUsers = kStrips * kStripUsers;
    const int rows = static_cast<int>(x.size()), strip_rows = rows + 1;
    for (const double company : {1e300, 0x1p-9}) {
      for (int user = 0; user < kUsers; ++user) {
        std::vector<double> strips(kStrips * StripSize(strip_rows), company);
        double* const own = strips.data() + LaneOf(user, strip_rows);
        for (int i = 0; i < rows; ++i) own[i * kStripUsers] = x[i];
        strip_kernel(bounds, rows, strip_rows, kStrips, strips.data());
        for (int i = 0; i < rows; ++i) {
          EXPECT_EQ(own[i * kStripUsers], column[i])
              << i << ' ' << company << ' ' << runnable.tables[table]->name;
        }
        EXPECT_EQ(strips.back(), company);  // past the rows that count
      }
    }
  }
  UseKernels(nullptr);
  return column;
}

std::vector<double> Quantised(const LatticeBounds& bounds,
                              const std::vector<double>& x) {
  return Through(QuantiseStrips, QuantiseColumn, bounds, x);
}

std::vector<double> Gated(const LatticeBounds& bounds,
                          const std::vector<double>& x) {
  return Through(GateStrips, GateColumn, bounds, x);
}

TEST(Gate, LetsThroughWhatIsWithinBothBounds) {
  const LatticeBounds bounds = Bounds(1, 4);  // m = 16, squares to 256
  EXPECT_THAT(Gated(bounds, {16, 0, 0}), ElementsAre(16, 0, 0));
  EXPECT_THAT(Gated(bounds, {0, 0, 0}), ElementsAre(0, 0, 0));
  EXPECT_THAT(Gated(bounds, {8, 8, 8, 8}), ElementsAre(8, 8, 8, 8));
}

TEST(Gate, TurnsEverythingElseIntoZero) {
  const LatticeBounds bounds = Bounds(1, 4);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> refused = {
      {17, 0, 0},           {16, 1, 0},
      {0, -1, 0},           {0.5, 0, 0},
      {nan, 0, 0},          {infinity, 0, 0},
      {-infinity, 0, 0},    {1, 4294967296.0, 0},
      {1, 4294967297.0, 0}, {1, 4503599627370496.0, 0},
      {1, 1e300, 0},        {12, 12, 12}};
  for (const auto& x : refused) EXPECT_THAT(Gated(bounds, x), Each(0.0));
}

TEST(Gate, CountsSquaresWithoutOverflow) {
  // 40 entries of 2^31 have squares that sum to 40 * 2^62 = 0 modulo 2^64.
  const LatticeBounds bounds = Bounds(1, 31);
  EXPECT_THAT(Gated(bounds, std::vector<double>(40, 0x1p31)), Each(0.0));
}

// Integers whose squares sum to exactly `total`: greedy, a few terms.
std::vector<double> SquaresThatSumTo(std::uint64_t total,
                                     std::mt19937_64* random) {
  std::vector<double> terms;
  while (total > 0) {
    std::uint64_t root =
        static_cast<std::uint64_t>(std::sqrt(static_cast<double>(total)));
    while (root * root > total) --root;
    if (terms.size() < 4) root -= (*random)() % (root / 2 + 1);
    terms.push_back(static_cast<double>(root));
    total -= root * root;
  }
  return terms;
}

TEST(Quantise, TheGateStopsWhatClippingInFloatingPointLetsThrough) {
  // Lengths above the bound by less than a rounding error: as doubles their
  // squares sum to 1, and only the integers tell. With 31 bits their squares
  // need more than 64 bits, with 29 they do not.
  std::mt19937_64 random(5);
  for (const int bits : {31, 29}) {
    const LatticeBounds bounds = Bounds(1, bits);
    bool stopped = false;
    for (std::uint64_t excess = 0; excess < 100; ++excess) {
      const std::vector<double> integers =
          SquaresThatSumTo((std::uint64_t{1} << 2 * bits) + excess, &random);
      std::vector<double> x = integers;
      for (double& value : x) value = std::ldexp(value, -bits);
      const std::vector<double> result = Quantised(bounds, x);
      unsigned __int128 squares = 0;
      for (const double k : result) {
        squares +=
            static_cast<unsigned __int128>(k) * static_cast<std::uint64_t>(k);
      }
      ASSERT_TRUE(squares <= bounds.norm_bound) << excess;
      stopped = stopped || squares == 0;
      if (excess == 0) {
        EXPECT_EQ(result, integers);
      }
    }
    EXPECT_TRUE(stopped) << bits;
  }
}

TEST(Quantise, RoundsTowardZeroAndKeepsShortVectors) {
  const LatticeBounds bounds = Bounds(1, 3);
  EXPECT_THAT(Quantised(bounds, {0.5, 0.124, 0.1251, 0.7}),
              ElementsAre(4, 0, 1, 5));
  EXPECT_THAT(Quantised(bounds, {1, 0}), ElementsAre(8, 0));
}

TEST(Quantise, ScalesLongVectors) {
  const LatticeBounds bounds = Bounds(1, 20);
  const std::vector<double> k = Quantised(bounds, {3e10, 4e10});
  EXPECT_NEAR(k[0], 0.6 * 0x1p20, 1);
  EXPECT_NEAR(k[1], 0.8 * 0x1p20, 1);
}

TEST(Quantise, ReadsNegativeAndNonFiniteEntriesAsZero) {
  const LatticeBounds bounds = Bounds(1, 3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(Quantised(bounds, {-1, nan, infinity, -infinity, 0.5, -0.0}),
              ElementsAre(0, 0, 0, 0, 4, 0));
}

TEST(Quantise, AVectorWhoseSquareOverflowsAddsZero) {
  EXPECT_THAT(Quantised(Bounds(1, 20), {1e200, 1}), Each(0.0));
}

TEST(Quantise, IsFloorForAllBitsUpToTheLimit) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const int bits : {-3, 0, 1, 8, 20, 31}) {
    const double bound = bits < 0 ? 1000 : 1;
    const LatticeBounds bounds = Bounds(bound, bits);
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<double> x(5);
      for (double& value : x) value = uniform(random) * 0.4 * bound;
      const std::vector<double> k = Quantised(bounds, x);
      for (int i = 0; i < 5; ++i)
        ASSERT_EQ(k[i], std::floor(std::ldexp(x[i], bits)));
    }
  }
}

TEST(Quantise, NeverPassesTheBoundsForRandomVectors) {
  std::mt19937_64 random(9);
  std::lognormal_distribution<double> entry(0, 3);
  for (int trial = 0; trial < 3000; ++trial) {
    const double bound = std::ldexp(
        1.0 + static_cast<double>(random() % 1000) / 999, trial % 5 - 2);
    const LatticeBounds bounds = Bounds(bound, trial % 28);
    std::vector<double> x(1 + trial % 9);
    for (double& value : x) value = entry(random);
    unsigned __int128 squares = 0;
    double largest = 0;
    for (const double k : Quantised(bounds, x)) {
      squares +=
          static_cast<unsigned __int128>(k) * static_cast<std::uint64_t>(k);
      largest = std::max(largest, k);
    }
    ASSERT_TRUE(squares <= NormBoundSteps(bound, trial % 28));
    ASSERT_LE(largest,
              static_cast<double>(LargestEntrySteps(bound, trial % 28)));
    if (trial % 28 > 12) {
      ASSERT_GT(largest, 0);  // the gate passed it
    }
  }
}

TEST(LatticeBounds, RefusesWhatDoesNotFitTheKernels) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [bound, bits] : std::vector<std::pair<double, int>>{
           {1, 32}, {2, 31}, {0, 8}, {-1, 8}, {nan, 8}, {1, 5000}}) {
    EXPECT_EQ(ReasonCode(LatticeBoundsOf(bound, bits).status()),
              "bits-out-of-range");
  }
  EXPECT_TRUE(LatticeBoundsOf(1, 31).ok());
}

}  // namespace
}  // namespace dpnmf::curator
