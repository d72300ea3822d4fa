// Bit-for-bit properties, and the branches that 64-bit digits never reach.
// Statistical verdicts here: false-alarm rate at most 1e-8 each, seeds printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

#include "common/crypto/sha256.h"
#include "curator/noise/noise_cells.h"
#include "curator/noise/noise_keystream.h"
#include "curator/noise/noise_sampler.h"
#include "tests/statistics/gaussian_reference.h"
#include "tests/statistics/goodness_of_fit.h"
#include "tests/statistics/noise_key_for_testing.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kSeed = 20160616;

std::vector<std::int64_t> Fill(const NoiseKey& key, std::uint32_t stream,
                               int threads, std::size_t size,
                               std::uint64_t numerator = 1 << 20,
                               std::uint64_t denominator = 3) {
  std::vector<std::int64_t> noise(size);
  FillGaussian(key, stream, numerator, denominator, threads, noise);
  return noise;
}

TEST(NoiseCells, BoundariesHaveTheDigitsOfTheSixtyDigitComputation) {
  for (const CellBoundaryReference& expected : kCellBoundaries) {
    const std::vector<BinaryFraction> boundaries =
        CellBoundaries(expected.cell_bits, 256);
    const BinaryFraction& actual =
        boundaries[static_cast<std::size_t>(expected.cell - 1)];
    EXPECT_EQ(actual,
              BinaryFraction(expected.words.begin(), expected.words.end()))
        << expected.cell_bits << " " << expected.cell;
  }
}

TEST(NoiseCells, LongerTablesContinueShorterOnes) {
  for (const int cell_bits : {0, 4}) {
    const std::vector<BinaryFraction> shorter = CellBoundaries(cell_bits, 256);
    const std::vector<BinaryFraction> longer =
        CellBoundaries(cell_bits, kMaxUniformBits);
    ASSERT_GT(longer.size(), shorter.size());
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      EXPECT_TRUE(
          std::equal(shorter[i].begin(), shorter[i].end(), longer[i].begin()));
    }
  }
}

// With sigma <= 2^50 a value stays below 38 * 2^50 < 2^56.
TEST(NoiseCells, EndBefore38Sigmas) {
  EXPECT_LE(CellBoundaries(4, kMaxUniformBits).size(), kMaxSigmas * 16u);
  EXPECT_LE(CellBoundaries(0, kMaxUniformBits).size(), kMaxSigmas * 1u);
}

// Another program, in Python and with exact rationals, drew these.
TEST(Noise, EqualsAnIndependentImplementationBitForBit) {
  std::array<std::uint8_t, 32> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(i);
  const NoiseKey key = NoiseKeyForTesting::FromBytes(bytes);
  for (const StreamReference& expected : StreamReferences()) {
    const std::vector<std::int64_t> noise =
        Fill(key, expected.stream, 1, static_cast<std::size_t>(expected.count),
             expected.numerator, expected.denominator);
    EXPECT_TRUE(std::equal(expected.first.begin(), expected.first.end(),
                           noise.begin()));
    const Digest digest =
        Sha256().AddBytes(std::as_bytes(std::span(noise))).Finish();
    EXPECT_EQ(HexOf(digest), expected.sha256);
  }
}

TEST(Noise, IsTheSameOnAnyNumberOfThreads) {
  const NoiseKey key = NoiseKeyForTesting::FromSeed(kSeed);
  const std::vector<std::int64_t> one = Fill(key, 5, 1, 100'001);
  for (const int threads : {2, 3, 4})
    EXPECT_EQ(Fill(key, 5, threads, 100'001), one);
}

TEST(Noise, OfAShorterFillIsAPrefix) {
  const NoiseKey key = NoiseKeyForTesting::FromSeed(kSeed);
  const std::vector<std::int64_t> full = Fill(key, 5, 1, 20'000);
  for (const std::size_t size : {0, 1, 4095, 4096, 4097, 19'999}) {
    const std::vector<std::int64_t> part = Fill(key, 5, 1, size);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), full.begin()));
  }
}

TEST(Noise, DiffersBetweenStreamsKeysAndChunks) {
  const NoiseKey key = NoiseKeyForTesting::FromSeed(kSeed);
  const std::vector<std::int64_t> noise = Fill(key, 0, 1, 2 * 4096);
  EXPECT_NE(Fill(key, 1, 1, 2 * 4096), noise);
  EXPECT_NE(Fill(key, std::uint32_t{1} << 31, 1, 2 * 4096), noise);
  EXPECT_NE(Fill(NoiseKeyForTesting::FromSeed(kSeed + 1), 0, 1, 2 * 4096),
            noise);
  EXPECT_FALSE(
      std::equal(noise.begin(), noise.begin() + 4096, noise.begin() + 4096));
}

// 2^-20 steps: anything but 0 lies beyond 2^19 sigma.
TEST(Noise, OfTheSmallestSigmaIsZero) {
  const NoiseKey key = NoiseKeyForTesting::FromSeed(kSeed);
  EXPECT_EQ(Fill(key, 0, 1, 10'000, 1, 1 << 20),
            std::vector<std::int64_t>(10'000, 0));
}

TEST(Noise, TakesUnreducedFractionsOfAnySize) {
  const NoiseKey key = NoiseKeyForTesting::FromSeed(kSeed);
  const std::uint64_t large = std::uint64_t{1} << 62;
  EXPECT_EQ(Fill(key, 0, 1, 10'000, 3 * large, large),
            Fill(key, 0, 1, 10'000, 3, 1));
  EXPECT_EQ(Fill(key, 0, 1, 10'000, large, large / 1024),
            Fill(key, 0, 1, 10'000, 1024, 1));
  EXPECT_EQ(Fill(key, 0, 1, 10'000, ~std::uint64_t{0}, ~std::uint64_t{0}),
            Fill(key, 0, 1, 10'000, 1, 1));
}

TEST(NoiseDeathTest, StopsOutsideTheRangeOfSigma) {
  const NoiseKey key = NoiseKeyForTesting::FromSeed(kSeed);
  const std::uint64_t limit = std::uint64_t{1} << 50;
  EXPECT_DEATH(Fill(key, 0, 1, 1, limit + 1, 1), "sigma lies outside");
  EXPECT_DEATH(Fill(key, 0, 1, 1, 1, (1 << 20) + 1), "sigma lies outside");
  EXPECT_DEATH(Fill(key, 0, 1, 1, 0, 1), "sigma lies outside");
  EXPECT_DEATH(Fill(key, 0, 1, 1, 1, 0), "sigma lies outside");
}

// AES-256 of the zero block under the zero key: NIST's known-answer tests
// (AESAVS).
TEST(KeyStream, IsAes256InCounterMode) {
  KeyStream stream(std::array<std::uint8_t, 32>{}, 0, 0);
  EXPECT_EQ(stream.Next(),
            0x898940a278c095dcu);  // dc95c078a2408989ad48a21492842087
  EXPECT_EQ(stream.Next(), 0x8720849214a248adu);
}

TEST(KeyStream, PutsStreamAndChunkInFrontOfTheBlockCounter) {
  const std::array<std::uint8_t, 32> key{9};
  std::vector<std::uint64_t> first_words;
  for (const std::uint32_t stream : {0u, 1u, 0x80000000u}) {
    for (const std::uint64_t chunk :
         {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 48) - 1}) {
      first_words.push_back(KeyStream(key, stream, chunk).Next());
    }
  }
  std::sort(first_words.begin(), first_words.end());
  EXPECT_EQ(std::adjacent_find(first_words.begin(), first_words.end()),
            first_words.end());
}

TEST(KeyStreamDeathTest, StopsBeyondTheLastChunk) {
  const std::array<std::uint8_t, 32> key{9};
  EXPECT_DEATH(KeyStream(key, 0, KeyStream::kMaxChunks), "more chunks");
}

// Narrow digits: the same law, with ties in every comparison.
template <typename Parameters>
class NoiseWithNarrowDigits : public testing::Test {};

template <int kDigits, int kCells>
struct Widths {
  static constexpr int kDigitBits = kDigits;
  static constexpr int kCellBits = kCells;
};

// bits are drawn as well: a whole word may be looked at.
using AllWidths =
    testing::Types<Widths<1, 0>, Widths<2, 0>, Widths<8, 0>, Widths<64, 0>,
                   Widths<1, 4>, Widths<4, 4>, Widths<8, 4>, Widths<16, 4>,
                   Widths<32, 4>, Widths<64, 4>, Widths<8, 2>>;
TYPED_TEST_SUITE(NoiseWithNarrowDigits, AllWidths);

TYPED_TEST(NoiseWithNarrowDigits,
           Theorem6FillsEachCellWithItsExactProbability) {
  std::cout << "seed " << kSeed << "\n";
  const NoiseKey key = NoiseKeyForTesting::FromSeed(kSeed);
  std::uint32_t stream = 100;
  for (const GaussianCase& expected : GaussianCases()) {
    KeyStream source(key.bytes(), stream++, 0);
    GaussianSampler<TypeParam::kDigitBits, TypeParam::kCellBits, KeyStream>
        sampler(Rounding(expected.numerator, expected.denominator), source);
    std::vector<std::int64_t> noise(400'000);
    for (std::int64_t& value : noise) value = sampler.Next();
    EXPECT_TRUE(MatchesCells(noise, expected)) << expected.name;
    if (expected.numerator / expected.denominator >= 64) {
      EXPECT_TRUE(HasUniformLowBits(noise)) << expected.name;
    }
  }
}

// N4 in cells that a test would never reach: also beyond 16 sigma, where it
// takes two trials. P(accept) = integral over x of exp(-x (2 j + x) / 512).
TEST(NoiseSampler, AcceptsOffsetsOfFarCellsWithTheirProbability) {
  std::cout << "seed " << kSeed << "\n";
  KeyStream source(NoiseKeyForTesting::FromSeed(kSeed).bytes(), 200, 0);
  const Rounding rounding(1, 1);
  GaussianSampler<64, 4, KeyStream> sampler(rounding, source);
  for (const std::uint64_t cell :
       {0, 1, 100, 144, 255, 256, 300, 511, 512, 600}) {
    double p = 0;  // midpoint rule; its error is below 1e-7
    for (int i = 0; i < 4000; ++i) {
      const double x = (i + 0.5) / 4000;
      p += std::exp(-x * (2 * static_cast<double>(cell) + x) / 512) / 4000;
    }
    std::uint64_t accepted = 0, digit = 0;
    for (int i = 0; i < 400'000; ++i) {
      accepted += sampler.AcceptFreshOffset(cell, &digit) ? 1 : 0;
    }
    EXPECT_TRUE(MatchesBinomial(accepted, 400'000, p)) << cell;
  }
}

// The same, as a law of x: sixteen equal parts of a cell.
TEST(NoiseSampler, LeavesTheRightOffsetsInFarCells) {
  std::cout << "seed " << kSeed << "\n";
  KeyStream source(NoiseKeyForTesting::FromSeed(kSeed).bytes(), 201, 0);
  const Rounding rounding(1, 1);
  GaussianSampler<64, 4, KeyStream> sampler(rounding, source);
  for (const std::uint64_t cell : {0, 16, 255, 300, 600}) {
    std::array<double, 16> probability{};
    double total = 0;
    for (int i = 0; i < 16'000; ++i) {
      const double x = (i + 0.5) / 16'000;
      const double w = std::exp(-x * (2 * static_cast<double>(cell) + x) / 512);
      probability[static_cast<std::size_t>(i / 1000)] += w;
      total += w;
    }
    for (double& p : probability) p /= total;
    std::array<std::uint64_t, 16> counts{};
    for (int i = 0; i < 400'000; ++i) {
      std::uint64_t digit = 0;
      if (sampler.AcceptFreshOffset(cell, &digit)) ++counts[digit >> 60];
    }
    EXPECT_TRUE(ChiSquare(counts, probability, kChiSquareCritical15)) << cell;
  }
}

// The uniform that chooses the cell, forced into its last 2^-40: beyond 7
// sigma.
class LastCorner {
 public:
  explicit LastCorner(KeyStream& source) : source_(source) {}
  std::uint64_t Next() { return ~(source_.Next() >> 40); }

 private:
  KeyStream& source_;
};

TEST(NoiseSampler, FindsCellsBeyondSevenSigmasWithTheirProbability) {
  std::cout << "seed " << kSeed << "\n";
  KeyStream stream(NoiseKeyForTesting::FromSeed(kSeed).bytes(), 202, 0);
  LastCorner source(stream);
  LazyUniform<64> u;
  std::vector<std::uint64_t> counts(21);
  const auto& cells = CellTable<64, 4>::Get();
  constexpr std::uint64_t kFirst = 116;  // 7.25 sigma: wholly inside the corner
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint64_t cell = cells.DrawCell(u, source);
    ASSERT_GE(cell, std::uint64_t{110});
    if (cell >= kFirst) ++counts[std::min<std::uint64_t>(cell - kFirst, 20)];
  }
  std::vector<double> probability(21);
  double total = 0;
  for (std::uint64_t cell = kFirst; cell < 640; ++cell) {
    const double h_j = static_cast<double>(cell) / 16;
    const double weight = std::exp(-h_j * h_j / 2 + 26);
    probability[std::min<std::uint64_t>(cell - kFirst, 20)] += weight;
    total += weight;
  }
  for (double& p : probability) p /= total;
  EXPECT_TRUE(ChiSquare(counts, probability, 92));  // 20 degrees: 1e-10 at 89.9
}

// A source that ties with a boundary for 5 words: the table of 256 digits ends,
// a longer one is computed.
TEST(NoiseSampler, ContinuesATieBeyondTheStoredDigits) {
  struct Script {
    BinaryFraction words;
    std::size_t next = 0;
    std::uint64_t Next() { return words[next++]; }
  };
  const BinaryFraction boundary = CellBoundaries(4, 512)[9];
  for (const int change : {-1, 1}) {
    Script script{boundary};
    script.words[5] +=
        static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
    LazyUniform<64> u;
    const std::uint64_t cell = CellTable<64, 4>::Get().DrawCell(u, script);
    EXPECT_EQ(cell, change < 0 ? 9u : 10u);
    EXPECT_EQ(script.next, 6u);
  }
}

// sigma = 3 steps: sigma y = 3 (2 + x) / 16 is 1/2 at x = 2/3 = 0.101010..., so
// two digits of the pattern leave the question open and the third decides.
TEST(Rounding, ComparesAsManyDigitsOfXAsItTakes) {
  struct Script {
    std::vector<std::uint64_t> words;
    std::size_t next = 0;
    std::uint64_t Next() { return words[next++]; }
  };
  constexpr std::uint64_t kPattern = 0xaaaaaaaaaaaaaaaa;
  const Rounding three(3, 1);
  for (const std::uint64_t rounded : {0u, 1u}) {
    Script script{{kPattern, kPattern, kPattern - 1 + 2 * rounded}};
    LazyUniform<64> x;
    x.Draw(script);
    EXPECT_EQ((three.Round<64, 4>(2, x, script)), rounded);
    EXPECT_EQ(script.next, 3u);
  }
}

// sigma = 1/3 step: sigma y = 1/2 at cell 24, x = 0.
TEST(Rounding, SplitsAtABoundaryBetweenTwoCells) {
  struct Constant {
    std::uint64_t word;
    std::uint64_t Next() { return word; }
  };
  Constant low{0}, high{~std::uint64_t{0}};
  const Rounding third(1, 3);
  LazyUniform<64> x;
  x.Draw(low);
  EXPECT_EQ((third.Round<64, 4>(24, x, low)), 1u);
  x.Draw(high);
  EXPECT_EQ((third.Round<64, 4>(23, x, low)), 0u);
}

}  // namespace
}  // namespace dpnmf::curator
