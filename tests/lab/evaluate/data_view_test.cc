#include "lab/evaluate/data_view.h"

#include <cmath>

#include "common/nmf/coordinate_descent.h"
#include "common/nmf/dictionary.h"
#include "common/nmf/linear_algebra.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"
#include "tests/lab/evaluate/evaluate_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::MatrixXd;

// More users than one task of columns.
MatrixXd V() { return GeneratedColumns(12, 230, 4, 1); }

TEST(DataView, MultipliesLikeTheMatrixDenseAndSparse) {
  const Eigen::MatrixXf v = V().cast<float>();
  const MatrixXd exact = v.cast<double>();
  const MatrixXd w = RandomDictionary(12, 3, 1);
  const MatrixXd x = RandomDictionary(230, 5, 2);
  const auto dense = DenseOf(v), sparse = SparseOf(v);
  for (const Dataset* data : {dense.get(), sparse.get()}) {
    const DataView view(data);
    EXPECT_LT((view.Correlate(w, 2) - TransposeProduct(w, exact)).norm(),
              1e-10);
    EXPECT_LT((view.Times(x) - Product(exact, x)).norm(), 1e-10);
    EXPECT_NEAR(view.squared_norm(), exact.squaredNorm(), 1e-9);
  }
}

TEST(Objective, IsZeroForTheDictionaryThatMadeTheData) {
  const MatrixXd w = GeneratedColumns(12, 4, 4, 7).cwiseAbs();
  const MatrixXd h = GeneratedColumns(4, 150, 3, 8);
  const auto data = DenseOf(Product(w, h).cast<float>());
  const DataView view(data.get());
  MatrixXd found;
  EXPECT_LT(Objective(view, w, 2, &found), 1e-4 * view.squared_norm() / 300);
}

// K = 1: h = max(0, w'v) / |w|^2, so the objective is
// 1/(2N) sum of |v|^2 - (w'v)^2 / |w|^2.
TEST(Objective, HasTheClosedFormOfRankOne) {
  const Eigen::MatrixXf v = V().cast<float>();
  const auto data = SparseOf(v);
  const DataView view(data.get());
  const MatrixXd w = 3 * RandomDictionary(12, 1, 5);
  const MatrixXd c = TransposeProduct(w, v.cast<double>());
  const double expected =
      (view.squared_norm() - c.squaredNorm() / w.squaredNorm()) / (2 * 230);
  MatrixXd h;
  EXPECT_NEAR(Objective(view, w, 1, &h), expected, 1e-9 * expected);
}

// Columns that are nearly parallel need many sweeps.
TEST(Objective, IsNearThatOfVeryManySweeps) {
  const auto data = DenseOf(V().cast<float>());
  const DataView view(data.get());
  const MatrixXd w =
      (RandomDictionary(12, 8, 5).array() + 2).matrix().colwise().normalized();
  MatrixXd found, h = MatrixXd::Zero(8, 230);
  const MatrixXd gram = TransposeProduct(w, w), c = view.Correlate(w, 1);
  SweepNonNegative(gram, c, 100'000, 2, &h);
  const double best = (view.squared_norm() - 2 * c.cwiseProduct(h).sum() +
                       h.cwiseProduct(Product(gram, h)).sum()) /
                      (2 * 230);
  EXPECT_NEAR(Objective(view, w, 1, &found), best, 2e-3 * best);
}

TEST(Objective, DoesNotDependOnTheStartOrTheLengthsOfColumns) {
  const auto data = DenseOf(V().cast<float>());
  const DataView view(data.get());
  const MatrixXd w = RandomDictionary(12, 4, 5);
  MatrixXd cold, warm = MatrixXd::Constant(4, 230, 9), scaled;
  const double objective = Objective(view, w, 1, &cold);
  EXPECT_NEAR(Objective(view, w, 1, &warm), objective, 1e-4 * objective);
  EXPECT_NEAR(Objective(view, 2 * w, 1, &scaled), objective, 1e-4 * objective);
}

// Against the definition over a full singular value decomposition.
TEST(Nndsvd, IsThatOfTheSingularVectors) {
  const Eigen::MatrixXf v = V().cast<float>();
  const auto data = DenseOf(v);
  const MatrixXd w = NndsvdDictionary(DataView(data.get()), 4, 1);
  const SingularVectors svd = SingularVectorsOf(v);
  EXPECT_LT((w.col(0) - svd.u.col(0).cwiseAbs()).norm(), 1e-6);
  for (int k = 1; k < 4; ++k) {
    const Eigen::VectorXd x = svd.u.col(k), y = svd.v.col(k);
    const double up = x.cwiseMax(0).norm() * y.cwiseMax(0).norm();
    const double down = x.cwiseMin(0).norm() * y.cwiseMin(0).norm();
    const Eigen::VectorXd part =
        up >= down ? x.cwiseMax(0) : Eigen::VectorXd(-x.cwiseMin(0));
    EXPECT_LT((w.col(k) - part.normalized()).norm(), 1e-6) << k;
  }
}

}  // namespace
}  // namespace dpnmf::curator::lab
