#include "lab/tables/thin_svd.h"

#include <cmath>
#include <cstdint>

#include "gtest/gtest.h"
#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd BasisOf(Index rows, Index columns, std::uint64_t seed) {
  Draws draws(seed);
  MatrixXd x(rows, columns);
  for (double& entry : x.reshaped()) entry = draws.Normal();
  return OrthonormalBasisOf(x);
}

double FromOrthonormal(const MatrixXd& x) {
  return (x.transpose() * x - MatrixXd::Identity(x.cols(), x.cols())).norm();
}

// Singular values from 1 down to 1e-12: those of a Gram matrix are noise below
// 1e-8.
TEST(ThinSvd, HasSmallSingularValues) {
  constexpr Index kColumns = 40;
  VectorXd s(kColumns);
  for (Index k = 0; k < kColumns; ++k)
    s[k] = std::pow(10, -12 * static_cast<double>(k) / (kColumns - 1));
  const MatrixXd u = BasisOf(300, kColumns, 1);
  const MatrixXd v = BasisOf(kColumns, kColumns, 2);
  const MatrixXd a = u * s.asDiagonal() * v.transpose();
  for (const bool turned : {false, true}) {
    const ThinSvd svd =
        ThinSvdOf(turned ? MatrixXd(a.transpose()) : a, kColumns);
    EXPECT_LT((svd.s - s).cwiseAbs().maxCoeff(), 1e-14);
    EXPECT_LT(FromOrthonormal(turned ? svd.u : svd.v), 1e-13);
    const MatrixXd back =
        svd.u * svd.s.asDiagonal() * svd.v.leftCols(kColumns).transpose();
    EXPECT_LT((back - (turned ? MatrixXd(a.transpose()) : a)).norm(), 1e-13);
  }
}

TEST(ThinSvd, OfLessThanFullRankIsCompleted) {
  const MatrixXd a = BasisOf(30, 2, 3) * BasisOf(6, 2, 4).transpose();
  for (const MatrixXd& x :
       {a, MatrixXd(MatrixXd::Zero(30, 6)), MatrixXd(MatrixXd::Ones(30, 6))}) {
    const ThinSvd svd = ThinSvdOf(x, 6);
    EXPECT_LT(FromOrthonormal(svd.v), 1e-14);
    EXPECT_LT((svd.u * svd.s.asDiagonal() * svd.v.transpose() - x).norm(),
              1e-13);
    for (Index k = 1; k < 6; ++k) EXPECT_LE(svd.s[k], svd.s[k - 1]);
    EXPECT_EQ(svd.u.rightCols(3).norm(), 0);
  }
}

}  // namespace
}  // namespace dpnmf::curator::lab
