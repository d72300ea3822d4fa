#include "lab/distort/nmf.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/lab/distort/distort_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::MatrixXd;
using Algorithm = NmfResult (*)(const MatrixXd&, NmfFactors, const NmfOptions&);
constexpr Algorithm kAlgorithms[] = {NmfProjectedGradient, NmfMultiplicative};

NmfFactors StartFor(const MatrixXd& a, int rank, std::uint64_t seed) {
  Draws draws(seed);
  return NmfStart(a.rows(), a.cols(), rank, &draws);
}

// min(G, 0) where X = 0, else G, of both factors: from the definition.
double ProjectedGradient(const MatrixXd& a, const NmfFactors& factors) {
  const MatrixXd& w = factors.w;
  const MatrixXd& h = factors.h;
  const MatrixXd residual = w * h - a;
  const MatrixXd of_w = residual * h.transpose();
  const MatrixXd of_h = w.transpose() * residual;
  double squared = 0;
  for (Eigen::Index i = 0; i < w.size(); ++i) {
    const double g = of_w.reshaped()[i];
    if (g < 0 || w.reshaped()[i] > 0) squared += g * g;
  }
  for (Eigen::Index i = 0; i < h.size(); ++i) {
    const double g = of_h.reshaped()[i];
    if (g < 0 || h.reshaped()[i] > 0) squared += g * g;
  }
  return std::sqrt(squared);
}

TEST(Nmf, ObjectiveNeverRises) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const auto& [rows, columns, rank] :
         {std::tuple{300, 9, 7}, {5, 40, 3}, {130, 1, 1}, {1, 4, 1}}) {
      const MatrixXd a = Generated(rows, columns, 1);
      double before = INFINITY;
      // The same start and more iterations each time.
      for (int iterations = 1; iterations <= 40; ++iterations) {
        NmfOptions options;
        options.iterations = iterations;
        options.tolerance = 1e-12;
        const NmfResult result = algorithm(a, StartFor(a, rank, 2), options);
        EXPECT_LE(result.objective * result.objective,
                  before * before + 1e-14 * a.squaredNorm())
            << rows << " " << iterations;
        EXPECT_LE(result.objective, result.first_objective + 1e-12);
        EXPECT_GE(result.factors.w.minCoeff(), 0);
        EXPECT_GE(result.factors.h.minCoeff(), 0);
        before = result.objective;
      }
    }
  }
}

TEST(Nmf, EndsAtTheToleranceAndSaysWhere) {
  const MatrixXd a = Generated(200, 9, 3);
  for (const Algorithm algorithm : kAlgorithms) {
    NmfOptions options;
    options.tolerance = 1e-3;
    const NmfFactors start = StartFor(a, 4, 4);
    const NmfResult result = algorithm(a, start, options);
    EXPECT_EQ(result.stop, NmfStop::kTolerance);
    const MatrixXd residual = start.w * start.h - a;
    const double first =
        std::sqrt((residual * start.h.transpose()).squaredNorm() +
                  (start.w.transpose() * residual).squaredNorm());
    EXPECT_NEAR(result.first_gradient, first, 1e-9 * first);
    EXPECT_NEAR(result.first_objective, residual.norm(), 1e-9);
    EXPECT_LE(result.last_gradient, 1e-3 * first);
    EXPECT_NEAR(result.last_gradient, ProjectedGradient(a, result.factors),
                1e-9 * first);
    EXPECT_NEAR(result.objective,
                (a - result.factors.w * result.factors.h).norm(), 1e-9);
  }
}

TEST(Nmf, FindsAnExactFactorisation) {
  const MatrixXd a = Generated(60, 2, 5) * Generated(2, 8, 6);
  NmfOptions options;
  options.tolerance = 1e-7;
  const NmfResult result = NmfProjectedGradient(a, StartFor(a, 2, 7), options);
  EXPECT_LT(result.objective, 1e-4 * a.norm());
}

TEST(Nmf, StartThatIsASolutionStays) {
  NmfFactors solution = {Generated(20, 2, 8), Generated(2, 5, 9)};
  const MatrixXd a = solution.w * solution.h;
  const NmfResult result = NmfProjectedGradient(a, solution, {});
  EXPECT_EQ(result.iterations, 0);
  EXPECT_LT(result.objective, 1e-12 * a.norm());
}

TEST(Nmf, EndsForEveryReason) {
  const MatrixXd a = Generated(100, 9, 10);
  for (const Algorithm algorithm : kAlgorithms) {
    NmfOptions options;
    options.tolerance = 1e-9;
    options.iterations = 3;
    NmfResult result = algorithm(a, StartFor(a, 7, 11), options);
    EXPECT_EQ(result.stop, NmfStop::kIterations);
    EXPECT_EQ(result.iterations, 3);
    options.iterations = 20'000;
    options.stop_at_vd = 0.4;
    result = algorithm(a, StartFor(a, 7, 11), options);
    EXPECT_EQ(result.stop, NmfStop::kDistortion);
    EXPECT_LE(result.objective / a.norm(), 0.4);
    EXPECT_GT(result.objective / a.norm(), 0.1);
    options.stop_at_vd.reset();
    int asked = 0;
    options.stop = [&] { return ++asked == 3; };
    result = algorithm(a, StartFor(a, 7, 11), options);
    EXPECT_EQ(result.stop, NmfStop::kStopped);
    EXPECT_EQ(result.iterations, 2);
    options.stop = {};
    options.seconds = 1e-9;
    EXPECT_EQ(algorithm(a, StartFor(a, 7, 11), options).stop,
              NmfStop::kSeconds);
  }
}

TEST(Nmf, ProgressSaysTheDistortionOfEachIteration) {
  const MatrixXd a = Generated(100, 9, 12);
  for (const Algorithm algorithm : kAlgorithms) {
    NmfOptions options;
    options.iterations = 5;
    options.tolerance = 1e-9;
    std::vector<double> said;
    options.progress = [&](const NmfProgress& progress) {
      said.push_back(progress.distortion);
    };
    const NmfResult result = algorithm(a, StartFor(a, 3, 13), options);
    ASSERT_EQ(said.size(), 5u);
    EXPECT_NEAR(said.back(), result.objective / a.norm(), 1e-9);
    EXPECT_TRUE(std::is_sorted(said.rbegin(), said.rend()));
  }
}

TEST(Nmf, ComponentsAreSortedByLength) {
  NmfFactors factors = {MatrixXd(2, 3), MatrixXd(3, 1)};
  factors.w << 1, 5, 2, 0, 0, 0;
  factors.h << 1, 1, 4;
  const MatrixXd product = factors.w * factors.h;
  SortByLength(&factors);
  EXPECT_EQ(factors.w.row(0), (Eigen::RowVector3d(2, 5, 1)));
  EXPECT_EQ(factors.h.col(0), (Eigen::Vector3d(4, 1, 1)));
  EXPECT_EQ(MatrixXd(factors.w * factors.h), product);
}

TEST(Nmf, SparsenessIsOneOfASingleEntryAndZeroOfEqualOnes) {
  MatrixXd one = MatrixXd::Zero(3, 3);
  one(1, 2) = 5;
  EXPECT_DOUBLE_EQ(Sparseness(one), 1);
  EXPECT_NEAR(Sparseness(MatrixXd::Constant(4, 5, -2)), 0, 1e-12);
  // Hoyer (2004): (sqrt(4) - 3 / sqrt(5)) / (sqrt(4) - 1).
  EXPECT_NEAR(Sparseness(Eigen::Vector4d(0, 1, 2, 0)), 2 - 3 / std::sqrt(5.0),
              1e-12);
  EXPECT_EQ(Sparseness(MatrixXd::Zero(2, 2)), 1);
  EXPECT_EQ(Sparseness(MatrixXd::Ones(1, 1)), 0);
}

// The publication: 41.3 to 41.4 (its table III); sparseness .34 and .64.
TEST(Nmf, OfWisconsinIsThePublications) {
  const MatrixXd& a = Wisconsin().values;
  EXPECT_NEAR(a.norm(), 337.6566, 1e-4);
  std::vector<double> distortions, w, h;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const NmfResult result = NmfProjectedGradient(a, StartFor(a, 7, seed), {});
    EXPECT_EQ(result.stop, NmfStop::kTolerance);
    EXPECT_GT(result.objective, 41.38);
    EXPECT_LT(result.objective, 41.5);
    distortions.push_back(result.objective / a.norm());
    w.push_back(Sparseness(result.factors.w));
    h.push_back(Sparseness(result.factors.h));
  }
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[4] + values[5]) / 2;
  };
  EXPECT_NEAR(median(distortions), 0.1226, 0.0005);
  EXPECT_NEAR(median(w), 0.345, 0.03);
  EXPECT_NEAR(median(h), 0.63, 0.03);
}

}  // namespace
}  // namespace dpnmf::curator::lab
