#include "common/ratings/item_effects.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Planted {
  VectorXd counts, effects;
  ItemEvidence evidence;
};

Planted Plant(Index size, double noise, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  Planted planted{VectorXd(size), VectorXd(size), {}};
  ItemEvidence& evidence = planted.evidence;
  evidence.counts = VectorXd(size);
  evidence.sums = VectorXd(size);
  evidence.counts_stddev = evidence.sums_stddev = noise;
  evidence.sampling = 1e-4;
  evidence.features = MatrixXd(size, 1);
  for (Index i = 0; i < size; ++i) {
    evidence.features(i, 0) = normal(engine);
    planted.counts(i) = std::exp(2 + 0.7 * normal(engine));
    planted.effects(i) = 0.3 * evidence.features(i, 0) + 0.3 * normal(engine);
    evidence.counts(i) = planted.counts(i) + noise * normal(engine);
    evidence.sums(i) =
        planted.counts(i) * planted.effects(i) + noise * normal(engine);
  }
  return planted;
}

TEST(ItemEffectsTest, LittleNoiseLeavesWhatWasReleased) {
  const Planted planted = Plant(400, 0.01, 1);
  const ItemEffects found = EstimateItems(planted.evidence);
  // The grid's cells lie 11 % apart.
  EXPECT_LT(((found.counts - planted.counts).array() / planted.counts.array())
                .abs()
                .maxCoeff(),
            0.08);
  EXPECT_LT((found.effects - planted.effects).norm() / planted.effects.norm(),
            0.08);
}

// Errors of the posterior mean are as large as it says, and smaller than those
// of the released ratio.
TEST(ItemEffectsTest, PosteriorVariancesAreThoseOfTheErrors) {
  double squares = 0, predicted = 0, plain = 0;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Planted planted = Plant(1500, 3, seed);
    const ItemEffects found = EstimateItems(planted.evidence);
    squares += (found.effects - planted.effects).squaredNorm();
    predicted += found.variances.sum();
    plain += planted.effects.squaredNorm();
    EXPECT_LT((found.counts - planted.counts).squaredNorm(), 1500 * 9.0);
  }
  EXPECT_LT(squares, 0.5 * plain);
  EXPECT_NEAR(predicted / squares, 1, 0.25);
}

TEST(ItemEffectsTest, ASecondLookIsWeighed) {
  Planted planted = Plant(500, 3, 4);
  const double before =
      (EstimateItems(planted.evidence).counts - planted.counts).squaredNorm();
  planted.evidence.second = planted.counts;
  planted.evidence.second_stddev = VectorXd::Constant(500, 0.1);
  planted.evidence.second_error = 0.02;
  const double after =
      (EstimateItems(planted.evidence).counts - planted.counts).squaredNorm();
  EXPECT_LT(after, 0.1 * before);
  planted.evidence.second_stddev.setConstant(INFINITY);
  const double none =
      (EstimateItems(planted.evidence).counts - planted.counts).squaredNorm();
  EXPECT_EQ(none, before);
}

TEST(ItemEffectsTest, NoiseAloneGivesFiniteAnswers) {
  for (const Index size : {1, 2, 7}) {
    Planted planted = Plant(size, 1e6, 5);
    planted.evidence.features = MatrixXd(size, 0);
    const ItemEffects found = EstimateItems(planted.evidence);
    EXPECT_TRUE(found.counts.allFinite() && found.effects.allFinite() &&
                found.variances.allFinite());
    EXPECT_GT(found.counts.minCoeff(), 0);
    EXPECT_LT(found.effects.cwiseAbs().maxCoeff(), 1);
  }
}

}  // namespace
}  // namespace dpnmf
