#include "lab/distort/places.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lab/distort/distort_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;
TEST(Places, OfIdentityAreUnchanged) {
  const Eigen::MatrixXd& a = Wisconsin().values;
  EXPECT_EQ(ValueDifference(a, a), 0);
  const BothPlaceChanges both = PlaceChangesOf(a, a);
  for (const PlaceChanges& changes : {both.by_sort_index, both.by_rank}) {
    EXPECT_EQ(changes.rp, 0);
    EXPECT_EQ(changes.rk, 1);
    EXPECT_EQ(changes.cp, 0);
    EXPECT_EQ(changes.ck, 1);
  }
}

TEST(Places, OfAllZerosHaveAValueDifferenceOfOne) {
  const Eigen::MatrixXd a = Generated(10, 3, 1);
  EXPECT_DOUBLE_EQ(ValueDifference(a, Eigen::MatrixXd::Zero(10, 3)), 1);
}

TEST(Places, AreThePublishedProgramsOrTheRank) {
  const Eigen::Vector4d column(30, 10, 40, 10);
  EXPECT_THAT(PlacesOf(column, Place::kSortIndex), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(PlacesOf(column, Place::kRank), ElementsAre(2, 0, 3, 1));
}

// Long columns are sorted by digits.
TEST(Places, OfLongColumnsAreThoseOfAStableSort) {
  Eigen::VectorXd column = Generated(30'000, 1, 3).col(0);
  column.array() -= column.mean();
  for (Eigen::Index i = 0; i < column.size(); i += 3)
    column[i] = std::round(column[i]);  // many ties, also of 0 and -0
  column[5] = -1e300;
  column[6] = 1e-310;
  std::vector<int> order(30'000);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int i, int j) { return column[i] < column[j]; });
  EXPECT_EQ(PlacesOf(column, Place::kSortIndex), order);
  const std::vector<int> ranks = PlacesOf(column, Place::kRank);
  for (std::size_t i = 0; i < order.size(); ++i)
    ASSERT_EQ(ranks[static_cast<std::size_t>(order[i])], static_cast<int>(i));
}

TEST(Places, ChangesByHand) {
  Eigen::MatrixXd a(3, 2), b(3, 2);
  a << 1, 10, 2, 20, 3, 30;
  b << 3, 10, 1, 20, 2, 30;  // first column: ranks 0 1 2 become 2 0 1
  PlaceChanges changes = PlaceChangesOf(a, b).by_rank;
  EXPECT_DOUBLE_EQ(changes.rp, 4.0 / 6);
  EXPECT_DOUBLE_EQ(changes.rk, 3.0 / 6);
  EXPECT_EQ(changes.cp, 0);
  EXPECT_EQ(changes.ck, 1);
  b.col(0).array() += 100;  // the means change places
  changes = PlaceChangesOf(a, b).by_sort_index;
  EXPECT_EQ(changes.cp, 1);
  EXPECT_EQ(changes.ck, 0);
}

// In a strictly rising map no place changes.
TEST(Places, DoNotSeeARisingMap) {
  const Eigen::MatrixXd a = Generated(50, 4, 2);
  const PlaceChanges changes = PlaceChangesOf(a, a.array() * 3 + 1).by_rank;
  EXPECT_EQ(changes.rp, 0);
  EXPECT_EQ(changes.rk, 1);
}

}  // namespace
}  // namespace dpnmf::curator::lab
