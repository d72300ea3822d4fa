#include "lab/factorize/factorize.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

// Columns of length 1 near a cone of `rank` sparse parts.
Eigen::MatrixXf PartsData(int features, int users, int rank, double noise) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto sparse = [&] {
    const double value = uniform(random);
    return uniform(random) < 0.4 ? value : 0.0;
  };
  Eigen::MatrixXd w(features, rank), h(rank, users);
  for (double& entry : w.reshaped()) entry = sparse();
  for (double& entry : h.reshaped()) entry = sparse() + 0.01;
  Eigen::MatrixXd v = w * h;
  for (double& entry : v.reshaped()) entry += noise * uniform(random);
  v.array().rowwise() /= v.colwise().norm().array().max(1e-12);
  return v.cast<float>();
}

FactorizeOptions Options(int rank, int iterations) {
  FactorizeOptions options;
  options.rank = rank;
  options.iterations = iterations;
  return options;
}

// min over H >= 0 of 1/(2N) |V - W H|^2, by many naive sweeps.
double NaiveObjective(const Eigen::MatrixXf& v, const Eigen::MatrixXd& w) {
  double sum = 0;
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    const Eigen::VectorXd column = v.col(user).cast<double>();
    Eigen::VectorXd h = Eigen::VectorXd::Zero(w.cols());
    for (int sweep = 0; sweep < 300; ++sweep) NaiveSweep(w, column, &h);
    sum += 0.5 * (column - w * h).squaredNorm();
  }
  return sum / static_cast<double>(v.cols());
}

TEST(Factorize, TheReportedObjectiveIsThatOfW) {
  const Eigen::MatrixXf v = PartsData(30, 150, 4, 0.05);
  const FactorizeResult result = *Factorize(*DenseOf(v), Options(4, 150));
  // Its H is near the best for its W: never below the optimum.
  const double best = NaiveObjective(v, result.w);
  EXPECT_GE(result.objective, best - 1e-9);
  EXPECT_LE(result.objective, best * 1.01 + 1e-9);
}

TEST(Factorize, FindsPartsThatAreThere) {
  const Eigen::MatrixXf v = PartsData(40, 300, 5, 0);
  const FactorizeResult result = *Factorize(*DenseOf(v), Options(5, 500));
  EXPECT_LT(result.objective, 1e-4 * 0.5);  // 0.5 is that of W = 0
}

TEST(Factorize, WIsFiniteNonNegativeAndOfUnitColumns) {
  const FactorizeResult result =
      *Factorize(*DenseOf(PartsData(20, 60, 3, 0.1)), Options(7, 50));
  EXPECT_EQ(result.w.rows(), 20);
  EXPECT_EQ(result.w.cols(), 7);
  EXPECT_TRUE(result.w.allFinite());
  EXPECT_GE(result.w.minCoeff(), 0);
  for (int k = 0; k < 7; ++k) {
    const double length = result.w.col(k).norm();
    EXPECT_TRUE(length == 0 || std::abs(length - 1) < 1e-12);
  }
}

TEST(Factorize, TheObjectiveThatItShowsNeverRises) {
  FactorizeOptions options = Options(6, 80);
  double last = std::numeric_limits<double>::infinity();
  int calls = 0;
  options.progress = [&](const FactorizeProgress& progress) {
    EXPECT_EQ(progress.iteration, ++calls);
    EXPECT_LE(progress.objective, last);
    last = progress.objective;
  };
  const FactorizeResult result =
      *Factorize(*DenseOf(PartsData(30, 100, 4, 0.2)), options);
  EXPECT_EQ(result.iterations, calls);
  EXPECT_EQ(result.objective, last);
}

TEST(Factorize, DoesBetterThanMultiplicativeUpdates) {
  // Lee and Seung 2001, the plain reference, from a random start.
  const Eigen::MatrixXf v = PartsData(40, 200, 6, 0.1);
  const Eigen::MatrixXd data = v.cast<double>();
  Eigen::MatrixXd w = RandomW(40, 6, 7), h = RandomW(6, 200, 8);
  for (int i = 0; i < 100; ++i) {
    h.array() *= (w.transpose() * data).array() /
                 ((w.transpose() * w * h).array() + 1e-12);
    w.array() *= (data * h.transpose()).array() /
                 ((w * h * h.transpose()).array() + 1e-12);
  }
  const double reference = (data - w * h).squaredNorm() / (2.0 * 200);
  EXPECT_LE(Factorize(*DenseOf(v), Options(6, 100))->objective,
            reference * 1.001);
}

TEST(Factorize, SparseAndDenseStorageReachTheSame) {
  const Eigen::MatrixXf v = RandomColumns(25, 70, 9, 0.3);
  // The number of sweeps depends on the storage, so only the ends agree.
  const double dense = Factorize(*DenseOf(v), Options(3, 2000))->objective;
  const double sparse = Factorize(*SparseOf(v), Options(3, 2000))->objective;
  EXPECT_NEAR(dense, sparse, 0.02 * dense);
}

TEST(Factorize, RepeatsItselfForTheSameSeedAndThreads) {
  const Eigen::MatrixXf v = PartsData(30, 400, 4, 0.2);
  FactorizeOptions options = Options(5, 20);
  options.threads = 3;
  const FactorizeResult first = *Factorize(*DenseOf(v), options);
  EXPECT_EQ(Factorize(*DenseOf(v), options)->w, first.w);
  options.seed = 2;
  EXPECT_NE(Factorize(*DenseOf(v), options)->w, first.w);
}

TEST(Factorize, SaysWhyItStopped) {
  const auto data = DenseOf(PartsData(30, 100, 4, 0.2));
  FactorizeOptions options = Options(4, 3);
  EXPECT_EQ(Factorize(*data, options)->stop, FactorizeStop::kIterations);
  options.target_objective = 0.4;
  EXPECT_EQ(Factorize(*data, options)->stop, FactorizeStop::kTargetObjective);
  options.target_objective.reset();
  options.seconds = 1e-9;
  const FactorizeResult timed = *Factorize(*data, options);
  EXPECT_EQ(timed.stop, FactorizeStop::kSeconds);
  EXPECT_EQ(timed.iterations, 1);
  options.seconds.reset();
  options.interrupted = [] { return true; };
  EXPECT_EQ(Factorize(*data, options)->stop, FactorizeStop::kInterrupted);
  options = Options(4, 1000000);
  EXPECT_EQ(Factorize(*data, options)->stop, FactorizeStop::kConverged);
}

TEST(Factorize, CopesWithZerosAndCopies) {
  for (const Eigen::MatrixXf& v : std::vector<Eigen::MatrixXf>{
           Eigen::MatrixXf::Zero(5, 6), Eigen::MatrixXf::Constant(5, 6, 0.2f),
           Eigen::MatrixXf::Identity(5, 6)}) {
    for (const auto& data : {DenseOf(v).release(), SparseOf(v).release()}) {
      const std::unique_ptr<Dataset> owner(data);
      const FactorizeResult result = *Factorize(*owner, Options(3, 30));
      EXPECT_TRUE(result.w.allFinite());
      EXPECT_TRUE(std::isfinite(result.objective));
    }
  }
}

TEST(Factorize, RefusesOptionsOutOfRange) {
  const auto data = DenseOf(PartsData(10, 8, 2, 0.1));
  const auto code = [&](const FactorizeOptions& options) {
    return ReasonCode(Factorize(*data, options).status());
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const int rank : {0, -1, 9})
    EXPECT_EQ(code(Options(rank, 5)), "rank-out-of-range");
  EXPECT_EQ(code(Options(2, 0)), "factorize-option-out-of-range");
  FactorizeOptions options = Options(2, 5);
  options.seconds = nan;
  EXPECT_EQ(code(options), "factorize-option-out-of-range");
  options = Options(2, 5);
  options.target_objective = nan;
  EXPECT_EQ(code(options), "factorize-option-out-of-range");
  options = Options(2, 5);
  options.threads = 0;
  EXPECT_EQ(code(options), "factorize-option-out-of-range");
}

}  // namespace
}  // namespace dpnmf::curator::lab
