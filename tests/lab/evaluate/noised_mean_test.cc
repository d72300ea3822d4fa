#include "lab/evaluate/noised_mean.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace dpnmf::curator::lab {
namespace {

constexpr int kRows = 400;
constexpr double kUsers = 1000, kStep = 1e-6;
constexpr std::uint64_t kSeed = 20261121;

// The variance of n normal draws over the wanted one: chi squared over n. The
// bound is five and a half standard deviations of sqrt(2/n): a correct sum
// fails with probability below 1e-7 (and with this seed does not).
void ExpectStddev(double sum_of_squares, double draws, double wanted) {
  const double ratio = sum_of_squares / draws / (wanted * wanted);
  EXPECT_NEAR(ratio, 1, 5.5 * std::sqrt(2 / draws)) << "seed " << kSeed;
}

TEST(NoisedMean, AddsNoiseOfTheStddevOfTheMean) {
  SeededNoise noise(kSeed);
  const NoisedMean mean(kUsers, &noise);
  const std::vector<std::int64_t> sums(kRows * kRows, 0);
  const Eigen::MatrixXd m = mean.Full(sums, kRows, kRows, kStep, 0.03);
  ExpectStddev(m.squaredNorm(), kRows * kRows, 0.03);
  EXPECT_NEAR(m.mean(), 0, 5.5 * 0.03 / kRows);
}

TEST(NoisedMean, MirrorsTheTriangleAndTellsTheDiagonalApart) {
  SeededNoise noise(kSeed);
  const NoisedMean mean(kUsers, &noise);
  const std::vector<std::int64_t> sums(kRows * (kRows + 1) / 2, 0);
  const Eigen::MatrixXd m = mean.Symmetric(sums, kRows, kStep, 0.03, 0.3);
  EXPECT_EQ(m, m.transpose());
  const double diagonal = m.diagonal().squaredNorm();
  ExpectStddev(diagonal, kRows, 0.3);
  ExpectStddev((m.squaredNorm() - diagonal) / 2, kRows * (kRows - 1) / 2, 0.03);
}

TEST(NoisedMean, IsTheMeanWithoutNoise) {
  const NoisedMean mean(4, nullptr);
  EXPECT_EQ(mean.Of(10, 0.5, 0), 1.25);
  EXPECT_EQ(mean.Symmetric({4, 8, 12}, 2, 1, 0, 0),
            (Eigen::Matrix2d() << 1, 2, 2, 3).finished());
}

TEST(SeededNoise, RepeatsAndDiffersByPurpose) {
  SeededNoise a(SeedFor(1, "a")), again(SeedFor(1, "a")), b(SeedFor(1, "b"));
  const double first = a.Normal();
  EXPECT_EQ(first, again.Normal());
  EXPECT_NE(first, b.Normal());
  EXPECT_NE(SeedFor(1, "a"), SeedFor(2, "a"));
}

}  // namespace
}  // namespace dpnmf::curator::lab
