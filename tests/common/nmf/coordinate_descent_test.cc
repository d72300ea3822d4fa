#include "common/nmf/coordinate_descent.h"

#include <random>

#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;

MatrixXd Uniform(int rows, int columns, std::mt19937_64* random) {
  std::uniform_real_distribution<double> uniform;
  return MatrixXd::NullaryExpr(rows, columns, [&] { return uniform(*random); });
}

struct Problem {
  MatrixXd gram, c, h;
};

// Columns past a task's and past a lane group's end.
Problem RandomProblem(int columns) {
  std::mt19937_64 random(7);
  const MatrixXd w = Uniform(12, 5, &random);
  return {
      w.transpose() * w,
      w.transpose() * (Uniform(12, columns, &random).array() - 0.4).matrix(),
      MatrixXd::Zero(5, columns)};
}

TEST(SweepNonNegative, MeetsTheConditionsOfOptimality) {
  Problem p = RandomProblem(233);
  SweepNonNegative(p.gram, p.c, 5000, 1, &p.h);
  const MatrixXd gradient = p.gram * p.h - p.c;
  EXPECT_GE(p.h.minCoeff(), 0);
  EXPECT_GE(gradient.minCoeff(), -1e-9);
  EXPECT_LE(p.h.cwiseProduct(gradient).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_EQ((p.h.array() == 0).any(), true);  // some constraint is active
}

TEST(SweepNonNegative, NeverRaisesTheObjective) {
  Problem p = RandomProblem(21);
  const auto objective = [&] {
    return 0.5 * p.h.cwiseProduct(p.gram * p.h).sum() -
           p.c.cwiseProduct(p.h).sum();
  };
  double last = objective();
  for (int sweep = 0; sweep < 30; ++sweep) {
    SweepNonNegative(p.gram, p.c, 1, 1, &p.h);
    EXPECT_LE(objective(), last + 1e-12);
    last = objective();
  }
}

TEST(SweepNonNegative, GivesTheSameBitsForAnyThreadsAndPlace) {
  Problem one = RandomProblem(233), many = one;
  SweepNonNegative(one.gram, one.c, 20, 1, &one.h);
  SweepNonNegative(many.gram, many.c, 20, 3, &many.h);
  EXPECT_EQ(one.h, many.h);
  MatrixXd last = MatrixXd::Zero(5, 1);
  SweepNonNegative(one.gram, one.c.rightCols(1), 20, 1, &last);
  EXPECT_EQ(last, one.h.rightCols(1));
}

TEST(SweepNonNegative, IsTheSameInSinglePrecision) {
  Problem p = RandomProblem(233);
  Eigen::MatrixXf h = p.h.cast<float>(), threads = h;
  const Eigen::MatrixXf gram = p.gram.cast<float>(), c = p.c.cast<float>();
  SweepNonNegative(p.gram, p.c, 20, 1, &p.h);
  SweepNonNegative(gram, c, 20, 1, &h);
  SweepNonNegative(gram, c, 20, 3, &threads);
  EXPECT_LE((h.cast<double>() - p.h).norm(), 1e-4 * p.h.norm());
  EXPECT_EQ(h, threads);
}

TEST(SweepNonNegative, ClearsRowsOfDeadComponents) {
  Problem p = RandomProblem(3);
  p.gram.row(2).setZero();
  p.gram.col(2).setZero();
  p.h.setOnes();
  SweepNonNegative(p.gram, p.c, 4, 1, &p.h);
  EXPECT_TRUE(p.h.row(2).isZero(0));
  EXPECT_TRUE(p.h.allFinite());
}

}  // namespace
}  // namespace dpnmf
