#include "common/moments/fit_law.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "common/base/error.h"
#include "common/moments/column_fit.h"
#include "common/moments/moments.h"
#include "common/nmf/coordinate_descent.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;
using Eigen::VectorXf;

// Columns of length 1, mixtures of `rank` parts that share features, with
// `noise` added to entries (>= 0).
struct Planted {
  MatrixXf x;  // M x n
  MatrixXf w;  // M x K
};

Planted PlantedColumns(int rows, int rank, int count, double noise,
                       std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<float> exponential;
  std::uniform_real_distribution<float> uniform;
  Planted planted{MatrixXf::Zero(rows, count), MatrixXf::Zero(rows, rank)};
  for (float& entry : planted.w.reshaped())
    entry = uniform(random) < 0.3f ? exponential(random) : 0.02f;
  planted.w.colwise().normalize();
  for (int n = 0; n < count; ++n) {
    for (int k = 0; k < rank; ++k)
      planted.x.col(n) += exponential(random) * planted.w.col(k);
    for (int i = 0; i < rows; ++i)
      planted.x(i, n) += static_cast<float>(noise) * exponential(random);
  }
  planted.x.colwise().normalize();
  return planted;
}

// Counts that are Poisson of mean W h, W of very different features: least
// squares see the large ones alone.
Planted PlantedCounts(int rows, int rank, int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Planted planted = PlantedColumns(rows, rank, count, 0, seed);
  for (int i = 0; i < rows; ++i)
    planted.w.row(i) *=
        std::exp(-4.0f * static_cast<float>(i) / static_cast<float>(rows));
  planted.w.colwise().normalize();
  std::exponential_distribution<float> exponential;
  for (int n = 0; n < count; ++n) {
    VectorXf h(rank);
    for (float& entry : h) entry = 30 * exponential(random);
    const VectorXf mean = planted.w * h;
    for (int i = 0; i < rows; ++i)
      planted.x(i, n) = static_cast<float>(std::poisson_distribution<int>(
          static_cast<double>(mean(i)) + 1e-9)(random));
  }
  return planted;
}

MatrixXf RandomParts(int rows, int rank, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(0.1f, 1.0f);
  MatrixXf w(rows, rank);
  for (float& entry : w.reshaped()) entry = uniform(random);
  w.colwise().normalize();
  return w;
}

double SquaredLoss(const MatrixXf& x, const MatrixXf& w) {
  MatrixXf h = MatrixXf::Zero(w.cols(), x.cols());
  SweepNonNegative(MatrixXf(w.transpose() * w), MatrixXf(w.transpose() * x),
                   500, 1, &h);
  return static_cast<double>((x - w * h).squaredNorm());
}

MatrixXf Fitted(const MatrixXf& x, const FitLaw& law, MatrixXf w,
                int threads = 1) {
  MatrixXf h;
  FitByLaw(x, law, 400, threads, {}, &w, &h);
  return w;
}

constexpr FitLaw kDivergence = {.loss = Loss::kKullbackLeibler};

TEST(FitLaw, RefusesWhatIsNone) {
  const double bad[] = {-0.1, 1, std::numeric_limits<double>::quiet_NaN()};
  for (const double sparseness : bad) {
    EXPECT_EQ(ReasonCode(CheckFitLaw({.sparseness = sparseness})),
              "sparseness-out-of-range");
  }
  EXPECT_EQ(ReasonCode(CheckFitLaw(
                {.loss = Loss::kKullbackLeibler, .sparseness = 0.5})),
            "loss-sparse");
  EXPECT_TRUE(CheckFitLaw({.sparseness = 0.99}).ok());
  EXPECT_TRUE(CheckFitLaw(kDivergence).ok());
  EXPECT_EQ(ReasonCode(LossOfName("poisson").status()), "loss-unknown");
  EXPECT_EQ(*LossOfName("kl"), Loss::kKullbackLeibler);
  EXPECT_EQ(*LossOfName("squared"), Loss::kSquared);
}

// Hoyer 2004: of [0 0 1] 1, of equal entries 0; |(3, 4)| = 5, sum 7.
TEST(SparsenessOf, IsHoyersMeasure) {
  EXPECT_EQ(SparsenessOf(VectorXd::Unit(9, 4)), 1);
  EXPECT_NEAR(SparsenessOf(VectorXd::Constant(9, 2.0)), 0, 1e-12);
  VectorXd two(2);
  two << 3, 4;
  EXPECT_NEAR(SparsenessOf(two),
              (std::sqrt(2.0) - 7.0 / 5) / (std::sqrt(2.0) - 1), 1e-12);
}

// Against every direction of a fine net of the sphere of three dimensions.
TEST(SparseDirection, IsTheBestOfAllThatAreSparseEnough) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> uniform(-0.3f, 1.0f);
  for (int trial = 0; trial < 20; ++trial) {
    const VectorXf c =
        VectorXf::NullaryExpr(3, [&] { return uniform(random); });
    if (!(c.maxCoeff() > 0)) continue;
    for (const double sparseness : {0.0, 0.3, 0.7}) {
      const VectorXf w = SparseDirection(c, sparseness);
      EXPECT_NEAR(w.norm(), 1, 1e-6);
      EXPECT_GE(w.minCoeff(), 0);
      EXPECT_GE(SparsenessOf(w.cast<double>()), sparseness - 1e-5);
      double best = -1;
      constexpr int kNet = 200;
      for (int i = 0; i <= kNet; ++i) {
        for (int j = 0; j <= kNet - i; ++j) {
          VectorXd at(3);
          at << i, j, kNet - i - j;
          at.normalize();
          if (SparsenessOf(at) >= sparseness)
            best = std::max(best, at.dot(c.cast<double>()));
        }
      }
      EXPECT_GE(static_cast<double>(w.dot(c)), best - 1e-5);
    }
  }
}

TEST(SparseDirection, WithoutAPositiveEntryIsTheLargest) {
  VectorXf c(3);
  c << -2, -1, -3;
  EXPECT_EQ(SparseDirection(c, 0.5), VectorXf(VectorXf::Unit(3, 1)));
}

TEST(FitByLaw, MakesPartsAsSparseAsAskedAndKeepsTheLossLow) {
  const Planted planted = PlantedColumns(30, 4, 300, 0.05, 1);
  const MatrixXf& start = planted.w;
  double before = 0;
  for (const double sparseness : {0.2, 0.5, 0.8}) {
    const MatrixXf w = Fitted(planted.x, {.sparseness = sparseness}, start);
    for (const auto part : w.colwise()) {
      EXPECT_NEAR(part.norm(), 1, 1e-5);
      EXPECT_GE(SparsenessOf(part.cast<double>()), sparseness - 1e-4);
    }
    const double loss = SquaredLoss(planted.x, w);
    // Parts of the same sparseness by cutting alone.
    MatrixXf cut = planted.w;
    for (int k = 0; k < 4; ++k)
      cut.col(k) = SparseDirection(planted.w.col(k), sparseness);
    EXPECT_LE(loss, 0.99 * SquaredLoss(planted.x, cut)) << sparseness;
    EXPECT_GE(loss, before);
    before = loss;
  }
}

// The divergence is the likelihood of such counts.
TEST(FitByLaw, OfTheDivergenceLowersItBelowThatOfLeastSquares) {
  const Planted planted = PlantedCounts(40, 5, 400, 3);
  MatrixXf w = RandomParts(40, 5, 4), h = MatrixXf::Zero(5, 400);
  for (int step = 0; step < 200; ++step) {  // alternating least squares
    SweepNonNegative(MatrixXf(w.transpose() * w),
                     MatrixXf(w.transpose() * planted.x), 10, 1, &h);
    MatrixXf wt = w.transpose();
    SweepNonNegative(MatrixXf(h * h.transpose()),
                     MatrixXf(h * planted.x.transpose()), 10, 1, &wt);
    w = wt.transpose();
    for (int k = 0; k < 5; ++k) {
      const float length = std::max(w.col(k).norm(), 1e-9f);
      w.col(k) /= length;
      h.row(k) *= length;
    }
  }
  const MatrixXf by_divergence = Fitted(planted.x, kDivergence, w);
  const double squared = DivergenceOf(planted.x, w.cast<double>(), 1);
  const double fitted =
      DivergenceOf(planted.x, by_divergence.cast<double>(), 1);
  EXPECT_LT(fitted, 0.998 * squared);
  // No worse than the parts that the columns are made of.
  EXPECT_LE(fitted,
            1.02 * DivergenceOf(planted.x, planted.w.cast<double>(), 1));
  EXPECT_GT(by_divergence.minCoeff(), 0);
  for (const auto part : by_divergence.colwise())
    EXPECT_NEAR(part.norm(), 1, 1e-5);
}

// The divergence of one column from multiples h w of one part is least at
// h = |x|_1 / |w|_1.
TEST(DivergenceOf, IsThatOfTheBestUsage) {
  MatrixXf x(3, 1);
  x << 1, 2, 0;
  MatrixXd w(3, 1);
  w << 1, 1, 2;
  double expected = 0;
  const double h = 3.0 / 4;
  expected += 1 * std::log(1 / h) - 1 + h;
  expected += 2 * std::log(2 / h) - 2 + h;
  expected += 2 * h;
  EXPECT_NEAR(DivergenceOf(x, w, 1), expected, 1e-5);
}

TEST(FitByLaw, GivesTheSameBitsForAnyThreads) {
  const Planted planted = PlantedColumns(20, 3, 350, 0.05, 6);
  for (const FitLaw& law : {kDivergence, FitLaw{.sparseness = 0.6}}) {
    const MatrixXf start = RandomParts(20, 3, 7);
    const MatrixXf one = Fitted(planted.x, law, start, 1);
    EXPECT_EQ(one, Fitted(planted.x, law, start, 3));
    EXPECT_TRUE(one.allFinite());
  }
}

TEST(FitByLaw, TakesColumnsAndPartsOfZeros) {
  MatrixXf x = PlantedColumns(12, 2, 130, 0, 8).x;
  x.leftCols(3).setZero();
  x.row(4).setZero();
  MatrixXf start = RandomParts(12, 3, 9);
  start.col(1) = VectorXf::Unit(12, 4);  // explains nothing
  for (const FitLaw& law : {kDivergence, FitLaw{.sparseness = 0.6}}) {
    const MatrixXf w = Fitted(x, law, start);
    EXPECT_TRUE(w.allFinite());
    EXPECT_GE(w.minCoeff(), 0);
  }
  EXPECT_TRUE(std::isfinite(
      DivergenceOf(MatrixXf::Zero(3, 2), MatrixXd::Ones(3, 1), 1)));
}

TEST(FitDictionary, GoesOnFromLeastSquaresToTheLaw) {
  const Planted planted = PlantedColumns(24, 3, 500, 0.02, 10);
  const MatrixXd v = planted.x.cast<double>();
  MatrixXd g = v * v.transpose() / 500;
  g = ((g + g.transpose()) / 2).eval();
  const DenoisedMoments moments = DenoiseMoments({g, 0, 0}).value();
  FitOptions options;
  options.rank = 3;
  const MatrixXd plain = FitDictionary(moments, options).value();
  // The columns that W is fitted to: as many as FitDictionary draws here.
  const MatrixXf x = DrawMatchedColumns(moments, 3000, options).value();
  options.law = kDivergence;
  const MatrixXd divergent = FitDictionary(moments, options).value();
  // Both find the planted parts. The floor of the entries is the law's own.
  EXPECT_LT(DivergenceOf(x, divergent, 1), 1.01 * DivergenceOf(x, plain, 1));
  EXPECT_EQ(plain.minCoeff(), 0);
  EXPECT_GT(divergent.minCoeff(), 0);
  options.law = {.sparseness = 0.7};
  const MatrixXd sparse = FitDictionary(moments, options).value();
  for (int k = 0; k < 3; ++k) {
    EXPECT_GE(SparsenessOf(sparse.col(k)), 0.7 - 1e-4);
    EXPECT_NEAR(sparse.col(k).norm(), 1, 1e-12);
  }
  // The direction that all people share takes the place of no part of a law.
  DenoisedMoments shared = moments;
  shared.direction = VectorXd::Constant(24, 2);
  const auto least_sparseness = [&](const FitLaw& law) {
    options.law = law;
    const MatrixXd w = FitDictionary(shared, options).value();
    double least = 1;
    for (const auto part : w.colwise())
      least = std::min(least, SparsenessOf(part));
    return least;
  };
  EXPECT_LT(least_sparseness(FitLaw()), 1e-6);
  EXPECT_GE(least_sparseness({.sparseness = 0.7}), 0.7 - 1e-4);
  options.law = {.sparseness = 1};
  EXPECT_EQ(ReasonCode(FitDictionary(moments, options).status()),
            "sparseness-out-of-range");
}

}  // namespace
}  // namespace dpnmf
