#include "lab/complete/measures.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/lab/complete/complete_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;

// Four cells of X = 1 with Y = 0, 0, 4, 5 (1.5 bits) and four of X = 2 with
// Y = 3 (0 bits): H(Y|X) = .75. Y has shares 1/4, 1/8, 1/8, 1/2: H(Y) = 1.75.
TEST(ConditionalEntropy, IsThatOfTheDefinition) {
  ConditionalEntropy entropy;
  entropy.Add(1.2, 0, 2);
  entropy.Add(0.8, 4);
  entropy.Add(1, 5);
  entropy.Add(2.4, 3, 3);
  entropy.Add(1.6, 3);
  EXPECT_NEAR(entropy.Pi(), std::exp2(0.75), 1e-12);
  EXPECT_NEAR(entropy.Ceiling(), std::exp2(1.75), 1e-12);
}

TEST(ConditionalEntropy, IsUnknownWithoutValues) {
  EXPECT_TRUE(std::isnan(ConditionalEntropy().Pi()));
  EXPECT_TRUE(std::isnan(ConditionalEntropy().Ceiling()));
}

// Ratings 5, 0 (a rating) and 3 of a 2 x 2 table.
TEST(CompletionMeasures, CountWhatIsNotRatedAsZeroOrLeaveItOut) {
  SparseRatings train;
  train.columns = 2;
  train.indices = {0, 1, 1};
  train.values = {5, 0, 3};
  train.indptr = {0, 2, 3};
  SparseRatings test;
  test.columns = 2;
  test.indices = {0, 1};
  test.values = {4, 1};
  test.indptr = {0, 0, 2};
  Eigen::MatrixXd table(2, 2);
  table << 5.2, 0.1, 2.5, 3.4;
  const CompletionMeasures measures = Measure(
      train, test,
      [&](Index i) -> Eigen::VectorXd { return table.row(i).transpose(); });
  EXPECT_EQ(measures.tested, 2);
  EXPECT_NEAR(measures.mae, (1.5 + 2.4) / 2, 1e-12);
  // Rounded: 5, 0, 2 (to even), 3 of 5, 0, 0, 3: X tells all.
  EXPECT_NEAR(measures.pi_all, 1, 1e-12);
  EXPECT_NEAR(measures.ceiling_all, std::exp2(1.5), 1e-12);
  EXPECT_NEAR(measures.pi_rated, 1, 1e-12);
  EXPECT_NEAR(measures.ceiling_rated, 3, 1e-12);
}

TEST(CompletionMeasures, AConstantTableReachesTheCeiling) {
  const SparseRatings train = GeneratedInput(30, 20, 0.3, 1).ratings;
  const auto constant = [](Index) -> Eigen::VectorXd {
    return Eigen::VectorXd::Constant(20, 3.1);
  };
  const CompletionMeasures measures = Measure(train, train, constant);
  EXPECT_NEAR(measures.pi_all, measures.ceiling_all, 1e-12);
  EXPECT_NEAR(measures.pi_rated, measures.ceiling_rated, 1e-12);
  EXPECT_GT(measures.ceiling_rated, 1.5);
}

TEST(CompletionMeasures, WithoutATestThereIsNoError) {
  const SparseRatings train = GeneratedInput(5, 4, 0.5, 2).ratings;
  SparseRatings none;
  none.columns = 4;
  none.indptr.assign(6, 0);
  const CompletionMeasures measures = Measure(
      train, none,
      [](Index) -> Eigen::VectorXd { return Eigen::VectorXd::Zero(4); });
  EXPECT_TRUE(std::isnan(measures.mae));
}

}  // namespace
}  // namespace dpnmf::curator::lab
