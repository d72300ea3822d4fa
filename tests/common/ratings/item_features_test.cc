#include "common/ratings/item_features.h"

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(ItemFeaturesTest, MarksBecomeOneBlockWithRowsOfLengthOne) {
  MatrixXd declared(4, 3);
  declared << 0, 1, 7,  //
      1, 1, 7,          //
      0, 0, 7,          //
      1, 0, 7;
  const auto blocks = FeatureBlocks(declared, 32);
  ASSERT_EQ(blocks.size(), 1u);
  MatrixXd expected(4, 2);
  const double half = std::sqrt(0.5);
  expected << 0, 1, half, half, 0, 0, 1, 0;
  EXPECT_LT((blocks[0] - expected).norm(), 1e-15);
}

TEST(ItemFeaturesTest, FewValuesEachHaveAKnot) {
  MatrixXd declared(5, 1);
  declared << 3, 1, 2, 3, 8;
  const auto blocks = FeatureBlocks(declared, 32);
  ASSERT_EQ(blocks.size(), 1u);
  MatrixXd expected = MatrixXd::Zero(5, 4);
  expected(0, 2) = expected(1, 0) = expected(2, 1) = expected(3, 2) =
      expected(4, 3) = 1;
  EXPECT_EQ(blocks[0], expected);
}

TEST(ItemFeaturesTest, ManyValuesLieBetweenEightKnots) {
  const MatrixXd declared = VectorXd::LinSpaced(71, 0, 70);
  const auto blocks = FeatureBlocks(declared, 32);
  ASSERT_EQ(blocks.size(), 1u);
  ASSERT_EQ(blocks[0].cols(), 8);
  EXPECT_NEAR(blocks[0](25, 2), std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(blocks[0](25, 3), std::sqrt(0.5), 1e-12);
  EXPECT_EQ(blocks[0](70, 7), 1);
  // One item far away does not stretch the knots.
  MatrixXd far(201, 1);
  far << VectorXd::LinSpaced(200, 0, 1), 1e6;
  EXPECT_GT(FeatureBlocks(far, 32)[0].col(3).maxCoeff(), 0.9);
  EXPECT_GE(blocks[0].minCoeff(), 0);
}

TEST(ItemFeaturesTest, TooManyColumnsBecomePrincipalComponents) {
  MatrixXd declared = MatrixXd::Identity(40, 40);
  const auto blocks = FeatureBlocks(declared, 32);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].cols(), 32);
  EXPECT_TRUE(blocks[0].allFinite());
}

TEST(ItemFeaturesTest, ColumnsThatTellNothingAreLeftOut) {
  EXPECT_TRUE(FeatureBlocks(MatrixXd::Constant(5, 2, 3), 32).empty());
  EXPECT_TRUE(FeatureBlocks(MatrixXd(5, 0), 32).empty());
  EXPECT_TRUE(FeatureBlocks(MatrixXd::Constant(1, 3, 2), 32).empty());
  EXPECT_EQ(SideBySide({}, 5).rows(), 5);
}

}  // namespace
}  // namespace dpnmf
