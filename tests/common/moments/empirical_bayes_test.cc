#include "common/moments/empirical_bayes.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::VectorXd;

struct Sample {
  VectorXd truth, noised;
};

// A share of the values is `size` on average (exponential), the others 0;
// noise of deviation `stddev`.
Sample Draw(int count, double share, double size, double stddev,
            std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential(1 / size);
  std::uniform_real_distribution<double> uniform;
  Sample sample{VectorXd::Zero(count), VectorXd(count)};
  for (int i = 0; i < count; ++i) {
    if (uniform(random) < share) sample.truth(i) = exponential(random);
    sample.noised(i) = sample.truth(i) + stddev * normal(random);
  }
  return sample;
}

double Loss(const VectorXd& estimate, const VectorXd& truth) {
  return (estimate - truth).squaredNorm() / static_cast<double>(truth.size());
}

// The law behind the values is known here: its posterior mean is the best that
// there can be. N(y; theta) integrated over theta by small steps.
double BestLoss(const Sample& sample, double share, double size,
                double stddev) {
  constexpr double kStep = 0.02;
  VectorXd best(sample.truth.size());
  for (Eigen::Index i = 0; i < best.size(); ++i) {
    const auto density = [&](double theta) {
      const double z = (sample.noised(i) - theta) / stddev;
      return std::exp(-z * z / 2);
    };
    double mass = (1 - share) * density(0), mean = 0;
    for (double theta = kStep / 2; theta < 15 * size; theta += kStep) {
      const double weight =
          share / size * std::exp(-theta / size) * density(theta) * kStep;
      mass += weight;
      mean += theta * weight;
    }
    best(i) = mean / mass;
  }
  return Loss(best, sample.truth);
}

// Fitting the law costs a little: most where few values tell of it.
TEST(PosteriorMeans, ComeNearTheBestForSparseAndForDenseValues) {
  for (const double share : {0.02, 0.2, 1.0}) {
    const Sample sample = Draw(20'000, share, 2, 1, 5);
    const double best = BestLoss(sample, share, 2, 1);
    const double loss = Loss(PosteriorMeans(sample.noised, 1), sample.truth);
    EXPECT_LE(loss, 1.1 * best) << share;
    EXPECT_LE(1.15 * loss, Loss(sample.noised.cwiseMax(0.0), sample.truth))
        << share;
  }
}

TEST(PosteriorMeans, AreNonNegativeAndRiseWithTheValue) {
  const Sample sample = Draw(500, 0.3, 3, 1, 7);
  VectorXd sorted = sample.noised;
  std::sort(sorted.begin(), sorted.end());
  const VectorXd means = PosteriorMeans(sorted, 1);
  EXPECT_GE(means(0), 0);
  for (Eigen::Index i = 1; i < means.size(); ++i)
    EXPECT_GE(means(i), means(i - 1) - 1e-12);
}

TEST(PosteriorMeans, FollowAChangeOfUnits) {
  const Sample sample = Draw(300, 0.3, 3, 1, 9);
  EXPECT_LE((PosteriorMeans(1024 * sample.noised, 1024) -
             1024 * PosteriorMeans(sample.noised, 1))
                .cwiseAbs()
                .maxCoeff(),
            1e-9);
}

TEST(PosteriorMeans, LeaveAloneWhatNoiseCannotReach) {
  VectorXd y(4);
  y << 10.5, 1e6, -1e6, 0.5;
  const VectorXd means = PosteriorMeans(y, 1);
  EXPECT_EQ(means(0), 10.5);
  EXPECT_EQ(means(1), 1e6);
  EXPECT_LT(means(2), 1e-9);
  EXPECT_GE(means(3), 0);
  EXPECT_LT(means(3), 1);
}

TEST(PosteriorMeans, ArePositivePartsWithoutNoise) {
  VectorXd y(3);
  y << -1, 0, 2;
  EXPECT_EQ(PosteriorMeans(y, 0), (VectorXd(3) << 0, 0, 2).finished());
  EXPECT_EQ(PosteriorMeans(VectorXd(), 1).size(), 0);
  EXPECT_EQ(PosteriorMeans(VectorXd::Constant(2, 20.0), 1),
            VectorXd::Constant(2, 20.0));
}

}  // namespace
}  // namespace dpnmf
