#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "lab/factorize/factorize.h"
#include "lab/factorize/start.h"
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

// The basis is of features or of users, whichever are fewer.
struct Shape {
  int features, users;
};

TEST(StartFromSingularVectors, IsNndsvdByAFullDecomposition) {
  // Directions are as many as the basis has: the subspace is the whole space.
  constexpr int kRank = 4;
  for (const Shape shape : {Shape{18, 90}, Shape{90, 18}, Shape{18, 18}}) {
    const Eigen::MatrixXf v = Topics(shape.features, shape.users, 6);
    const auto data = SparseOf(v);
    const SingularVectors svd = SingularVectorsOf(v);
    for (const int threads : {1, 3}) {
      FactorizePasses passes(*data, kRank, threads);
      const RowMatrix w = StartFromSingularVectors(&passes, shape.features,
                                                   shape.users, kRank, 5);
      for (int k = 0; k < kRank; ++k) {
        const Eigen::VectorXd left = svd.u.col(k), right = svd.v.col(k);
        const Eigen::VectorXd plus = left.cwiseMax(0),
                              minus = (-left).cwiseMax(0);
        const bool positive = plus.norm() * right.cwiseMax(0).norm() >=
                              minus.norm() * (-right).cwiseMax(0).norm();
        const Eigen::VectorXd expected = (positive ? plus : minus).normalized();
        for (int row = 0; row < shape.features; ++row)
          EXPECT_NEAR(w.Row(row)[k], expected[row], 1e-9)
              << shape.users << ' ' << k << ' ' << row;
      }
    }
  }
}

TEST(StartFromSingularVectors, IsZeroWhereTheDataHaveNoMoreDirections) {
  for (const Shape shape : {Shape{20, 30}, Shape{30, 20}}) {
    Eigen::MatrixXf v = Eigen::MatrixXf::Zero(shape.features, shape.users);
    const auto nothing = SparseOf(v);
    FactorizePasses no_passes(*nothing, 3, 1);
    for (const double x :
         StartFromSingularVectors(&no_passes, shape.features, shape.users, 3, 1)
             .values)
      EXPECT_EQ(x, 0);
    v.row(4).setConstant(0.5f);
    const auto one = SparseOf(v);
    FactorizePasses passes(*one, 3, 1);
    const RowMatrix w =
        StartFromSingularVectors(&passes, shape.features, shape.users, 3, 1);
    EXPECT_NEAR(w.Row(4)[0], 1, 1e-12);
    for (const double x : w.values) EXPECT_TRUE(x >= 0 && x <= 1);
  }
}

TEST(FactorizePasses, ProductsWithSparseDataAreThoseOfDenseOnes) {
  const Eigen::MatrixXf v = Topics(23, 41, 6);
  const auto data = SparseOf(v);
  const Eigen::MatrixXd dense = v.cast<double>();
  for (const int columns : {3, 8, 35}) {
    RowMatrix x(41, columns), y(23, columns);
    for (RowMatrix* const m : {&x, &y}) {
      for (int row = 0; row < m->rows; ++row) {
        for (int k = 0; k < columns; ++k)
          m->Row(row)[k] = std::sin(row * columns + k);
      }
    }
    const auto full = [columns](const RowMatrix& m) {
      Eigen::MatrixXd values(m.rows, columns);
      for (int row = 0; row < m.rows; ++row) {
        for (int k = 0; k < columns; ++k) values(row, k) = m.Row(row)[k];
      }
      return values;
    };
    for (const int threads : {1, 3}) {
      FactorizePasses passes(*data, 3, threads);
      passes.Multiply(x);
      EXPECT_TRUE(full(passes.b()).isApprox(dense * full(x), 1e-12));
      EXPECT_TRUE(full(passes.TransposeMultiply(y))
                      .isApprox(dense.transpose() * full(y), 1e-12));
    }
  }
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
