#include "common/moments/aim.h"

#include <cmath>
#include <random>

#include "common/base/error.h"
#include "common/nmf/draws.h"
#include "common/privacy/aim.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd SymmetricNoiseOf(int size, double stddev, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  MatrixXd noise(size, size);
  for (int j = 0; j < size; ++j) {
    for (int i = 0; i < j; ++i)
      noise(i, j) = noise(j, i) = stddev * normal(random);
    noise(j, j) = std::sqrt(2.0) * stddev * normal(random);
  }
  return noise;
}

// Columns of length 1: a common direction and a little of two others.
MatrixXd Columns(int rows, int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  MatrixXd v(rows, count);
  for (int n = 0; n < count; ++n) {
    const double a = uniform(random), b = uniform(random);
    for (int i = 0; i < rows; ++i)
      v(i, n) = 1 + (i % 2 == 0 ? 0.5 * a : 0.1) + (i % 3 == 0 ? 0.5 * b : 0);
    v.col(n).normalize();
  }
  return v;
}

MatrixXd MomentOf(const MatrixXd& v) {
  const MatrixXd g = v * v.transpose() / static_cast<double>(v.cols());
  return (g + g.transpose()) / 2;
}

// The second release without its clip: s^2 (I - U U') G (I - U U').
MatrixXd Left(const MatrixXd& g, const Aim& aim) {
  const MatrixXd take = MatrixXd::Identity(g.rows(), g.cols()) -
                        aim.directions * aim.directions.transpose();
  return aim.scale * aim.scale * take * g * take;
}

constexpr double kStddev = 2e-3;

NoisedMoments FirstOf(const MatrixXd& g, std::uint64_t seed = 1) {
  return {g + SymmetricNoiseOf(static_cast<int>(g.rows()), kStddev, seed),
          kStddev, std::sqrt(2.0) * kStddev, nullptr};
}

TEST(AimOf, ScalesWhatIsLeftTowardTheBound) {
  const MatrixXd v = Columns(30, 400, 1);
  const Aim aim = AimOf(FirstOf(MomentOf(v)), 1, 5).value();
  ASSERT_GE(aim.directions.cols(), 1);
  ASSERT_LE(aim.directions.cols(), 5);
  EXPECT_LE(aim.directions.cwiseAbs().maxCoeff(), kLargestAimEntry);
  const MatrixXd z =
      aim.scale * (v - aim.directions * (aim.directions.transpose() * v));
  // About 1 / 0.8 on average, so that the room is used.
  const double mean_square = z.colwise().squaredNorm().mean();
  EXPECT_NEAR(std::sqrt(mean_square), 1.25, 0.4);
  EXPECT_GT(aim.scale, 1.5);
  // Mean square of the columns outside the directions.
  const MatrixXd q = aim.directions.colwise().normalized();
  EXPECT_NEAR(aim.rest,
              (v - q * (q.transpose() * v)).colwise().squaredNorm().mean(),
              0.03);
  // The same of columns of another length.
  NoisedMoments longer = FirstOf(MomentOf(v));
  longer.g *= 9;
  longer.stddev_off *= 9;
  longer.stddev_diagonal *= 9;
  const Aim other = AimOf(longer, 3, 5).value();
  EXPECT_NEAR(other.scale, aim.scale, 1e-6);
  EXPECT_NEAR((other.directions - aim.directions).norm(), 0, 1e-6);
}

TEST(AimOf, IsDefinedWhereNothingIsSeen) {
  const Aim aim =
      AimOf({MatrixXd::Zero(6, 6), 1, std::sqrt(2.0), nullptr}, 1, 3).value();
  EXPECT_EQ(aim.directions.cols(), 1);
  EXPECT_TRUE(aim.directions.allFinite());
  // v once more: the two are one release of the noise that both have together.
  EXPECT_EQ(aim.directions.norm(), 0);
  EXPECT_EQ(aim.scale, 1);
  const MatrixXd g = MomentOf(Columns(6, 100, 4));
  const NoisedMoments both =
      WithAimed(FirstOf(g, 7), aim, g + SymmetricNoiseOf(6, kStddev, 8),
                kStddev)
          .value();
  EXPECT_NEAR(both.stddev_off, kStddev / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(
      (both.g - (FirstOf(g, 7).g + g + SymmetricNoiseOf(6, kStddev, 8)) / 2)
          .norm(),
      0, 1e-12);
}

// One direction with an eigenvalue of `of_edge` times half the edge of the
// noise: the release's eigenvector has the squared cosine 1 - of_edge^-2 to it.
NoisedMoments OneDirection(double of_edge) {
  constexpr int kRows = 300;
  const VectorXd q = VectorXd::Constant(kRows, 1 / std::sqrt(1.0 * kRows));
  const double eigenvalue = of_edge * kStddev * std::sqrt(1.0 * kRows);
  return FirstOf(eigenvalue * q * q.transpose(), 3);
}

TEST(AimOf, TakesOutWhatTheFirstKnowsByHalfAndNoLess) {
  const NoisedMoments seen = OneDirection(1.3);
  ASSERT_EQ(DenoiseMoments(seen)->directions(), 1);
  const Aim aim = AimOf(seen, 1, 3).value();
  EXPECT_EQ(aim.directions.cols(), 1);
  EXPECT_EQ(aim.directions.norm(), 0);
  EXPECT_EQ(aim.scale, 1);
  const NoisedMoments known = OneDirection(1.6);
  ASSERT_EQ(DenoiseMoments(known)->directions(), 1);
  EXPECT_NEAR(AimOf(known, 1, 3)->directions.norm(), std::sqrt(0.7), 1e-6);
}

TEST(WithAimed, GivesTheMomentBackWhereThereIsNoNoise) {
  const MatrixXd g = MomentOf(Columns(20, 100, 2));
  const NoisedMoments first = FirstOf(g);
  Aim aim = AimOf(first, 1, 3).value();
  aim.rest = 0;  // nothing of z is cut here
  // An exact second release outweighs the first.
  const NoisedMoments both = WithAimed(first, aim, Left(g, aim), 1e-12).value();
  EXPECT_LE((both.g - g).norm(), 1e-6);
  EXPECT_EQ(both.g, both.g.transpose());
}

// The mean squared error in the rest is that of two independent measurements,
// to 5 standard errors of 200 draws of (19 * 20) / 2 entries (false alarm below
// 1e-6).
TEST(WithAimed, HasTheNoiseThatItSays) {
  constexpr int kSize = 20, kDraws = 200;
  const MatrixXd g = MomentOf(Columns(kSize, 100, 3));
  Aim aim;
  aim.directions = std::sqrt(0.5) * VectorXd::Ones(kSize).normalized();
  aim.scale = 2;
  const MatrixXd rest = MatrixXd::Identity(kSize, kSize) -
                        MatrixXd::Constant(kSize, kSize, 1.0 / kSize);
  double squares = 0, says = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto seed = static_cast<std::uint64_t>(2 * draw + 1);
    const NoisedMoments both =
        WithAimed(FirstOf(g, seed), aim,
                  Left(g, aim) + SymmetricNoiseOf(kSize, kStddev, seed + 1),
                  kStddev)
            .value();
    squares += (rest * (both.g - g) * rest).squaredNorm();
    says = both.stddev_off;
  }
  EXPECT_NEAR(says, kStddev / std::sqrt(1 + 16.0), 1e-12);
  // |E|^2 of a symmetric n x n noise is n (n + 1) sigma^2 on average.
  const double expected = (kSize - 1) * kSize * says * says;
  EXPECT_NEAR(squares / kDraws / expected, 1,
              5 * std::sqrt(2.0 / (190.0 * kDraws)));
}

// Along the directions it has more of the first, and says how much: of 200
// draws of both.g - g and of DrawNoise the mean squares of (19 * 200) entries
// at (q, rest) and 200 at (q, q), to 5 standard errors (false alarm below 1e-6
// each).
TEST(WithAimed, SaysHowMuchWiderTheNoiseIsAlongTheDirections) {
  constexpr int kSize = 20, kDraws = 200;
  const MatrixXd g = MomentOf(Columns(kSize, 100, 3));
  Aim aim;
  const VectorXd q = VectorXd::Ones(kSize).normalized();
  aim.directions = std::sqrt(0.5) * q;
  aim.scale = 2;
  Draws draws(5);
  // Mean squares of the release's noise, and of noise that is drawn like it.
  double cross[2] = {0, 0}, inner[2] = {0, 0}, says = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto seed = static_cast<std::uint64_t>(2 * draw + 1);
    const NoisedMoments both =
        WithAimed(FirstOf(g, seed), aim,
                  Left(g, aim) + SymmetricNoiseOf(kSize, kStddev, seed + 1),
                  kStddev)
            .value();
    says = both.stddev_off;
    ASSERT_NE(both.wider, nullptr);
    // v1 / 17, v1 / 5 and v1 / 2: b = 1/2, s^2 = 4.
    EXPECT_NEAR(both.wider->cross(0), std::sqrt(17.0 / 5), 1e-9);
    EXPECT_NEAR(both.wider->inner(0, 0), std::sqrt(17.0 / 2), 1e-9);
    const MatrixXd noises[] = {both.g - g, DrawNoise(both, &draws)};
    for (const int of : {0, 1}) {
      const VectorXd image = noises[of] * q;
      const double along = q.dot(image);
      inner[of] += along * along / kDraws;
      cross[of] += (image - along * q).squaredNorm() / (kSize - 1) / kDraws;
    }
  }
  for (const int of : {0, 1}) {
    SCOPED_TRACE(of);
    EXPECT_NEAR(cross[of] / (17.0 / 5 * says * says), 1,
                5 * std::sqrt(2.0 / ((kSize - 1) * kDraws)));
    // Twice the variance: the entry is on the diagonal.
    EXPECT_NEAR(inner[of] / (2 * 17.0 / 2 * says * says), 1,
                5 * std::sqrt(2.0 / kDraws));
  }
}

// Half of what z had was cut away: it is made up for.
TEST(WithAimed, MakesUpForWhatWasCut) {
  const MatrixXd g = MomentOf(Columns(20, 100, 2));
  const NoisedMoments first = FirstOf(g);
  Aim aim = AimOf(first, 1, 3).value();
  const MatrixXd q = aim.directions.colwise().normalized();
  const MatrixXd out = MatrixXd::Identity(20, 20) - q * q.transpose();
  aim.rest = (out * g * out).trace();
  const NoisedMoments both =
      WithAimed(first, aim, 0.5 * Left(g, aim), 1e-12).value();
  EXPECT_LE((both.g - g).norm(), 1e-6);
}

TEST(WithAimed, RefusesAnotherShape) {
  const NoisedMoments first = FirstOf(MomentOf(Columns(8, 30, 4)));
  const Aim aim = AimOf(first, 1, 2).value();
  EXPECT_EQ(ReasonCode(WithAimed(first, aim, MatrixXd::Zero(7, 7), 1).status()),
            "moments-shape-invalid");
  EXPECT_EQ(ReasonCode(WithAimed(first, {MatrixXd::Zero(5, 1), 1, 0},
                                 MatrixXd::Zero(8, 8), 1)
                           .status()),
            "moments-shape-invalid");
}

}  // namespace
}  // namespace dpnmf
