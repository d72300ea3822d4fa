#include "lab/complete/svd.h"

#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"
#include "gtest/gtest.h"
#include "tests/lab/complete/complete_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd Of(const TruncatedSvd& svd) {
  return svd.u * svd.s.asDiagonal() * svd.v.transpose();
}

// The best approximation of the rank, by the eigenvectors of A'A.
MatrixXd Truncated(const MatrixXd& a, int rank) {
  const SymmetricEigen eigen = EigenOfSymmetric(TransposeProduct(a, a));
  const MatrixXd v = eigen.vectors.rightCols(rank);
  return a * v * v.transpose();
}

void ExpectOrthonormal(const MatrixXd& columns) {
  const MatrixXd gram = columns.transpose() * columns;
  EXPECT_LT((gram - MatrixXd::Identity(gram.rows(), gram.cols()))
                .cwiseAbs()
                .maxCoeff(),
            1e-9);
}

TEST(Svd, IsTheBestApproximationOfTheImputedTable) {
  for (const auto& [people, items] : {std::pair(90, 60), std::pair(40, 120)}) {
    const SparseRatings ratings = GeneratedInput(people, items, 0.3, 1).ratings;
    const VectorXd means = ColumnMeans(ratings);
    const MatrixXd full = Imputed(ratings, means);
    for (const int rank : {1, 2, 7}) {
      const auto svd = MeanImputedSvd(ratings, means, rank);
      ASSERT_TRUE(svd.ok());
      EXPECT_LT((Of(*svd) - Truncated(full, rank)).cwiseAbs().maxCoeff(), 1e-4)
          << people << " " << rank;
      ExpectOrthonormal(svd->u);
      ExpectOrthonormal(svd->v);
    }
    const int whole = std::min(people, items);
    const auto svd = MeanImputedSvd(ratings, means, whole);
    ASSERT_TRUE(svd.ok());
    EXPECT_LT((Of(*svd) - full).cwiseAbs().maxCoeff(), 1e-7);
  }
}

// A table of rank 1: the other triplets are 0, and nothing is NaN.
TEST(Svd, TakesTablesOfLessRank) {
  SparseRatings ratings;
  ratings.columns = 4;
  for (int i = 0; i < 5; ++i) {
    ratings.indices.push_back(i % 4);
    ratings.values.push_back(3);
    ratings.EndRow();
  }
  const VectorXd means = ColumnMeans(ratings);
  const auto svd = MeanImputedSvd(ratings, means, 3);
  ASSERT_TRUE(svd.ok());
  EXPECT_LT((Of(*svd) - MatrixXd::Constant(5, 4, 3)).cwiseAbs().maxCoeff(),
            1e-9);
  EXPECT_NEAR(svd->s[1], 0, 1e-6);
}

TEST(Svd, ARankAboveThatOfTheTableIsRefused) {
  const SparseRatings ratings = GeneratedInput(9, 6, 0.5, 2).ratings;
  for (const int rank : {0, -1, 7}) {
    EXPECT_EQ(ReasonCode(
                  MeanImputedSvd(ratings, ColumnMeans(ratings), rank).status()),
              "complete-rank");
  }
}

TEST(Svd, AnUpdateIsTheSvdOfTheStackedTable) {
  const SparseRatings ratings = GeneratedInput(70, 50, 0.4, 3).ratings;
  const VectorXd means = ColumnMeans(ratings);
  const auto svd = MeanImputedSvd(RowRange(ratings, 0, 50), means, 6);
  ASSERT_TRUE(svd.ok());
  const MatrixXd rows = Imputed(RowRange(ratings, 50, 70), means);
  const TruncatedSvd updated = UpdatedByRows(*svd, rows);
  MatrixXd stacked(70, 50);
  stacked << Of(*svd), rows;
  EXPECT_LT((Of(updated) - Truncated(stacked, 6)).cwiseAbs().maxCoeff(), 1e-7);
  ExpectOrthonormal(updated.u);
  ExpectOrthonormal(updated.v);
  EXPECT_EQ(updated.u.rows(), 70);
}

TEST(Svd, MissingEntriesAreColumnMeans) {
  SparseRatings ratings;
  ratings.columns = 3;
  ratings.indices = {0, 1, 0};
  ratings.values = {2, 0, 4};
  ratings.indptr = {0, 2, 3};
  const VectorXd means = ColumnMeans(ratings);
  EXPECT_EQ(means, Eigen::Vector3d(3, 0, 2));
  MatrixXd full(2, 3);
  full << 2, 0, 2, 4, 0, 2;
  EXPECT_EQ(Imputed(ratings, means), full);
}

}  // namespace
}  // namespace dpnmf::curator::lab
