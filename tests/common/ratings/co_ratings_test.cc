#include "common/ratings/co_ratings.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd SymmetricNoise(Index size, double stddev, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, stddev);
  MatrixXd noise(size, size);
  for (Index j = 0; j < size; ++j)
    for (Index i = 0; i <= j; ++i)
      noise(i, j) = noise(j, i) =
          (i == j ? std::sqrt(2.0) : 1.0) * normal(engine);
  return noise;
}

TEST(SpikesTest, TheNoisesOwnDirectionsAreNone) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    EXPECT_EQ(SpikesOf(SymmetricNoise(200, 3, seed), 3, 50).values.size(), 0);
  }
}

TEST(SpikesTest, ADirectionAboveTheNoiseHasItsOwnSize) {
  const VectorXd direction = VectorXd::Constant(200, 1 / std::sqrt(200.0));
  const double truth = 150;  // the edge is 85
  const Spikes spikes = SpikesOf(
      truth * direction * direction.transpose() + SymmetricNoise(200, 3, 4), 3,
      50);
  ASSERT_EQ(spikes.values.size(), 1);
  EXPECT_NEAR(spikes.values(0), truth, 15);
  EXPECT_LT(spikes.shrunk(0), spikes.values(0));
  EXPECT_GT(std::abs(spikes.vectors.col(0).dot(direction)), 0.9);
}

struct PlantedTaste {
  VectorXd counts;
  MatrixXd y, features;
  NoisedCoRatings co_ratings;
};

// Two columns of y: the first is a public feature, the second is hidden.
PlantedTaste PlantTaste(Index size, Index rows, double stddev) {
  std::mt19937_64 engine(11);
  std::normal_distribution<double> normal;
  PlantedTaste planted{
      VectorXd(size), MatrixXd(size, 2), MatrixXd(size, 1), {}};
  for (Index i = 0; i < size; ++i) {
    planted.counts(i) = 40 * std::exp(-3.0 * double(i) / double(size));
    planted.y.row(i) << (normal(engine) > 0 ? 0.6 : -0.6), 0.4 * normal(engine);
  }
  const VectorXd p = planted.counts / planted.counts.sum();
  planted.y.rowwise() -= (p.transpose() * planted.y).eval();
  planted.features = planted.y.leftCols(1);
  for (Index i = 0; i < rows; ++i) planted.co_ratings.rows.push_back(i);
  const MatrixXd y = planted.y.topRows(rows);
  const VectorXd c = planted.counts.head(rows);
  planted.co_ratings.c =
      0.01 * (c * c.transpose())
                 .cwiseProduct(((y * y.transpose()).array() + 1).matrix()) +
      SymmetricNoise(rows, stddev, 12);
  planted.co_ratings.stddev = stddev;
  return planted;
}

MatrixXd Kernel(const MatrixXd& y) { return y * y.transpose(); }

void ExpectFound(const PlantedTaste& planted) {
  const CoRatingModel model =
      FitCoRatings(planted.co_ratings, planted.counts, planted.features, 16);
  EXPECT_NEAR(model.scale, 0.01, 0.001);
  EXPECT_LT((Kernel(model.y) - Kernel(planted.y)).norm(),
            0.1 * Kernel(planted.y).norm());
}

TEST(CoRatingsTest, WithoutNoiseTheModelIsFound) {
  ExpectFound(PlantTaste(120, 120, 1e-6));
}

TEST(CoRatingsTest, WhatAFeatureExplainsReachesItemsThatWereNotNamed) {
  const PlantedTaste planted = PlantTaste(200, 80, 0.3);
  const CoRatingModel model =
      FitCoRatings(planted.co_ratings, planted.counts, planted.features, 16);
  ASSERT_GE(model.y.cols(), 1);
  const MatrixXd found = Kernel(model.y.bottomRows(100)),
                 truth = Kernel(planted.features.bottomRows(100));
  EXPECT_GT(found.cwiseProduct(truth).sum() / (found.norm() * truth.norm()),
            0.9);
}

TEST(CoRatingsTest, NoiseAloneTeachesNothing) {
  PlantedTaste planted = PlantTaste(60, 60, 1);
  planted.co_ratings.c = SymmetricNoise(60, 1e3, 13);
  planted.co_ratings.stddev = 1e3;
  const CoRatingModel model =
      FitCoRatings(planted.co_ratings, planted.counts, planted.features, 16);
  EXPECT_EQ(model.y.cols(), 0);
  EXPECT_EQ(model.scale, 0);
  VectorXd second, stddev;
  EXPECT_FALSE(CountsFromCoRatings(planted.co_ratings, planted.counts, &second,
                                   &stddev));
}

TEST(CoRatingsTest, CountsComeBackFromTheFirstDirection) {
  PlantedTaste planted = PlantTaste(120, 80, 0.1);
  const VectorXd truth = planted.counts;
  VectorXd second, stddev;
  ASSERT_TRUE(CountsFromCoRatings(planted.co_ratings, truth, &second, &stddev));
  EXPECT_LT((second - truth).head(80).norm(), 0.2 * truth.head(80).norm());
  EXPECT_EQ(stddev(100), INFINITY);
}

// The same C as it is released with a quarter of what lies along the counts.
void Damp(const VectorXd& counts, double stddev, NoisedCoRatings* co_ratings) {
  co_ratings->direction = counts(co_ratings->rows).normalized();
  co_ratings->kept = 0.25;
  co_ratings->c =
      co_ratings->Damped(co_ratings->Damped(co_ratings->c).transpose()) +
      SymmetricNoise(Index(co_ratings->rows.size()), stddev, 14);
}

TEST(CoRatingsTest, WhatIsDampedComesBack) {
  PlantedTaste planted = PlantTaste(120, 120, 1e-6);
  const MatrixXd whole = planted.co_ratings.c;
  Damp(planted.counts, 1e-6, &planted.co_ratings);
  EXPECT_LT(planted.co_ratings.c.norm(), 0.5 * whole.norm());
  EXPECT_LT(
      (planted.co_ratings.Undamped(
           planted.co_ratings.Undamped(planted.co_ratings.c).transpose()) -
       whole)
          .norm(),
      1e-3);
  ExpectFound(planted);
}

// Counts that were off by a fifth when C was asked for.
TEST(CoRatingsTest, CountsComeBackFromWhatIsDamped) {
  PlantedTaste planted = PlantTaste(120, 80, 1e-6);
  VectorXd off = planted.counts;
  for (Index i = 0; i < off.size(); ++i) off(i) *= i % 2 == 0 ? 1.2 : 0.8;
  Damp(off, 0.1, &planted.co_ratings);
  planted.co_ratings.stddev = 0.1;
  VectorXd second, stddev;
  ASSERT_TRUE(CountsFromCoRatings(planted.co_ratings, off, &second, &stddev));
  const VectorXd truth = planted.counts.head(80);
  const VectorXd scaled = second.head(80) * (truth.dot(second.head(80)) /
                                             second.head(80).squaredNorm());
  EXPECT_LT((scaled - truth).norm(), 0.5 * (off.head(80) - truth).norm());
}

TEST(CoRatingsTest, OneItemIsEnough) {
  NoisedCoRatings one;
  one.c = MatrixXd::Constant(1, 1, 10);
  one.stddev = 1e-3;
  one.rows = {0};
  const CoRatingModel model =
      FitCoRatings(one, VectorXd::Constant(1, 3), MatrixXd(1, 0), 16);
  EXPECT_EQ(model.y.rows(), 1);
  EXPECT_TRUE(model.y.allFinite());
}

}  // namespace
}  // namespace dpnmf
