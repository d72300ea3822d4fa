#include "common/nmf/dictionary.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

MatrixXd RandomMatrix(int rows, int columns, std::mt19937_64* random) {
  std::normal_distribution<double> normal;
  return MatrixXd::NullaryExpr(rows, columns, [&] { return normal(*random); });
}

MatrixXd RandomSymmetric(int size, std::mt19937_64* random) {
  const MatrixXd x = RandomMatrix(size, size, random);
  return (x + x.transpose()) / 2;
}

TEST(CheckDictionary, AcceptsTheClosedRange) {
  MatrixXd w(2, 2);
  w << 0, 2, 1, -0.0;
  EXPECT_TRUE(CheckDictionary(w).ok());
}

TEST(CheckDictionary, NamesTheFirstBadEntry) {
  const struct {
    double entry;
    const char* code;
  } cases[] = {
      {kNan, "dictionary-not-finite"},
      {kInfinity, "dictionary-not-finite"},
      {-kInfinity, "dictionary-not-finite"},
      {-1e-300, "dictionary-negative"},
      {std::nextafter(2.0, 3.0), "dictionary-out-of-range"},
  };
  for (const auto& c : cases) {
    MatrixXd w = MatrixXd::Ones(3, 2);
    w(2, 1) = c.entry;
    const absl::Status status = CheckDictionary(w);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.entry;
    EXPECT_EQ(ReasonCode(status), c.code) << c.entry;
    EXPECT_NE(status.message().find("row 2, column 1"), std::string::npos)
        << status;
  }
}

// The first outputs of SplitMix64 for seed 0 are published with xoshiro
// (Vigna): e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f. The quotients
// below are what those 53-bit fractions give by hand in a 2 x 1 matrix.
TEST(RandomDictionary, BeginsWithSplitMix64) {
  const MatrixXd w = RandomDictionary(2, 1, 0);
  const double x = std::ldexp(double(0xe220a8397b1dcdafu >> 11), -53);
  const double y = std::ldexp(double(0x6e789e6aa1b965f4u >> 11), -53);
  EXPECT_NEAR(w(0, 0), x / std::hypot(x, y), 1e-15);
  EXPECT_NEAR(w(1, 0), y / std::hypot(x, y), 1e-15);
}

// Computed in exact rational arithmetic by another program (Python's
// fractions).
TEST(RandomDictionary, HasTheSameBitsOnEveryMachine) {
  constexpr std::uint64_t kGolden[] = {
      0x3fec92c434f91642u, 0x3fc1d83214ae0f94u, 0x3fdb65ec6319ac49u,
      0x3fbd9e268e5d440fu, 0x3fea7743cd79f9b4u, 0x3fe19a42b5546cb2u};
  const MatrixXd w = RandomDictionary(3, 2, 2024);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(w.data()[i]), kGolden[i]) << i;
  }
}

TEST(RandomDictionary, IsFeasibleWithColumnsOfLengthOne) {
  const MatrixXd w = RandomDictionary(100, 7, 42);
  EXPECT_TRUE(CheckDictionary(w).ok());
  for (int k = 0; k < w.cols(); ++k) EXPECT_NEAR(w.col(k).norm(), 1, 1e-14);
  EXPECT_NE(w, RandomDictionary(100, 7, 43));
}

TEST(ProjectDictionary, IsFeasibleAndIdempotentBitForBit) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    const int rows = 1 + static_cast<int>(random() % 40);
    MatrixXd w =
        RandomMatrix(rows, 3, &random) * std::ldexp(1, int(random() % 40) - 20);
    ProjectDictionary(&w);
    ASSERT_TRUE(CheckDictionary(w).ok());
    ASSERT_LE(w.colwise().norm().maxCoeff(), 1 + 1e-15);
    const MatrixXd once = w;
    ProjectDictionary(&w);
    ASSERT_EQ(w, once) << "trial " << trial;
  }
}

// The nearest point of { w >= 0, |w| <= 1 } makes an obtuse angle with every
// feasible point: (x - p)'(z - p) <= 0 for all feasible z.
TEST(ProjectDictionary, IsTheNearestFeasiblePoint) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const MatrixXd x = RandomMatrix(4, 1, &random) * 2;
    MatrixXd p = x;
    ProjectDictionary(&p);
    for (int i = 0; i < 50; ++i) {
      MatrixXd z = RandomMatrix(4, 1, &random).cwiseAbs();
      z /= std::max(1.0, z.norm());
      ASSERT_LE(((x - p).transpose() * (z - p))(0, 0), 1e-12);
    }
  }
}

TEST(ProjectDictionary, LeavesShortColumnsAsTheyAre) {
  MatrixXd w(2, 1);
  w << 0.3, 0.4;
  MatrixXd projected = w;
  ProjectDictionary(&projected);
  EXPECT_EQ(projected, w);
}

TEST(ProjectDictionary, TurnsNotFiniteIntoZeroAndHugeIntoLengthOne) {
  MatrixXd w(4, 2);
  w << kNan, 1e300, kInfinity, 1e300, -kInfinity, -1, 0.5, 0;
  ProjectDictionary(&w);
  EXPECT_EQ(w.col(0), Eigen::Vector4d(0, 0, 0, 0.5));
  EXPECT_NEAR(w(0, 1), std::sqrt(0.5), 1e-12);
}

// The loops that the header's formula says, entry by entry.
MatrixXd NaiveStep(const MatrixXd& a, const MatrixXd& b, double step_size,
                   MatrixXd w) {
  double squared = 0;
  for (int i = 0; i < a.rows(); ++i) {
    for (int j = 0; j < a.cols(); ++j) squared += a(i, j) * a(i, j);
  }
  const MatrixXd old = w;
  for (int k = 0; k < w.cols(); ++k) {
    for (int d = 0; d < w.rows(); ++d) {
      double gradient = -b(d, k);
      for (int i = 0; i < a.rows(); ++i) gradient += old(d, i) * a(i, k);
      w(d, k) =
          std::max(0.0, old(d, k) - step_size / std::sqrt(squared) * gradient);
    }
    double length = 0;
    for (int d = 0; d < w.rows(); ++d) length += w(d, k) * w(d, k);
    if (std::sqrt(length) > 1) w.col(k) /= std::sqrt(length);
  }
  return w;
}

// gensim 4.3, gensim/models/nmf.py, Nmf._solve_w and _transform with kappa = 1:
//   eta = kappa / np.linalg.norm(A);  W -= eta * (np.dot(W, A) - B)
//   np.clip(W, 0, W.max(), out=W)
//   sumsq = np.sqrt(np.einsum("ij,ij->j", W, W)); np.maximum(sumsq, 1,
//   out=sumsq) W /= sumsq
MatrixXd GensimSolveW(const MatrixXd& a, const MatrixXd& b, MatrixXd w) {
  const double eta = 1 / a.norm();
  w -= eta * (w * a - b);
  w = w.cwiseMax(0).cwiseMin(std::max(0.0, w.maxCoeff()));
  const Eigen::RowVectorXd sumsq =
      w.array().square().colwise().sum().sqrt().max(1.0).matrix();
  return w.array().rowwise() / sumsq.array();
}

TEST(ProjectedGradientStep, EqualsTheNaiveLoopAndGensimsUpdate) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const int rows = 2 + static_cast<int>(random() % 20);
    const int rank = 1 + static_cast<int>(random() % 6);
    const MatrixXd a = RandomSymmetric(rank, &random);
    const MatrixXd b = RandomMatrix(rows, rank, &random);
    const MatrixXd start = RandomDictionary(rows, rank, random());
    for (const double step_size : {0.25, 1.0, 2.0}) {
      MatrixXd w = start;
      ProjectedGradientStep(a, b, step_size, &w);
      ASSERT_LT((w - NaiveStep(a, b, step_size, start)).norm(), 1e-12);
    }
    MatrixXd w = start;
    ProjectedGradientStep(a, b, 1, &w);
    ASSERT_LT((w - GensimSolveW(a, b, start)).norm(), 1e-12);
  }
}

// 1/2 tr(W'W A) - tr(W'B): a step of 1/|A|_F is at most one over the gradient's
// Lipschitz constant, so that it never rises for a positive semidefinite A.
TEST(ProjectedGradientStep, NeverRaisesTheObjective) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 100; ++trial) {
    const MatrixXd h = RandomMatrix(4, 9, &random).cwiseAbs();
    const MatrixXd a = h * h.transpose();
    const MatrixXd b = RandomMatrix(11, 4, &random);
    const auto objective = [&](const MatrixXd& w) {
      return 0.5 * (w.transpose() * w * a).trace() -
             (w.transpose() * b).trace();
    };
    MatrixXd w = RandomDictionary(11, 4, random());
    for (int step = 0; step < 10; ++step) {
      const double before = objective(w);
      ProjectedGradientStep(a, b, 1, &w);
      ASSERT_LE(objective(w), before + 1e-9);
    }
  }
}

TEST(ProjectedGradientStep, DoesNothingForAZeroOrNotFiniteA) {
  const MatrixXd start = RandomDictionary(5, 2, 1);
  const MatrixXd b = MatrixXd::Ones(5, 2);
  for (const double entry : {0.0, kNan, kInfinity}) {
    MatrixXd w = start;
    ProjectedGradientStep(MatrixXd::Constant(2, 2, entry), b, 1, &w);
    EXPECT_EQ(w, start) << entry;
  }
}

TEST(NearestPositiveSemidefinite, LeavesAPositiveSemidefiniteMatrix) {
  std::mt19937_64 random(5);
  const MatrixXd h = RandomMatrix(4, 9, &random);
  const MatrixXd a = h * h.transpose();
  EXPECT_LT((NearestPositiveSemidefinite(a) - a).norm(), 1e-12);
}

// For a 2 x 2 matrix all positive semidefinite matrices are searched on a grid
// of their square roots: none is nearer.
TEST(NearestPositiveSemidefinite, IsNoFartherThanAnyOfAGrid) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 20; ++trial) {
    const MatrixXd a = RandomSymmetric(2, &random);
    const double distance = (NearestPositiveSemidefinite(a) - a).norm();
    double best = kInfinity;
    for (double x = -2; x <= 2; x += 0.05) {
      for (double y = -2; y <= 2; y += 0.05) {
        for (double z = 0; z <= 2; z += 0.05) {
          const double distance_squared =
              (x * x - a(0, 0)) * (x * x - a(0, 0)) +
              2 * (x * y - a(0, 1)) * (x * y - a(0, 1)) +
              (y * y + z * z - a(1, 1)) * (y * y + z * z - a(1, 1));
          best = std::min(best, distance_squared);
        }
      }
    }
    ASSERT_LE(distance, std::sqrt(best) + 1e-12);
    ASSERT_GE(distance, std::sqrt(best) - 0.2);
  }
}

// The projection onto a closed convex cone: P is in the cone, A - P is in the
// polar cone and the two are orthogonal.
TEST(NearestPositiveSemidefinite, MeetsTheConditionsOfAConesProjection) {
  std::mt19937_64 random(7);
  for (const int size : {1, 2, 3, 10, 50}) {
    const MatrixXd a = RandomSymmetric(size, &random);
    const MatrixXd p = NearestPositiveSemidefinite(a);
    EXPECT_EQ(p, p.transpose());
    EXPECT_GE(EigenOfSymmetric(p).values.minCoeff(), -1e-12 * size);
    EXPECT_LE(EigenOfSymmetric(a - p).values.maxCoeff(), 1e-12 * size);
    EXPECT_NEAR((p * (a - p)).trace(), 0, 1e-10 * size);
  }
}

TEST(NearestPositiveSemidefinite, UsesTheSymmetricPart) {
  MatrixXd a(2, 2);
  a << 1, 3, -3, 1;
  EXPECT_LT((NearestPositiveSemidefinite(a) - MatrixXd::Identity(2, 2)).norm(),
            1e-14);
}

}  // namespace
}  // namespace dpnmf
