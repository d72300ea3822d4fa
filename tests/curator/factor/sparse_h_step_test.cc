#include "curator/factor/sparse_h_step.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator {
namespace {

using testing::IsSupersetOf;

// Rows whose lengths fall like 1 / rank of the row, in random order, as those
// of words do.
Eigen::MatrixXd UnevenW(int features, int rank, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Eigen::MatrixXd w = RandomW(features, rank, seed);
  std::vector<int> place(features);
  for (int i = 0; i < features; ++i) place[i] = i + 1;
  std::shuffle(place.begin(), place.end(), random);
  for (int i = 0; i < features; ++i) w.row(i) /= place[i];
  for (int k = 0; k < rank; ++k) w.col(k).normalize();
  return w;
}

TEST(LongRows, HoldEveryRowThatCanExceedLambda) {
  std::mt19937_64 random(5);
  std::exponential_distribution<double> exponential(3);
  const Eigen::MatrixXd w = UnevenW(700, 9, 4);
  const LongRows rows(w);
  for (const double lambda : {0.001, 0.01, 0.1, 0.5}) {
    for (int trial = 0; trial < 50; ++trial) {
      Eigen::VectorXd h(9);
      for (double& x : h) x = exponential(random);
      std::vector<std::int32_t> needed;
      const Eigen::VectorXd product = w * h;
      for (std::int32_t row = 0; row < 700; ++row) {
        if (product[row] > lambda) needed.push_back(row);
      }
      const int level = rows.LevelFor({h.data(), 9}, lambda);
      const auto held = rows.Rows(level);
      ASSERT_THAT(std::vector(held.begin(), held.end()), IsSupersetOf(needed));
      ASSERT_TRUE(std::is_sorted(held.begin(), held.end()));
      // (|W| |h| / lambda)^2, and at most twice as many by the level.
      ASSERT_LE(held.size(),
                16 + 2 * w.squaredNorm() * h.squaredNorm() / lambda / lambda);
    }
  }
}

TEST(LongRows, TakeNoneForZeroAndAllWhereLengthsSayNothing) {
  const Eigen::MatrixXd w = UnevenW(100, 3, 4);
  const LongRows rows(w);
  EXPECT_EQ(rows.LevelFor(std::vector<double>{0, 0, 0}, 0.1), 0);
  EXPECT_TRUE(rows.Rows(0).empty());
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double odd : {infinity, nan, 1e200}) {
    EXPECT_EQ(rows.LevelFor(std::vector<double>{0, odd, 0}, 0.1),
              rows.last_level());
  }
  EXPECT_EQ(rows.LevelFor(std::vector<double>{0, 0, 0}, 0), rows.last_level());
  EXPECT_EQ(rows.Rows(rows.last_level()).size(), 100u);
}

TEST(LongRows, LevelsSpanOneRowToManyAndTies) {
  for (const int features : {1, 15, 16, 17, 33}) {
    const LongRows rows(Eigen::MatrixXd::Constant(features, 2, 0.5));
    EXPECT_EQ(rows.Rows(rows.last_level()).size(),
              static_cast<std::size_t>(features));
    EXPECT_EQ(rows.LevelFor(std::vector<double>{1, 1}, 0.9), rows.last_level());
  }
}

// Every user's integers and the bits of h.
struct SparseOutcome {
  std::vector<std::vector<std::int64_t>> k, l;
  std::vector<double> h;
  bool operator==(const SparseOutcome&) const = default;
};

SparseOutcome RunOn(const Dataset& data, const StatisticsRequest& request) {
  Coefficients h(request.w->cols(), data.private_user_count());
  SparseOutcome outcome;
  for (int round = 0; round < 2; ++round) {  // the second from a warm h
    const auto users = ContributionsForTesting(data, request, {2, 0}, &h);
    EXPECT_TRUE(users.ok()) << users.status();
    for (const UserContribution& user : *users) {
      outcome.k.push_back(user.k);
      outcome.l.push_back(user.l);
    }
  }
  for (std::uint64_t user = 0; user < h.users(); ++user)
    outcome.h.insert(outcome.h.end(), h.Of(user), h.Of(user) + h.rank());
  return outcome;
}

TEST(SparseOutliers, HaveTheBitsOfDenseStorageForEveryThreshold) {
  int zeros_with_inliers = 0, zeros_without = 0;
  for (const int rank : {1, 6, 19}) {
    const Eigen::MatrixXf v = RandomColumns(403, 70, 21, 0.05);
    const Eigen::MatrixXd w = UnevenW(403, rank, 22);
    for (const double lambda : {0.0, 1e-3, 0.01, 0.03, 0.1, 0.4, 2.0}) {
      for (const double bound : {0.0, 0.05, 1.0}) {
        StatisticsRequest request;
        request.w = &w;
        request.outliers = true;
        request.lambda = lambda;
        request.outlier_bound = bound;
        request.inner_iterations = 4;
        const SparseOutcome sparse = RunOn(*SparseOf(v), request);
        ASSERT_EQ(sparse, RunOn(*DenseOf(v), request))
            << rank << ' ' << lambda << ' ' << bound;
        for (int user = 0; user < v.cols(); ++user) {
          for (int row = 0; row < v.rows(); ++row) {
            if (v(row, user) != 0) continue;
            ++(sparse.l[user][row] > 0 ? zeros_with_inliers : zeros_without);
          }
        }
      }
    }
  }
  // The grid has both kinds of zeros, or it would prove nothing.
  EXPECT_GT(zeros_with_inliers, 1000);
  EXPECT_GT(zeros_without, 1000);
}

// More entries than a worker keeps: some supports are put together again each
// time, in pieces. lambda = 0: every row is long.
TEST(SparseOutliers, HaveTheSameBitsWhereSupportsAreNotKept) {
  constexpr int kFeatures = 70'000, kUsers = 18;
  Eigen::MatrixXf v = RandomColumns(kFeatures, kUsers, 31, 0.001);
  v.col(3).setConstant(0.003F);
  v.col(16).setZero();
  const Eigen::MatrixXd w = UnevenW(kFeatures, 2, 32);
  StatisticsRequest request;
  request.w = &w;
  request.outliers = true;
  request.outlier_bound = 0.01;
  request.inner_iterations = 2;
  for (const double lambda : {0.0, 1e-4}) {
    request.lambda = lambda;
    EXPECT_EQ(RunOn(*SparseOf(v), request), RunOn(*DenseOf(v), request))
        << lambda;
  }
}

TEST(SparseOutliers, EmptyColumnsAndDeadComponents) {
  Eigen::MatrixXf v = RandomColumns(60, 20, 3, 0.1);
  v.col(0).setZero();
  v.col(17).setZero();
  Eigen::MatrixXd w = UnevenW(60, 4, 2);
  w.col(2).setZero();
  w.row(5).setZero();
  StatisticsRequest request;
  request.w = &w;
  request.outliers = true;
  request.lambda = 0.05;
  request.outlier_bound = 0.5;
  EXPECT_EQ(RunOn(*SparseOf(v), request), RunOn(*DenseOf(v), request));
}

}  // namespace
}  // namespace dpnmf::curator
