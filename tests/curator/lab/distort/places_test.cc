#include "curator/lab/distort/places.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/curator/lab/distort/distort_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;
constexpr Place kBoth[] = {Place::kSortIndex, Place::kRank};

TEST(Places, OfIdentityAreUnchanged) {
  const Eigen::MatrixXd& a = Wisconsin().values;
  EXPECT_EQ(ValueDifference(a, a), 0);
  for (const Place place : kBoth) {
    const PlaceChanges changes = PlaceChangesOf(a, a, place);
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

TEST(Places, ChangesByHand) {
  Eigen::MatrixXd a(3, 2), b(3, 2);
  a << 1, 10, 2, 20, 3, 30;
  b << 3, 10, 1, 20, 2, 30;  // first column: ranks 0 1 2 become 2 0 1
  PlaceChanges changes = PlaceChangesOf(a, b, Place::kRank);
  EXPECT_DOUBLE_EQ(changes.rp, 4.0 / 6);
  EXPECT_DOUBLE_EQ(changes.rk, 3.0 / 6);
  EXPECT_EQ(changes.cp, 0);
  EXPECT_EQ(changes.ck, 1);
  b.col(0).array() += 100;  // the means change places
  changes = PlaceChangesOf(a, b, Place::kSortIndex);
  EXPECT_EQ(changes.cp, 1);
  EXPECT_EQ(changes.ck, 0);
}

// In a strictly rising map no place changes.
TEST(Places, DoNotSeeARisingMap) {
  const Eigen::MatrixXd a = Generated(50, 4, 2);
  const PlaceChanges changes =
      PlaceChangesOf(a, a.array() * 3 + 1, Place::kRank);
  EXPECT_EQ(changes.rp, 0);
  EXPECT_EQ(changes.rk, 1);
}

}  // namespace
}  // namespace dpnmf::curator::lab
