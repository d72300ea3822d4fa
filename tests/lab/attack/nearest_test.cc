#include "lab/attack/nearest.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lab/attack/sampling.h"
#include "lab/tables/draws.h"
#include "tests/lab/attack/attack_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

// Whole numbers: distances are exact, and many tie.
struct Case {
  Eigen::MatrixXd published, known = {};
  Eigen::MatrixXi order = {};
  std::vector<int> own = {};
};

Case CaseOf(Eigen::Index people, Eigen::Index columns, int most) {
  Case one = {.published = WholeNumbers(people, columns, most, 1)};
  Draws draws(2);
  one.own = AllOf(people);
  draws.Sample(static_cast<std::size_t>(people / 2), &one.own);
  const Eigen::Index targets = static_cast<Eigen::Index>(one.own.size());
  one.known = WholeNumbers(columns, targets, most, 3);
  one.order.resize(columns, targets);
  for (Eigen::Index t = 0; t < targets; ++t) {
    std::vector<int> order = AllOf(columns);
    draws.Sample(static_cast<std::size_t>(columns), &order);
    for (Eigen::Index j = 0; j < columns; ++j)
      one.order(j, t) = order[static_cast<std::size_t>(j)];
    // Half of the targets are published as they are.
    if (t % 2 == 0)
      for (Eigen::Index c = 0; c < columns; ++c)
        one.known(c, t) =
            one.published(one.own[static_cast<std::size_t>(t)], c);
  }
  return one;
}

// 1/m, by trying every row.
double ShareByTrial(const Case& one, Eigen::Index t, int count,
                    const Eigen::VectorXd& weights) {
  double least = std::numeric_limits<double>::infinity();
  int ties = 0;
  bool mine = false;
  for (int r = 0; r < one.published.rows(); ++r) {
    double distance = 0;
    for (int j = 0; j < count; ++j) {
      const int c = one.order(j, t);
      const double off = one.published(r, c) - one.known(c, t);
      distance += weights[c] * off * off;
    }
    if (distance < least) {
      least = distance;
      ties = 0;
      mine = false;
    }
    if (distance == least) {
      ++ties;
      mine = mine || r == one.own[static_cast<std::size_t>(t)];
    }
  }
  return mine ? 1.0 / ties : 0;
}

TEST(Nearest, FindsTheOwnRowsThatTrialFinds) {
  // More rows than a block has, of few and of many values.
  for (const auto& [people, columns, most] :
       {std::tuple<int, int, int>{300, 5, 3}, {5000, 3, 30}, {40, 1, 5}}) {
    const Case one = CaseOf(people, columns, most);
    Eigen::VectorXd weights = Eigen::VectorXd::Ones(columns);
    weights[0] = 4;
    const Search search = {.known = one.known,
                           .order = one.order,
                           .weights = weights,
                           .counts = columns > 2 ? std::vector<int>{1, columns}
                                                 : std::vector<int>{columns}};
    const auto found =
        FindOwnRows(one.published, search, one.own, {.threads = 2});
    ASSERT_TRUE(found.ok());
    for (Eigen::Index t = 0; t<one.known.cols(); t += people> 1000 ? 25 : 1)
      for (std::size_t k = 0; k < search.counts.size(); ++k)
        ASSERT_DOUBLE_EQ((*found)(static_cast<Eigen::Index>(k), t),
                         ShareByTrial(one, t, search.counts[k], weights))
            << people << " people, target " << t;
  }
}

// Tables of real numbers, where most rows are left after a few columns. With
// some noise the own row is the nearest of many; with much noise it rarely is.
TEST(Nearest, RowsThatAreLeftEarlyDoNotChangeWhatIsFound) {
  for (const double noise : {0.3, 1.5}) {
    Case one = CaseOf(20'000, 12, 3);
    one.published = NormalNumbers(20'000, 12, 4);
    one.own.resize(64);
    one.order.conservativeResize(12, 64);
    const Eigen::MatrixXd off = NormalNumbers(12, 64, 5);
    one.known.resize(12, 64);
    for (Eigen::Index t = 0; t < 64; ++t)
      for (Eigen::Index c = 0; c < 12; ++c)
        one.known(c, t) =
            one.published(one.own[static_cast<std::size_t>(t)], c) +
            noise * off(c, t);
    const Eigen::VectorXd weights = Eigen::VectorXd::LinSpaced(12, 0, 2);
    const Search search = {.known = one.known,
                           .order = one.order,
                           .weights = weights,
                           .counts = {1, 3, 4, 8, 12}};
    const auto found = FindOwnRows(one.published, search, one.own, {});
    ASSERT_TRUE(found.ok());
    EXPECT_GT(found->sum(), 0);
    for (Eigen::Index t = 0; t < 64; ++t)
      for (std::size_t k = 0; k < search.counts.size(); ++k)
        ASSERT_DOUBLE_EQ((*found)(static_cast<Eigen::Index>(k), t),
                         ShareByTrial(one, t, search.counts[k], weights))
            << "noise " << noise << ", target " << t;
    // The value of the nearest row, found as the one value that is a hit.
    const auto distances = NearestDistances(one.published, one.known, {});
    const auto hits =
        HitsByTheOthers(one.published, one.known, one.own,
                        [](double value, int, int) { return value > 0; }, {});
    ASSERT_TRUE(distances.ok() && hits.ok());
    for (Eigen::Index t = 0; t < 64; t += 4) {
      const Eigen::ArrayXXd terms =
          (one.published.rowwise() - one.known.col(t).transpose())
              .array()
              .square();
      ASSERT_NEAR((*distances)[t], terms.rowwise().sum().minCoeff(), 1e-9);
      const Eigen::Index own = one.own[static_cast<std::size_t>(t)];
      for (Eigen::Index c = 0; c < 12; ++c) {
        Eigen::ArrayXd others = terms.rowwise().sum() - terms.col(c);
        Eigen::Index nearest = 0;
        others.minCoeff(&nearest);
        ASSERT_EQ(hits->with_own(c, t), one.published(nearest, c) > 0 ? 1 : 0);
        others[own] = std::numeric_limits<double>::infinity();
        others.minCoeff(&nearest);
        ASSERT_EQ(hits->without_own(c, t),
                  one.published(nearest, c) > 0 ? 1 : 0);
      }
    }
  }
}

TEST(Nearest, TiesAreThoseUpToTheRoundingOfDoubles) {
  Eigen::MatrixXd published(4, 1);
  published << 0.1 + 0.2, 0.3, 0.3 + 1e-6, 1;
  const Search search = {.known = Eigen::MatrixXd::Constant(1, 1, 0.3),
                         .order = Eigen::MatrixXi::Zero(1, 1),
                         .weights = Eigen::VectorXd::Ones(1),
                         .counts = {1}};
  EXPECT_DOUBLE_EQ((*FindOwnRows(published, search, {0}, {}))(0, 0), 0.5);
  EXPECT_DOUBLE_EQ((*FindOwnRows(published, search, {2}, {}))(0, 0), 0);
}

TEST(Nearest, DistancesAreThoseOfTrial) {
  const Case one = CaseOf(3000, 4, 9);
  const auto distances = NearestDistances(one.published, one.known, {});
  ASSERT_TRUE(distances.ok());
  for (Eigen::Index t = 0; t < one.known.cols(); t += 10) {
    const double least =
        (one.published.rowwise() - one.known.col(t).transpose())
            .rowwise()
            .squaredNorm()
            .minCoeff();
    ASSERT_DOUBLE_EQ((*distances)[t], least);
  }
}

TEST(Nearest, HitsByTheOthersAreThoseOfTrial) {
  const Case one = CaseOf(200, 4, 3);
  const auto is_hit = [&](double value, int column, int target) {
    return value == one.known(column, target);
  };
  const auto both =
      HitsByTheOthers(one.published, one.known, one.own, is_hit, {});
  ASSERT_TRUE(both.ok());
  for (const bool without_own : {false, true}) {
    const Eigen::MatrixXd& hits =
        without_own ? both->without_own : both->with_own;
    for (Eigen::Index t = 0; t < one.known.cols(); ++t) {
      for (Eigen::Index c = 0; c < 4; ++c) {
        double least = std::numeric_limits<double>::infinity();
        int ties = 0, right = 0;
        for (int r = 0; r < one.published.rows(); ++r) {
          if (without_own && r == one.own[static_cast<std::size_t>(t)])
            continue;
          double distance = 0;
          for (Eigen::Index other = 0; other < 4; ++other)
            if (other != c)
              distance +=
                  std::pow(one.published(r, other) - one.known(other, t), 2);
          if (distance < least) {
            least = distance;
            ties = right = 0;
          }
          if (distance > least) continue;
          ++ties;
          right += one.published(r, c) == one.known(c, t) ? 1 : 0;
        }
        ASSERT_DOUBLE_EQ(hits(c, t), static_cast<double>(right) / ties);
      }
    }
  }
}

TEST(Nearest, StopEndsTheSearch) {
  const Case one = CaseOf(50, 2, 3);
  const auto distances =
      NearestDistances(one.published, one.known, {.stop = [] { return true; }});
  EXPECT_EQ(distances.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace dpnmf::curator::lab
