#include <algorithm>
#include <random>
#include <vector>

#include "curator/lab/factorize/factorize.h"
#include "curator/lab/factorize/start.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

// Columns around `topics` dense directions of falling weight, sparse.
Eigen::MatrixXf Topics(int features, int users, int topics) {
  std::mt19937_64 random(7);
  const Eigen::MatrixXd parts = RandomW(features, topics, 8).array().pow(4);
  std::uniform_real_distribution<double> uniform(0, 1);
  Eigen::MatrixXf v = Eigen::MatrixXf::Zero(features, users);
  for (int user = 0; user < users; ++user) {
    const int topic = std::min<int>(
        topics - 1,
        static_cast<int>(topics * uniform(random) * uniform(random)));
    for (int row = 0; row < features; ++row) {
      if (uniform(random) < 0.4)
        v(row, user) = static_cast<float>(parts(row, topic));
    }
  }
  return v;
}

TEST(StartFromSingularVectors, IsNndsvdByAFullDecomposition) {
  // As many directions as features: the subspace is the whole space.
  constexpr int kFeatures = 18, kUsers = 90, kRank = 4;
  const Eigen::MatrixXf v = Topics(kFeatures, kUsers, 6);
  const auto data = SparseOf(v);
  for (const int threads : {1, 3}) {
    FactorizePasses passes(*data, kRank, threads);
    const RowMatrix w =
        StartFromSingularVectors(&passes, kFeatures, kUsers, kRank, 5);
    const SingularVectors svd = SingularVectorsOf(v);
    for (int k = 0; k < kRank; ++k) {
      const Eigen::VectorXd left = svd.u.col(k), right = svd.v.col(k);
      const Eigen::VectorXd plus = left.cwiseMax(0),
                            minus = (-left).cwiseMax(0);
      const bool positive = plus.norm() * right.cwiseMax(0).norm() >=
                            minus.norm() * (-right).cwiseMax(0).norm();
      const Eigen::VectorXd expected = (positive ? plus : minus).normalized();
      for (int row = 0; row < kFeatures; ++row)
        EXPECT_NEAR(w.Row(row)[k], expected[row], 1e-9) << k << ' ' << row;
    }
  }
}

TEST(StartFromSingularVectors, IsZeroWhereTheDataHaveNoMoreDirections) {
  Eigen::MatrixXf v = Eigen::MatrixXf::Zero(20, 30);
  const auto nothing = SparseOf(v);
  FactorizePasses no_passes(*nothing, 3, 1);
  for (const double x :
       StartFromSingularVectors(&no_passes, 20, 30, 3, 1).values)
    EXPECT_EQ(x, 0);
  v.row(4).setConstant(0.5f);
  const auto one = SparseOf(v);
  FactorizePasses passes(*one, 3, 1);
  const RowMatrix w = StartFromSingularVectors(&passes, 20, 30, 3, 1);
  EXPECT_NEAR(w.Row(4)[0], 1, 1e-12);
  for (const double x : w.values) EXPECT_TRUE(x >= 0 && x <= 1);
}

TEST(StartFromSingularVectors, BeginsNearTheOptimumWhateverTheSeed) {
  const auto data = SparseOf(Topics(120, 200, 12));
  FactorizeOptions options;
  options.rank = 8;
  options.iterations = 300;
  const auto best = Factorize(*data, options);
  ASSERT_TRUE(best.ok());
  options.iterations = 3;
  for (const int seed : {1, 2, 3, 4, 5}) {
    options.seed = seed;
    const auto result = Factorize(*data, options);
    ASSERT_TRUE(result.ok());
    EXPECT_LT(result->objective, 1.1 * best->objective) << seed;
  }
}

}  // namespace
}  // namespace dpnmf::curator::lab
