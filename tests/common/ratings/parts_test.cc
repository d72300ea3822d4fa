#include "common/ratings/parts.h"

#include <cmath>
#include <random>

#include "common/nmf/linear_algebra.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Three parts, of which every third item has one, and a bias of .5.
MatrixXd PlantedParts(Index items, std::mt19937_64* engine) {
  std::uniform_real_distribution<double> uniform(0.3, 1);
  MatrixXd w = MatrixXd::Zero(items, 3);
  for (Index i = 0; i < items; ++i) w(i, i % 3) = uniform(*engine);
  return w;
}

// A model whose loadings L have L L' = .25 + W W', in columns of both signs:
// the bias first, the others turned.
ItemModel TurnedModel(const MatrixXd& w) {
  const Index items = w.rows();
  ItemModel model;
  model.low = 1;
  model.high = 5;
  model.residual_stddev = 0.9;
  model.base = VectorXd::Constant(items, 3.5);
  model.base_stddev = VectorXd::Constant(items, 0.1);
  model.counts = VectorXd::LinSpaced(items, 9, 1);
  model.counts_stddev = VectorXd::Ones(items);
  model.popularity = model.counts;
  model.ranking = MatrixXd::Zero(items, 0);
  MatrixXd turn(3, 3);  // orthogonal
  turn << 1, 1, 1, 1, -1, 0, 1, 1, -2;
  turn.rowwise().normalize();
  model.loadings.resize(items, 4);
  model.loadings.col(0).setConstant(0.5);
  model.loadings.rightCols(3) = w * turn.transpose();
  return model;
}

TEST(PartsTest, PlantedPartsAreFoundInTurnedFactors) {
  std::mt19937_64 engine(3);
  const MatrixXd w = PlantedParts(60, &engine);
  const ItemModel model = TurnedModel(w);
  ASSERT_LT(model.loadings.minCoeff(), -0.1);
  const ItemModel parts = NonNegativeModel(model);
  EXPECT_GT(parts.level, 0);
  ASSERT_EQ(parts.loadings.cols(), 4);
  EXPECT_GE(parts.loadings.minCoeff(), 0);
  EXPECT_GT(parts.loadings.col(0).minCoeff(), 0);
  EXPECT_EQ(parts.loadings.col(0).minCoeff(), parts.loadings.col(0).maxCoeff());
  // The covariance of opinions is the same up to a tenth.
  const MatrixXd wanted = ProductTranspose(model.loadings, model.loadings);
  const MatrixXd got = ProductTranspose(parts.loadings, parts.loadings);
  EXPECT_LT((got - wanted).norm(), 0.1 * wanted.norm());
  // An item's own part is its largest; items of one part share it.
  Index column[3];
  for (Index i = 0; i < 60; ++i) {
    Index largest = 0;
    parts.loadings.row(i).tail(3).maxCoeff(&largest);
    if (i < 3) column[i] = largest;
    EXPECT_EQ(largest, column[i % 3]) << i;
  }
  EXPECT_NE(column[0], column[1]);
  EXPECT_NE(column[1], column[2]);
  EXPECT_NE(column[0], column[2]);
  // Fields that are not about factors stay; only the residual may grow.
  EXPECT_TRUE(parts.base == model.base);
  EXPECT_TRUE(parts.popularity == model.popularity);
  EXPECT_GE(parts.residual_stddev, model.residual_stddev);
}

TEST(PartsTest, TheHeaviestPartComesFirst) {
  std::mt19937_64 engine(3);
  const ItemModel model = TurnedModel(PlantedParts(60, &engine));
  const ItemModel parts = NonNegativeModel(model);
  const VectorXd weights =
      parts.loadings.rightCols(3).cwiseAbs2().transpose() * model.counts;
  EXPECT_GE(weights(0), weights(1));
  EXPECT_GE(weights(1), weights(2));
}

// Two parts for opposed tastes: that they exclude each other is lost.
TEST(PartsTest, OpposedTastesBecomeTwoParts) {
  ItemModel model = TurnedModel(MatrixXd::Zero(40, 3));
  for (Index i = 0; i < 40; ++i) model.loadings(i, 1) = i % 2 == 0 ? 1 : -1;
  const ItemModel parts = NonNegativeModel(model);
  ASSERT_EQ(parts.loadings.cols(), 3);
  EXPECT_GE(parts.loadings.minCoeff(), 0);
  EXPECT_NEAR(parts.loadings.row(0).squaredNorm(), 1.25, 0.05);
  EXPECT_NEAR(parts.loadings.row(1).squaredNorm(), 1.25, 0.05);
  EXPECT_LT(parts.loadings.row(0).tail(2).dot(parts.loadings.row(1).tail(2)),
            0.01);
}

// More directions than parts: an item's whole variance stays, on average.
TEST(PartsTest, WhatPartsLackOfAnItemsVarianceIsInTheResidual) {
  std::mt19937_64 engine(9);
  std::normal_distribution<double> normal;
  ItemModel model = TurnedModel(MatrixXd::Zero(200, 3));
  model.loadings.resize(200, 41);
  for (double& value : model.loadings.reshaped()) value = 0.2 * normal(engine);
  model.loadings.col(0).setConstant(0.5);
  const ItemModel parts = NonNegativeModel(model);
  EXPECT_LE(parts.loadings.cols(), 21);
  EXPECT_GT(parts.residual_stddev, model.residual_stddev + 0.01);
  const VectorXd p = model.counts / model.counts.sum();
  const auto whole = [&](const ItemModel& m) {
    return p.dot(m.loadings.rowwise().squaredNorm()) +
           m.residual_stddev * m.residual_stddev;
  };
  EXPECT_NEAR(whole(parts), whole(model), 1e-9);
}

// Items beyond those that W is fitted to have the row that W asks for.
TEST(PartsTest, ManyItemsGetTheRowsOfTheirLikes) {
  std::mt19937_64 engine(5);
  MatrixXd w = PlantedParts(6000, &engine);
  w.bottomRows(1500) = w.topRows(1500);
  const ItemModel parts = NonNegativeModel(TurnedModel(w));
  const MatrixXd top = parts.loadings.topRows(1500);
  EXPECT_LT((parts.loadings.bottomRows(1500) - top).norm(), 1e-6 * top.norm());
  EXPECT_GT(top.rightCols(parts.loadings.cols() - 1).norm(), 1);
}

TEST(PartsTest, ABiasAloneAndNoCountsArePossible) {
  ItemModel model = TurnedModel(MatrixXd::Zero(5, 3));
  model.loadings.conservativeResize(5, 1);
  EXPECT_TRUE(NonNegativeModel(model).loadings == model.loadings);
  model = TurnedModel(MatrixXd::Zero(5, 3));
  EXPECT_TRUE(NonNegativeModel(model).loadings.allFinite());
  EXPECT_GE(NonNegativeModel(model).loadings.cols(), 1);
}

}  // namespace
}  // namespace dpnmf
