#include "common/ratings/profiles.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Eigen::VectorXi;

MatrixXd Normals(Index rows, Index columns, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  MatrixXd matrix(rows, columns);
  for (double& value : matrix.reshaped()) value = normal(engine);
  return matrix;
}

TEST(PriorCovarianceTest, WithoutNoiseItIsWhatWasReleased) {
  const MatrixXd root = Normals(5, 5, 1);
  const MatrixXd moment =
      root * root.transpose() / 5 + 0.3 * MatrixXd::Identity(5, 5);
  const VectorXi group = VectorXi::LinSpaced(5, 0, 4);
  EXPECT_LT((PriorCovariance(moment, 0, group) - moment).norm(),
            1e-10 * moment.norm());
}

TEST(PriorCovarianceTest, UnderMuchNoiseThePriorStays) {
  MatrixXd noise = Normals(20, 20, 2) * 10;
  noise = (noise + noise.transpose()).eval() / std::sqrt(2.0);
  const MatrixXd covariance = PriorCovariance(
      MatrixXd::Identity(20, 20) + noise, 10, VectorXi::Zero(20));
  EXPECT_LT((covariance - MatrixXd::Identity(20, 20)).norm(), 0.2);
}

TEST(PriorCovarianceTest, AGroupIsMovedTogetherUnderSomeNoise) {
  VectorXi group(20);
  group << VectorXi::Zero(10), VectorXi::Ones(10);
  MatrixXd moment = MatrixXd::Identity(20, 20);
  moment.diagonal().head(10).array() += 0.5;
  const MatrixXd covariance = PriorCovariance(moment, 0.2, group);
  EXPECT_GT(covariance(0, 0), 1.4);
  EXPECT_NEAR(covariance(15, 15), 1, 1e-12);
}

// Many entries as small as their noise, of no few directions: what they show
// together is kept.
TEST(PriorCovarianceTest, SmallEntriesAreKeptAsFarAsTheyRiseAboveTheNoise) {
  constexpr double kNoise = 0.1;
  MatrixXd entries = 0.1 * Normals(40, 40, 8),
           noise = kNoise * Normals(40, 40, 9);
  entries.triangularView<Eigen::StrictlyLower>() = entries.transpose();
  noise.triangularView<Eigen::StrictlyLower>() = noise.transpose();
  entries.diagonal().setZero();
  noise.diagonal() *= std::sqrt(2.0);
  const MatrixXd truth = 2 * MatrixXd::Identity(40, 40) + entries;
  VectorXi group = VectorXi::Zero(40);
  group.tail(25).setOnes();
  const MatrixXd covariance = PriorCovariance(truth + noise, kNoise, group);
  EXPECT_LT((covariance - truth).norm(), 0.78 * entries.norm());
  // Entries of another size in another place do not move the shrinking here.
  MatrixXd moment = truth + noise;
  moment.bottomRightCorner(25, 25).setIdentity();
  moment.bottomRightCorner(25, 25) *= 2;
  const MatrixXd other = PriorCovariance(moment, kNoise, group);
  EXPECT_LT(
      (other.topLeftCorner(15, 15) - covariance.topLeftCorner(15, 15)).norm(),
      1e-9);
}

TEST(ResidualFactorsTest, PlantedFactorsAreFound) {
  const MatrixXd truth = 0.4 * Normals(80, 2, 3);
  const VectorXd counts = VectorXd::LinSpaced(80, 60, 5);
  const MatrixXd c = 0.02 * counts * counts.transpose();
  MatrixXd s = c.cwiseProduct(truth * truth.transpose());
  s.diagonal() += 7 * counts;  // not of the factors
  const MatrixXd found = ResidualFactors(s, 0.05, c, 0.01, 6);
  ASSERT_EQ(found.cols(), 2);
  const MatrixXd kernel = truth * truth.transpose();
  EXPECT_LT((found * found.transpose() - kernel).norm(), 0.15 * kernel.norm());
}

TEST(ResidualFactorsTest, NoiseAloneHasNone) {
  MatrixXd noise = Normals(80, 80, 4);
  noise = (noise + noise.transpose()).eval() / std::sqrt(2.0);
  EXPECT_EQ(
      ResidualFactors(noise, 1, MatrixXd::Constant(80, 80, 5), 0.1, 6).cols(),
      0);
}

TEST(CorrectionsTest, PlantedCorrectionsAreFoundAndNothingElse) {
  const Index size = 300;
  const VectorXd counts = VectorXd::LinSpaced(size, 10, 200);
  MatrixXd a(3, 3);
  a << 0.25, 0.02, 0, 0.02, 0.2, 0.03, 0, 0.03, 0.1;
  MatrixXd truth = 0.3 * Normals(size, 3, 5);
  truth.col(2).setZero();
  const MatrixXd b = counts.asDiagonal() * truth * a + Normals(size, 3, 6);
  const Corrections found = EstimateCorrections(
      b, 1, a, 1e-4, counts, VectorXd::Constant(size, 0.2), 1e-6);
  EXPECT_LT((found.mean - truth).norm(), 0.3 * truth.norm());
  EXPECT_LT(found.mean.col(2).norm(), 0.1 * truth.norm());
  EXPECT_LT(found.first_variance.maxCoeff(), 0.3);
  EXPECT_GT(found.first_variance.minCoeff(), 0);

  const Corrections none =
      EstimateCorrections(10 * Normals(size, 3, 7), 10, a, 1e-4, counts,
                          VectorXd::Constant(size, 0.2), 1e-6);
  EXPECT_LT(none.mean.norm(), 0.25 * truth.norm());
}

TEST(CorrectionsTest, AMomentWithinItsNoiseCorrectsNothing) {
  const Corrections found = EstimateCorrections(
      Normals(50, 2, 8), 1, MatrixXd::Constant(2, 2, 0.1), 1,
      VectorXd::Constant(50, 20), VectorXd::Ones(50), 0.1);
  EXPECT_EQ(found.mean.norm(), 0);
}

}  // namespace
}  // namespace dpnmf
