#include "curator/factor/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/privacy/run_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator {
namespace {

using Wide = __int128;

enum class Kind { kDense, kSparse };

// One way of running a round: what the results must not depend on.
struct Setting {
  Kind kind = Kind::kDense;
  Execution execution = {};
};

std::unique_ptr<Dataset> DataOf(const Eigen::MatrixXf& v, Kind kind) {
  return kind == Kind::kDense ? DenseOf(v) : SparseOf(v);
}

struct Outcome {
  std::vector<UserContribution> contributions;
  ExactSums sums;
  std::vector<double> h;
};

// Two rounds with the same W, so that the second starts from a warm h.
Outcome RunTwoRounds(const Eigen::MatrixXf& v, const StatisticsRequest& request,
                     const Setting& setting) {
  const auto data = DataOf(v, setting.kind);
  Outcome outcome;
  Coefficients first(request.w->cols(), v.cols());
  EXPECT_TRUE(
      ContributionsForTesting(*data, request, setting.execution, &first).ok());
  Coefficients second = first;
  auto contributions =
      ContributionsForTesting(*data, request, setting.execution, &first);
  auto sums = ComputeStatistics(*data, request, setting.execution, &second);
  EXPECT_TRUE(contributions.ok() && sums.ok()) << sums.status();
  outcome.contributions = *std::move(contributions);
  outcome.sums = *std::move(sums);
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    EXPECT_TRUE(std::equal(first.Of(user), first.Of(user) + first.rank(),
                           second.Of(user)));
    outcome.h.insert(outcome.h.end(), second.Of(user),
                     second.Of(user) + second.rank());
  }
  return outcome;
}

bool Same(const UserContribution& a, const UserContribution& b) {
  return a.k == b.k && a.l == b.l;
}

StatisticsRequest RequestOf(const Eigen::MatrixXd& w, bool outliers) {
  StatisticsRequest request;
  request.w = &w;
  request.outliers = outliers;
  request.lambda = 0.02;
  request.outlier_bound = 0.3;
  return request;
}

// The sums of given contributions in 128-bit integers.
void ExpectSumsOf(const std::vector<UserContribution>& users,
                  const ExactSums& sums, std::size_t features,
                  std::size_t rank) {
  ASSERT_EQ(sums.a.size(), rank * (rank + 1) / 2);
  ASSERT_EQ(sums.b.size(), features * rank);
  std::size_t at = 0;
  for (std::size_t column = 0; column < rank; ++column) {
    for (std::size_t row = 0; row <= column; ++row, ++at) {
      Wide sum = 0;
      for (const auto& user : users) sum += Wide{user.k[row]} * user.k[column];
      ASSERT_TRUE(sum == sums.a[at]) << row << ' ' << column;
    }
  }
  at = 0;
  for (std::size_t column = 0; column < rank; ++column) {
    for (std::size_t row = 0; row < features; ++row, ++at) {
      Wide sum = 0;
      for (const auto& user : users) sum += Wide{user.l[row]} * user.k[column];
      ASSERT_TRUE(sum == sums.b[at]) << row << ' ' << column;
    }
  }
}

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = {
      {Kind::kDense, {1, 16}},  {Kind::kDense, {1, 48}},
      {Kind::kDense, {2, 256}}, {Kind::kDense, {3, 32}},
      {Kind::kDense, {4, 0}},   {Kind::kDense, {4, 7}},
      {Kind::kSparse, {1, 16}}, {Kind::kSparse, {4, 64}},
      {Kind::kSparse, {2, 0}},
  };
  return settings;
}

class BothKinds : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Statistics, BothKinds, testing::Bool(),
                         [](const auto& outliers) {
                           return outliers.param ? "WithOutliers"
                                                 : "WithoutOutliers";
                         });

TEST_P(BothKinds, Theorem1EveryBitIsTheSameForAnyBlockThreadsAndStorage) {
  // Ranks and feature counts that leave every size of remainder.
  for (const auto& [features, rank, users] :
       {std::tuple{37, 5, 301}, {64, 13, 97}, {101, 8, 260}, {7, 1, 33}}) {
    const Eigen::MatrixXf v = RandomColumns(features, users, 11, 0.4);
    const Eigen::MatrixXd w = RandomW(features, rank, 12);
    const StatisticsRequest request = RequestOf(w, GetParam());
    const Outcome expected = RunTwoRounds(v, request, {});
    for (const Setting& setting : Settings()) {
      const Outcome outcome = RunTwoRounds(v, request, setting);
      EXPECT_EQ(outcome.h, expected.h);
      EXPECT_EQ(outcome.sums.a, expected.sums.a);
      EXPECT_EQ(outcome.sums.b, expected.sums.b);
      EXPECT_TRUE(std::equal(outcome.contributions.begin(),
                             outcome.contributions.end(),
                             expected.contributions.begin(), Same));
    }
  }
}

TEST_P(BothKinds, Theorem1AUsersBitsDoNotDependOnPlaceOrCompany) {
  const int features = 45, rank = 7, users = 130;
  const Eigen::MatrixXf v = RandomColumns(features, users, 21, 0.5);
  const Eigen::MatrixXd w = RandomW(features, rank, 22);
  const StatisticsRequest request = RequestOf(w, GetParam());
  const Outcome expected = RunTwoRounds(v, request, {});
  std::mt19937_64 random(23);
  for (int trial = 0; trial < 6; ++trial) {
    std::vector<int> order(users);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const Setting setting = Settings()[trial % Settings().size()];
    const Outcome permuted =
        RunTwoRounds(v(Eigen::all, order), request, setting);
    EXPECT_EQ(permuted.sums.a, expected.sums.a);
    EXPECT_EQ(permuted.sums.b, expected.sums.b);
    for (int place = 0; place < users; ++place) {
      ASSERT_TRUE(Same(permuted.contributions[place],
                       expected.contributions[order[place]]));
    }
  }
  // One user kept, all others replaced, at every place of a block; the others
  // include what breaks shared scalings, restarts and exponents.
  for (int place = 0; place < 40; ++place) {
    Eigen::MatrixXf others = RandomColumns(features, 40, 100 + place, 0.5);
    others.col((place + 1) % 40).setConstant(1e30f);
    others.col((place + 2) % 40).setConstant(1e-42f);
    others.col((place + 3) % 40)
        .setConstant(std::numeric_limits<float>::infinity());
    others.col((place + 4) % 40)
        .setConstant(std::numeric_limits<float>::quiet_NaN());
    others.col(place) = v.col(5);
    const Outcome outcome = RunTwoRounds(others, request, {});
    ASSERT_TRUE(Same(outcome.contributions[place], expected.contributions[5]))
        << place;
  }
}

TEST_P(BothKinds, AloneIsTheSameAsInACrowd) {
  const Eigen::MatrixXf v = RandomColumns(30, 50, 31, 0.6);
  const Eigen::MatrixXd w = RandomW(30, 11, 32);
  const StatisticsRequest request = RequestOf(w, GetParam());
  const Outcome crowd = RunTwoRounds(v, request, {});
  for (int user = 0; user < 50; ++user) {
    const Outcome alone = RunTwoRounds(v.col(user), request, {});
    ASSERT_TRUE(Same(alone.contributions[0], crowd.contributions[user]));
  }
}

TEST_P(BothKinds, Theorem2SumsAreExact) {
  for (const Kind kind : {Kind::kDense, Kind::kSparse}) {
    // From the plan's bits to ones for which doubles do not suffice.
    for (const int bits : {8, 20, 23, 26}) {
      const int features = 23, rank = 6, users = 515;
      const Eigen::MatrixXf v = RandomColumns(features, users, 41, 0.3);
      const Eigen::MatrixXd w = RandomW(features, rank, 42);
      StatisticsRequest request = RequestOf(w, GetParam());
      request.coefficient_bits = bits;
      request.data_bits = bits;
      const Outcome outcome = RunTwoRounds(v, request, {kind, {2, 64}});
      ExpectSumsOf(outcome.contributions, outcome.sums, features, rank);
    }
  }
}

TEST(Statistics, RefusesBitsWithWhichSumsCouldReachTwoToThe62) {
  const Eigen::MatrixXd w = RandomW(4, 2, 1);
  StatisticsRequest request = RequestOf(w, false);
  request.coefficient_bits = 28;
  request.data_bits = 28;
  const auto status_of = [&](int users) {
    const auto data = DenseOf(Eigen::MatrixXf::Constant(4, users, 0.5f));
    Coefficients h(2, users);
    return ComputeStatistics(*data, request, {}, &h).status();
  };
  // m = 2^28: 63 users stay below 2^62, 64 could reach it.
  EXPECT_TRUE(status_of(63).ok());
  EXPECT_EQ(ReasonCode(status_of(64)), "sums-overflow");
}

TEST(Statistics, RefusesShapesThatDoNotFit) {
  const auto data = DenseOf(RandomColumns(6, 9, 1));
  const Eigen::MatrixXd w = RandomW(6, 2, 1), wrong = RandomW(5, 2, 1);
  StatisticsRequest request = RequestOf(w, false);
  Coefficients fits(2, 9), other_rank(3, 9), other_users(2, 8);
  const auto code = [&](Coefficients* h) {
    return ReasonCode(ComputeStatistics(*data, request, {}, h).status());
  };
  EXPECT_EQ(code(&fits), "");
  EXPECT_EQ(code(&other_rank), "statistics-request-malformed");
  EXPECT_EQ(code(&other_users), "statistics-request-malformed");
  request.w = &wrong;
  EXPECT_EQ(code(&fits), "statistics-request-malformed");
  request.w = &w;
  request.data_bound = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code(&fits), "bits-out-of-range");
}

// How many people there are is private then: nothing of its size may be had
// from the machine in advance of a release.
TEST(Statistics, HasOneSizeHoweverManyPeopleWhereTheirNumberIsPrivate) {
  const Eigen::MatrixXf v = RandomColumns(6, 30, 1);
  const Eigen::MatrixXd w = RandomW(6, 2, 1);
  const StatisticsRequest request = RequestOf(w, false);
  DatasetDescription description;
  description.adjacency = Adjacency::kAddRemoveOne;
  description.users = 25;
  for (const int users : {29, 30}) {
    const auto data = DenseOf(v.leftCols(users), description);
    ASSERT_EQ(data->private_user_count(), static_cast<std::uint64_t>(users));
    Coefficients h = CoefficientsFor(*data, 2), exact(2, users);
    EXPECT_EQ(h.users(), LargestUserCount(FactsOf(data->description())));
    EXPECT_EQ(h.users(), 2u * 25 + 1024);
    const ExactSums sums = ComputeStatistics(*data, request, {}, &h).value();
    const ExactSums expected =
        ComputeStatistics(*data, request, {}, &exact).value();
    EXPECT_EQ(sums.a, expected.a);
    EXPECT_EQ(sums.b, expected.b);
  }
}

// ---------------------------------------------------------------- bounds

void ExpectWithinBounds(const StatisticsRequest& request,
                        const std::vector<UserContribution>& users) {
  const auto check = [](const std::vector<std::int64_t>& x, double bound,
                        int bits) {
    Wide squares = 0;
    for (const std::int64_t entry : x) {
      ASSERT_GE(entry, 0);
      ASSERT_LE(static_cast<std::uint64_t>(entry),
                LargestEntrySteps(bound, bits));
      squares += Wide{entry} * entry;
    }
    ASSERT_TRUE(squares <= static_cast<Wide>(NormBoundSteps(bound, bits)));
  };
  for (const UserContribution& user : users) {
    check(user.k, request.coefficient_bound, request.coefficient_bits);
    check(user.l, request.data_bound, request.data_bits);
  }
}

// Dictionaries that pass CheckDictionary and mean harm.
std::vector<Eigen::MatrixXd> HostileDictionaries(int features, int rank) {
  using Eigen::MatrixXd;
  MatrixXd one_hot = MatrixXd::Zero(features, rank);
  for (int k = 0; k < rank; ++k) one_hot(k % features, k) = 2;
  MatrixXd tiny_one = RandomW(features, rank, 51);
  tiny_one.col(0).setConstant(1e-160);
  tiny_one.col(1).setConstant(5e-324);
  MatrixXd repeated = RandomW(features, 1, 52).replicate(1, rank);
  MatrixXd dead = RandomW(features, rank, 53);
  dead.col(rank / 2).setZero();
  return {MatrixXd::Zero(features, rank),
          MatrixXd::Constant(features, rank, 2.0),
          MatrixXd::Constant(features, rank, 5e-324),
          MatrixXd::Constant(features, rank, 1e-154),
          MatrixXd::Constant(features, rank, 1e-60),
          one_hot,
          tiny_one,
          repeated,
          dead};
}

Eigen::MatrixXf HostileColumns(int features) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float values[] = {
      0,         1,     1e-45f,
      3e38f,     1e-3f, infinity,
      -infinity, -1,    std::numeric_limits<float>::quiet_NaN()};
  Eigen::MatrixXf v = RandomColumns(features, 32, 61, 0.5);
  for (int i = 0; i < 9; ++i) v.col(i).setConstant(values[i]);
  for (int i = 0; i < 9; ++i) v(i % features, 10 + i) = values[i];
  v.col(20).setZero();
  v(0, 20) = 1;
  v.col(21) = v.col(22) * 1.0000001f;
  return v;
}

TEST_P(BothKinds, Theorem1BoundsHoldForHostileDictionariesAndColumns) {
  const int features = 19, rank = 8;
  const Eigen::MatrixXf v = HostileColumns(features);
  for (const Eigen::MatrixXd& w : HostileDictionaries(features, rank)) {
    for (const double bound : {1.0, 0.7, 3.0}) {
      StatisticsRequest request = RequestOf(w, GetParam());
      request.coefficient_bound = bound;
      request.data_bound = bound;
      for (const Kind kind : {Kind::kDense, Kind::kSparse}) {
        const Outcome outcome = RunTwoRounds(v, request, {kind, {2, 16}});
        ExpectWithinBounds(request, outcome.contributions);
        ExpectSumsOf(outcome.contributions, outcome.sums, features, rank);
        for (const double h : outcome.h)
          ASSERT_TRUE(std::isfinite(h) && h >= 0);
      }
    }
  }
}

TEST(Statistics, OrdinaryUsersPassTheGate) {
  // The gate is for what clipping gets wrong, which should be nothing.
  const Eigen::MatrixXf v = RandomColumns(50, 2000, 71, 0.7);
  const Eigen::MatrixXd w = RandomW(50, 10, 72) * 0.5;  // |h| > 1 for most
  for (const int bits : {8, 14, 20}) {
    StatisticsRequest request = RequestOf(w, false);
    request.coefficient_bits = bits;
    request.data_bits = bits;
    const Outcome outcome = RunTwoRounds(v, request, {});
    for (const UserContribution& user : outcome.contributions) {
      ASSERT_THAT(user.k, testing::Contains(testing::Gt(0)));
      ASSERT_THAT(user.l, testing::Contains(testing::Gt(0)));
    }
  }
}

// ----------------------------------------------------------- sensitivity

// Squared Frobenius distances of S_A (whole symmetric matrix) and S_B.
struct Distance {
  Wide a = 0, b = 0;
};

Distance Between(const ExactSums& x, const ExactSums& y, std::size_t rank) {
  Distance distance;
  std::size_t at = 0;
  for (std::size_t column = 0; column < rank; ++column) {
    for (std::size_t row = 0; row <= column; ++row, ++at) {
      const Wide gap = Wide{x.a[at]} - y.a[at];
      distance.a += gap * gap * (row == column ? 1 : 2);
    }
  }
  for (std::size_t i = 0; i < x.b.size(); ++i) {
    const Wide gap = Wide{x.b[i]} - y.b[i];
    distance.b += gap * gap;
  }
  return distance;
}

// Delta_A^2 = factor s s, Delta_B^2 = factor s t in lattice steps, with s and t
// the bounds on squared lengths; factor 2 (replace one) or 1 (add or remove).
void ExpectWithinSensitivity(const StatisticsRequest& request,
                             const Distance& distance, int factor) {
  const Wide s =
      NormBoundSteps(request.coefficient_bound, request.coefficient_bits);
  const Wide t = NormBoundSteps(request.data_bound, request.data_bits);
  ASSERT_TRUE(distance.a <= factor * s * s);
  ASSERT_TRUE(distance.b <= factor * s * t);
}

TEST_P(BothKinds, Theorems3And4NeighboursNeverDifferByMoreThanTheSensitivity) {
  const int features = 12, rank = 5, users = 20;
  std::mt19937_64 random(81);
  const std::vector<Eigen::MatrixXd> hostile =
      HostileDictionaries(features, rank);
  const Eigen::MatrixXf strange = HostileColumns(features);
  for (int trial = 0; trial < 300; ++trial) {
    const Eigen::MatrixXd w = trial % 2 == 0
                                  ? RandomW(features, rank, trial)
                                  : hostile[trial / 2 % hostile.size()];
    StatisticsRequest request = RequestOf(w, GetParam());
    request.coefficient_bits = request.data_bits = trial % 3 == 0 ? 4 : 20;
    Eigen::MatrixXf v = RandomColumns(features, users, 1000 + trial, 0.5);
    const int place = static_cast<int>(random() % users);
    Eigen::MatrixXf replaced = v;
    replaced.col(place) = strange.col(random() % strange.cols());
    Eigen::MatrixXf removed = v;
    removed.col(place).setZero();  // a user that adds nothing
    const auto sums = [&](const Eigen::MatrixXf& data) {
      Coefficients h(rank, data.cols());
      return *ComputeStatistics(*DenseOf(data), request, {}, &h);
    };
    const ExactSums base = sums(v);
    ExpectWithinSensitivity(request, Between(base, sums(replaced), rank), 2);
    ExpectWithinSensitivity(request, Between(base, sums(removed), rank), 1);
    std::vector<int> others;
    for (int user = 0; user < users; ++user) {
      if (user != place) others.push_back(user);
    }
    ExpectWithinSensitivity(
        request, Between(base, sums(v(Eigen::all, others)), rank), 1);
  }
}

TEST(Statistics, TheSensitivityIsAttained) {
  // Two users with orthogonal h and u of full length: the bound is tight.
  Eigen::MatrixXd w = Eigen::MatrixXd::Identity(4, 2);
  Eigen::MatrixXf one = Eigen::MatrixXf::Zero(4, 1), other = one;
  one(0) = other(1) = 1;
  const StatisticsRequest request = RequestOf(w, false);
  const auto sums = [&](const Eigen::MatrixXf& v) {
    Coefficients h(2, 1);
    return *ComputeStatistics(*DenseOf(v), request, {}, &h);
  };
  const Distance distance = Between(sums(one), sums(other), 2);
  const Wide s = NormBoundSteps(1, 20);
  EXPECT_TRUE(distance.a == 2 * s * s);
  EXPECT_TRUE(distance.b == 2 * s * s);
}

// ---------------------------------------------------------------- H step

TEST_P(BothKinds, EqualsATextbookImplementation) {
  for (const auto& [features, rank] :
       {std::pair{40, 6}, {361, 50}, {13, 13}, {200, 1}, {97, 7}}) {
    const int users = 21;
    const Eigen::MatrixXf v = RandomColumns(features, users, 91, 0.6);
    Eigen::MatrixXd w = RandomW(features, rank, 92);
    if (rank > 5) w.col(3).setZero();
    StatisticsRequest request = RequestOf(w, GetParam());
    const auto data = DenseOf(v);
    Coefficients h(rank, users);
    Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(rank, users);
    for (const int iterations : {0, 1, 2, 7}) {
      request.inner_iterations = iterations;
      ASSERT_TRUE(ComputeStatistics(*data, request, {}, &h).ok());
      for (int user = 0; user < users; ++user) {
        expected.col(user) =
            NaiveHStep(request, v.col(user).cast<double>(), expected.col(user))
                .h;
        ASSERT_LE((HOf(h, user) - expected.col(user)).lpNorm<Eigen::Infinity>(),
                  1e-12 * (1 + expected.col(user).lpNorm<Eigen::Infinity>()));
      }
    }
  }
}

TEST_P(BothKinds, IntegersAreTheClippedStepRoundedTowardZero) {
  const int features = 33, rank = 9, users = 40;
  const Eigen::MatrixXf v = RandomColumns(features, users, 101, 0.6);
  const Eigen::MatrixXd w = RandomW(features, rank, 102) * 0.7;
  const StatisticsRequest request = RequestOf(w, GetParam());
  Coefficients h(rank, users);
  const auto contributions =
      *ContributionsForTesting(*DenseOf(v), request, {}, &h);
  const auto expect_quantised = [](const std::vector<std::int64_t>& integers,
                                   Eigen::VectorXd x) {
    x = x.cwiseMax(0);
    x *= std::min(1.0, 1 / x.norm()) * 0x1p20;
    for (std::size_t i = 0; i < integers.size(); ++i) {
      ASSERT_LE(static_cast<double>(integers[i]), x(i) + 1e-3);
      ASSERT_GT(static_cast<double>(integers[i]), x(i) - 1 - 1e-3);
    }
  };
  for (int user = 0; user < users; ++user) {
    const NaiveStep step = NaiveHStep(request, v.col(user).cast<double>(),
                                      Eigen::VectorXd::Zero(rank));
    expect_quantised(contributions[user].k, step.h);
    expect_quantised(contributions[user].l, step.u);
  }
}

TEST_P(BothKinds, TheObjectiveNeverRises) {
  const int features = 30, users = 25, rank = 12;
  const Eigen::MatrixXf v = RandomColumns(features, users, 111, 0.5);
  for (int trial = 0; trial < 4; ++trial) {
    const Eigen::MatrixXd w = RandomW(features, rank, 112 + trial);
    StatisticsRequest request = RequestOf(w, GetParam());
    request.inner_iterations = 1;
    request.outlier_bound = trial % 2 == 0 ? 1.0 : 0.05;
    const auto data = DenseOf(v);
    Coefficients h(rank, users);
    std::vector<double> last(users, std::numeric_limits<double>::infinity());
    for (int iteration = 0; iteration < 40; ++iteration) {
      ASSERT_TRUE(ComputeStatistics(*data, request, {}, &h).ok());
      for (int user = 0; user < users; ++user) {
        const double objective =
            RobustObjective(request, v.col(user).cast<double>(), HOf(h, user));
        ASSERT_LE(objective, last[user] + 1e-14);
        last[user] = objective;
      }
    }
  }
}

// max_k |min(h_k, gradient_k)|: 0 exactly at the optimum (KKT).
double OptimalityGap(const StatisticsRequest& request, const Eigen::VectorXd& v,
                     const Eigen::VectorXd& h) {
  const Eigen::VectorXd e = v - *request.w * h;
  Eigen::VectorXd inlier = e;
  if (request.outliers)
    inlier -= OutliersOf(e, request.lambda, request.outlier_bound);
  const Eigen::VectorXd gradient = -request.w->transpose() * inlier;
  return h.cwiseMin(gradient).lpNorm<Eigen::Infinity>();
}

TEST_P(BothKinds, ReachesTheOptimumThatProjectedGradientReaches) {
  const int features = 40, users = 10, rank = 5;
  const Eigen::MatrixXf v = RandomColumns(features, users, 121, 0.7);
  const Eigen::MatrixXd w = RandomW(features, rank, 122);
  StatisticsRequest request = RequestOf(w, GetParam());
  request.outlier_bound = 10;  // the cap unreached: convex, one optimum
  request.inner_iterations = 3000;
  Coefficients h(rank, users);
  ASSERT_TRUE(ComputeStatistics(*DenseOf(v), request, {}, &h).ok());
  // The step of gensim's Nmf: h <- max(0, h - (1/|W'W|_F) W'(W h - v + r)),
  // with r = S(v - W h) afterwards.
  const double step = 1 / (w.transpose() * w).norm();
  for (int user = 0; user < users; ++user) {
    const Eigen::VectorXd column = v.col(user).cast<double>();
    Eigen::VectorXd naive = Eigen::VectorXd::Zero(rank);
    Eigen::VectorXd r = Eigen::VectorXd::Zero(features);
    for (int iteration = 0; iteration < 20000; ++iteration) {
      naive -= step * (w.transpose() * (w * naive - column + r));
      naive = naive.cwiseMax(0);
      if (request.outliers) {
        r = OutliersOf(column - w * naive, request.lambda,
                       request.outlier_bound);
      }
    }
    EXPECT_LE(OptimalityGap(request, column, HOf(h, user)), 1e-10);
    EXPECT_NEAR(RobustObjective(request, column, HOf(h, user)),
                RobustObjective(request, column, naive), 1e-9);
    EXPECT_LE((HOf(h, user) - naive).lpNorm<Eigen::Infinity>(), 1e-5);
  }
}

TEST(HStep, NeedsFewerIterationsThanProjectedGradient) {
  const int features = 60, users = 50, rank = 10, iterations = 10;
  const Eigen::MatrixXf v = RandomColumns(features, users, 131, 0.7);
  const Eigen::MatrixXd w = RandomW(features, rank, 132);
  StatisticsRequest request = RequestOf(w, false);
  request.inner_iterations = iterations;
  Coefficients h(rank, users);
  ASSERT_TRUE(ComputeStatistics(*DenseOf(v), request, {}, &h).ok());
  const double step = 1 / (w.transpose() * w).norm();
  for (int user = 0; user < users; ++user) {
    const Eigen::VectorXd column = v.col(user).cast<double>();
    Eigen::VectorXd naive = Eigen::VectorXd::Zero(rank);
    for (int i = 0; i < iterations; ++i) {
      naive =
          (naive - step * (w.transpose() * (w * naive - column))).cwiseMax(0);
    }
    EXPECT_LT(RobustObjective(request, column, HOf(h, user)),
              RobustObjective(request, column, naive));
  }
}

TEST(HStep, WithoutACapTheResidualIsTheHuberClip) {
  // u - W h = e - S_{lambda,M}(e) = clip(e, -lambda, lambda) while |e| - lambda
  // stays below M: the gradient of the Huber loss.
  const int features = 24, users = 16, rank = 3;
  const Eigen::MatrixXf v = RandomColumns(features, users, 141, 0.4);
  const Eigen::MatrixXd w = RandomW(features, rank, 142);
  StatisticsRequest request = RequestOf(w, true);
  request.outlier_bound = 5;
  Coefficients h(rank, users);
  const auto contributions =
      *ContributionsForTesting(*DenseOf(v), request, {}, &h);
  int clipped = 0;
  for (int user = 0; user < users; ++user) {
    const Eigen::VectorXd reconstruction = w * HOf(h, user);
    const Eigen::VectorXd e = v.col(user).cast<double>() - reconstruction;
    const Eigen::VectorXd clip =
        e.cwiseMin(request.lambda).cwiseMax(-request.lambda);
    clipped += static_cast<int>((e.array().abs() > request.lambda).count());
    const Eigen::VectorXd u = (reconstruction + clip).cwiseMax(0);
    const double scale = std::min(1.0, 1 / u.norm()) * 0x1p20;
    for (int i = 0; i < features; ++i) {
      ASSERT_NEAR(static_cast<double>(contributions[user].l[i]),
                  std::floor(u(i) * scale), 1);
    }
  }
  EXPECT_GT(clipped, users);
}

TEST(HStep, AHugeLambdaIsNoOutliers) {
  const Eigen::MatrixXf v = RandomColumns(31, 20, 151, 0.5);
  const Eigen::MatrixXd w = RandomW(31, 6, 152);
  StatisticsRequest request = RequestOf(w, true);
  request.lambda = 1e6;
  Coefficients with(6, 20), without(6, 20);
  ASSERT_TRUE(ComputeStatistics(*DenseOf(v), request, {}, &with).ok());
  request.outliers = false;
  ASSERT_TRUE(ComputeStatistics(*DenseOf(v), request, {}, &without).ok());
  for (int user = 0; user < 20; ++user) {
    EXPECT_LE((HOf(with, user) - HOf(without, user)).lpNorm<Eigen::Infinity>(),
              1e-13);
  }
}

// ------------------------------------------------- the whole method, no noise

double MeanObjective(const Eigen::MatrixXf& v, const StatisticsRequest& request,
                     const Coefficients& h) {
  double sum = 0;
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    sum += RobustObjective(request, v.col(user).cast<double>(), HOf(h, user));
  }
  return sum / static_cast<double>(v.cols());
}

// A and B as real means.
std::pair<Eigen::MatrixXd, Eigen::MatrixXd> Means(const ExactSums& sums,
                                                  int features, int rank,
                                                  double users) {
  Eigen::MatrixXd a(rank, rank), b(features, rank);
  std::size_t at = 0;
  for (int column = 0; column < rank; ++column) {
    for (int row = 0; row <= column; ++row, ++at) {
      a(row, column) = a(column, row) =
          static_cast<double>(sums.a[at]) * 0x1p-40 / users;
    }
  }
  for (std::size_t i = 0; i < sums.b.size(); ++i) {
    b.data()[i] = static_cast<double>(sums.b[i]) * 0x1p-40 / users;
  }
  return {a, b};
}

TEST_P(BothKinds, TrainingWithoutNoiseNeverRaisesTheObjective) {
  const int features = 36, users = 120, rank = 6;
  const Eigen::MatrixXf v = RandomColumns(features, users, 161, 0.6);
  Eigen::MatrixXd w = RandomW(features, rank, 162);
  StatisticsRequest request = RequestOf(w, GetParam());
  request.outlier_bound = 10;
  request.coefficient_bound = 2;  // nothing is clipped
  const auto data = DenseOf(v);
  Coefficients h(rank, users);
  double last = std::numeric_limits<double>::infinity(), first = 0;
  for (int round = 0; round < 30; ++round) {
    const ExactSums sums = *ComputeStatistics(*data, request, {}, &h);
    const double objective = MeanObjective(v, request, h);
    ASSERT_LE(objective, last + 1e-6);  // the lattice's rounding
    if (round == 0) first = objective;
    last = objective;
    // Projected gradient on 1/2 tr(W'W A) - tr(W'B), as gensim's _solve_w.
    const auto [a, b] = Means(sums, features, rank, users);
    for (int step = 0; step < 5; ++step) {
      w = (w - (w * a - b) / a.norm()).cwiseMax(0);
      w.array().rowwise() /= w.colwise().norm().array().max(1);
    }
  }
  EXPECT_LT(last, 0.9 * first);
}

}  // namespace
}  // namespace dpnmf::curator
