#include "common/moments/class_model.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

#include "Eigen/Cholesky"
#include "common/base/error.h"
#include "common/privacy/class_bounds.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

constexpr int kD = 3;

DatasetFacts Facts() {
  DatasetFacts facts;
  facts.features = kD;
  facts.users = 10'000;
  facts.column_bound = 10;
  facts.max_rank = facts.max_rounds = 1;
  facts.classes = ClassFacts{.names = {"a", "b"}};
  facts.range = EntryRange{.low = 0, .high = 4};
  return facts;
}

struct Truth {
  double size = 0;
  Eigen::Vector3d mean;
  Eigen::Matrix3d covariance;
};

const Truth kTruths[] = {
    {3000, {1, 2, 3}, Eigen::Vector3d(0.09, 0.04, 0.16).asDiagonal()},
    {1000,
     {2, 2.5, 1.5},
     (Eigen::Matrix3d() << 0.25, 0.1, 0, 0.1, 0.25, -0.1, 0, -0.1, 0.25)
         .finished()}};

// The exact sums of such classes, and noise of this standard deviation.
NoisedClasses Noised(double stddev, std::uint64_t seed = 1) {
  NoisedClasses noised;
  noised.stddev = stddev;
  noised.constant = 2;
  noised.centre = 2;
  noised.low = 0;
  noised.high = 4;
  noised.sums.resize(kD + 1, 2 * (kD + 1));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (int c = 0; c < 2; ++c) {
    const Truth& truth = kTruths[c];
    const Eigen::Vector3d mean = (truth.mean.array() - noised.centre).matrix();
    Eigen::Matrix4d block;
    block(0, 0) = truth.size * 4;
    block.topRightCorner<1, 3>() = truth.size * 2 * mean.transpose();
    block.bottomLeftCorner<3, 1>() = truth.size * 2 * mean;
    block.bottomRightCorner<3, 3>() =
        truth.size * (truth.covariance + mean * mean.transpose());
    noised.sums.middleCols<4>(4 * c) = block;
  }
  for (double& sum : noised.sums.reshaped()) sum += stddev * normal(random);
  return noised;
}

TEST(FitClasses, RecoversTheClassesWhereThereIsHardlyNoise) {
  const auto classes = FitClasses(Noised(1e-6));
  ASSERT_EQ(classes.size(), 2u);
  for (int c = 0; c < 2; ++c) {
    EXPECT_NEAR(classes[c].size, kTruths[c].size, 1e-3);
    EXPECT_LT((classes[c].mean - kTruths[c].mean).norm(), 1e-6);
    EXPECT_LT(
        (classes[c].root * classes[c].root.transpose() - kTruths[c].covariance)
            .norm(),
        1e-6);
  }
}

// Whatever the noise: means within the range, variances that a range allows,
// finite numbers, classes of more people than features.
TEST(FitClasses, StaysWithinTheRangeUnderAnyNoise) {
  for (const double stddev : {0.0, 1.0, 1e3, 1e9, 1e15}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      for (const ClassGaussian& one : FitClasses(Noised(stddev, seed))) {
        EXPECT_GE(one.size, kD + 2);
        EXPECT_TRUE(one.root.allFinite());
        for (int i = 0; i < kD; ++i) {
          EXPECT_GT(one.mean(i), 0);
          EXPECT_LT(one.mean(i), 4);
          EXPECT_LE(one.root.row(i).squaredNorm(),
                    one.mean(i) * (4 - one.mean(i)) * (1 + 1e-9));
        }
      }
    }
  }
}

// Noise as large as the covariance: the fit is nearer the truth than what was
// released, in the mean over 200 draws (0.1 of the distance is far from what
// chance could give back).
TEST(FitClasses, KnowsTheNoise) {
  double released = 0, fitted = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const NoisedClasses noised = Noised(300, seed);
    const auto classes = FitClasses(noised);
    const Eigen::MatrixXd block = noised.sums.middleCols<4>(4);
    const Eigen::Vector3d mean = block.col(0).tail<3>() / (2 * 1000);
    released += (block.bottomRightCorner<3, 3>() / 1000 -
                 mean * mean.transpose() - kTruths[1].covariance)
                    .norm();
    fitted +=
        (classes[1].root * classes[1].root.transpose() - kTruths[1].covariance)
            .norm();
  }
  EXPECT_LT(fitted, 0.9 * released);
}

// Sums over 50 draws of the errors of two classes' means: as released, and
// fitted.
struct ErrorsOfMeans {
  double released = 0, fitted = 0;
};

// Classes of 200 people and thirty features with the means mean(i, c); a
// released mean has noise near 0.1. sizes_known: by declaration.
ErrorsOfMeans ErrorsOver50Draws(std::uint64_t seed, bool sizes_known,
                                const std::function<double(int, int)>& mean) {
  constexpr int kMany = 30;
  constexpr double kSize = 200, kStddev = 28;
  Eigen::MatrixXd truth(kMany, 2);
  for (int c = 0; c < 2; ++c)
    for (int i = 0; i < kMany; ++i) truth(i, c) = mean(i, c);
  ErrorsOfMeans errors;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (int draw = 0; draw < 50; ++draw) {
    NoisedClasses noised;
    noised.stddev = kStddev;
    noised.constant = 1;
    noised.centre = 0.5;
    noised.sums.resize(kMany + 1, 2 * (kMany + 1));
    if (sizes_known) noised.sizes = {200, 200};
    for (int c = 0; c < 2; ++c) {
      Eigen::VectorXd z(kMany + 1);
      z << 1, (truth.col(c).array() - noised.centre).matrix();
      Eigen::MatrixXd block = kSize * (z * z.transpose());
      block.diagonal().tail(kMany).array() += kSize * 0.02;
      for (double& sum : block.reshaped()) sum += kStddev * normal(random);
      noised.sums.middleCols(c * (kMany + 1), kMany + 1) = block;
    }
    const auto classes = FitClasses(noised);
    for (int c = 0; c < 2; ++c) {
      const Eigen::MatrixXd block =
          noised.sums.middleCols(c * (kMany + 1), kMany + 1);
      const double size = sizes_known ? kSize : block(0, 0);
      const Eigen::VectorXd sum =
          (block.col(0) + block.row(0).transpose()).tail(kMany) / 2;
      const Eigen::VectorXd released =
          (sum.array() / size + noised.centre).cwiseMax(0).cwiseMin(1);
      errors.released += (released - truth.col(c)).norm();
      errors.fitted += (classes[c].mean - truth.col(c)).norm();
    }
  }
  return errors;
}

// Thirty features, and noise as large as what tells the classes apart: in the
// mean over 50 draws the means are nearer the truth than those that were
// released (a tenth of the distance is far from what chance could give back).
TEST(FitClasses, MeansKnowTheNoise) {
  const ErrorsOfMeans errors =
      ErrorsOver50Draws(5, /*sizes_known=*/false, [](int i, int c) {
        return 0.3 + 0.02 * (i % 5) + (c == 0 ? 0.05 : -0.05) * (i % 3);
      });
  EXPECT_LT(errors.fitted, 0.9 * errors.released);
}

// Means all over the range, so that drawing them together wins nothing, and far
// from its middle: the second moments know them at least as well as the sums
// do. In the mean over 50 draws the error is far below that of the sums, which
// it is not where these alone are read.
TEST(FitClasses, MeansAreReadFromTheSecondMomentsToo) {
  const ErrorsOfMeans errors = ErrorsOver50Draws(
      6, /*sizes_known=*/true,
      [](int i, int c) { return (7 * i + 11 * c * i) % 5 < 2 ? 0.15 : 0.85; });
  EXPECT_LT(errors.fitted, 0.6 * errors.released);
}

TEST(FitClasses, TakesPublicSizesAsTheyAre) {
  NoisedClasses noised = Noised(500);
  noised.sizes = {3000, 1000};
  const auto classes = FitClasses(noised);
  EXPECT_EQ(classes[0].size, 3000);
  EXPECT_EQ(classes[1].size, 1000);
}

TEST(DrawPeople, SharesThemByTheSizesAndKeepsToTheDeclaration) {
  DatasetFacts facts = Facts();
  facts.range->integers = true;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return normal(random); };
  const auto classes = FitClasses(Noised(1));
  for (const std::uint64_t count : {1u, 2u, 3u, 7u, 1001u}) {
    const DrawnPeople people = DrawPeople(classes, facts, count, draw);
    ASSERT_EQ(people.values.rows(), static_cast<Eigen::Index>(count));
    ASSERT_EQ(people.labels.size(), count);
    const auto first =
        std::count(people.labels.begin(), people.labels.end(), 0);
    EXPECT_NEAR(static_cast<double>(first), 0.75 * count, 1);
    for (const double entry : people.values.reshaped()) {
      EXPECT_GE(entry, 0);
      EXPECT_LE(entry, 4);
      EXPECT_EQ(entry, std::round(entry));
    }
  }
  facts.range.reset();
  facts.column_bound = 2;
  const DrawnPeople people = DrawPeople(classes, facts, 500, draw);
  for (Eigen::Index n = 0; n < people.values.rows(); ++n)
    EXPECT_LE(people.values.row(n).norm(), 2 * (1 + 1e-12));
}

// Their mean and covariance are those of the class: 40,000 people, bounds of
// 6 standard deviations (2e-9 an entry).
TEST(DrawPeople, HaveTheMomentsOfTheirClass) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  constexpr int kCount = 40'000;
  const DrawnPeople people =
      DrawPeople({{1, kTruths[1].mean,
                   kTruths[1].covariance.llt().matrixL().toDenseMatrix()}},
                 Facts(), kCount, [&] { return normal(random); });
  const Eigen::Vector3d mean = people.values.colwise().mean();
  const Eigen::MatrixXd centred = people.values.rowwise() - mean.transpose();
  const Eigen::MatrixXd covariance = centred.transpose() * centred / kCount;
  // Cutting to the range moves both by less than 0.002.
  EXPECT_LT((mean - kTruths[1].mean).cwiseAbs().maxCoeff(),
            6 * 0.5 / std::sqrt(kCount) + 0.002);
  EXPECT_LT((covariance - kTruths[1].covariance).cwiseAbs().maxCoeff(),
            6 * 0.25 * std::sqrt(2.0 / kCount) + 0.002);
}

TEST(NoisedClassesOf, ReadsIntegersInUnitsOfTheData) {
  const DatasetFacts facts = Facts();
  const ClassBounds bounds = ClassBoundsOf(facts, 4);
  std::vector<std::int64_t> sums(2 * 16);
  sums[0] = static_cast<std::int64_t>(bounds.constant * bounds.constant);
  sums[1] = 512;
  const auto noised = NoisedClassesOf(facts, 4, 256, sums);
  ASSERT_TRUE(noised.ok()) << noised.status();
  EXPECT_EQ(noised->sums(1, 0), 2);
  EXPECT_EQ(noised->stddev, 1);
  EXPECT_EQ(noised->sums(0, 0), noised->constant * noised->constant);
  EXPECT_EQ(noised->centre, 2);
  sums.pop_back();
  EXPECT_EQ(ReasonCode(NoisedClassesOf(facts, 4, 256, sums).status()),
            "release-malformed");
}

}  // namespace
}  // namespace dpnmf
