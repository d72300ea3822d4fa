#include "lab/ratings/metrics.h"

#include <cmath>

#include "common/ratings/person.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lab/ratings/ratings_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Items = std::vector<std::int32_t>;

Eigen::VectorXd Vector(std::initializer_list<double> values) {
  Eigen::VectorXd vector(static_cast<Eigen::Index>(values.size()));
  std::copy(values.begin(), values.end(), vector.begin());
  return vector;
}

TEST(IsRelevant, BeginsAtThreeQuartersOfTheRange) {
  const RatingScale one_to_five = {.low_units = kOne, .high_units = 5 * kOne};
  EXPECT_TRUE(IsRelevant(one_to_five, 4 * kOne));
  EXPECT_FALSE(IsRelevant(one_to_five, 4 * kOne - 1));
  // 0 to 10: from 7.5; -1 to 1: from .5; a range that 4 does not divide.
  EXPECT_TRUE(IsRelevant({.low_units = 0, .high_units = 10 * kOne}, 75'000));
  EXPECT_FALSE(IsRelevant({.low_units = 0, .high_units = 10 * kOne}, 74'999));
  EXPECT_TRUE(IsRelevant({.low_units = -kOne, .high_units = kOne}, 5'000));
  EXPECT_FALSE(IsRelevant({.low_units = 0, .high_units = 3}, 2));
  EXPECT_TRUE(IsRelevant({.low_units = 0, .high_units = 3}, 3));
}

TEST(TopItems, AreTheHighestThatAreNotOwn) {
  const Eigen::VectorXd scores = Vector({5, 1, 4, 4, 9});
  EXPECT_THAT(TopItems(scores, Items{4}, 3), ElementsAre(0, 2, 3));
  EXPECT_THAT(TopItems(scores, Items{}, 2), ElementsAre(4, 0));
  EXPECT_THAT(TopItems(scores, Items{0, 1, 2, 3}, 3), ElementsAre(4));
  EXPECT_THAT(TopItems(scores, Items{0, 1, 2, 3, 4}, 3), IsEmpty());
}

TEST(Recall, IsOverTheLesserOfLengthAndRelevant) {
  EXPECT_DOUBLE_EQ(RecallOf(Items{3, 1}, Items{1, 2, 5}, 2), 1.0 / 2);
  EXPECT_DOUBLE_EQ(RecallOf(Items{3, 1}, Items{1}, 20), 1);
  EXPECT_DOUBLE_EQ(RecallOf(Items{3, 1}, Items{0, 2}, 20), 0);
  EXPECT_DOUBLE_EQ(RecallOf(Items{0, 1, 2}, Items{0, 2, 9}, 20), 2.0 / 3);
}

// By hand: hits at places 2 and 3 of three relevant items.
TEST(Ndcg, DiscountsByThePlace) {
  const double gain = 1 / std::log2(3.0) + 1 / std::log2(4.0);
  const double best = 1 + 1 / std::log2(3.0) + 1 / std::log2(4.0);
  EXPECT_DOUBLE_EQ(NdcgOf(Items{7, 1, 2}, Items{1, 2, 5}, 20), gain / best);
  EXPECT_DOUBLE_EQ(NdcgOf(Items{5}, Items{5}, 20), 1);
  EXPECT_DOUBLE_EQ(NdcgOf(Items{5}, Items{5, 6}, 1), 1);
}

// Three people and four items; predicted 2, 9, 3, -1 for everybody.
class MeasureByHand : public ::testing::Test {
 protected:
  MeasureByHand() {
    split_.train = TableOf(4, {{{0, 3}}, {{0, 3}, {1, 3}}, {}});
    split_.held_out =
        TableOf(4, {{{1, 4}, {2, 5}}, {{3, 2}}, {{0, 5}, {3, 4}}});
  }
  static Opinion Same(std::size_t, RatedItems) {
    return {Vector({2, 9, 3, -1}), Vector({2, 9, 3, -1})};
  }
  Metrics Measured(const Recommender& recommender) const {
    return Measure(split_, recommender, Execution()).value();
  }
  Split split_;
};

// Errors: 5-4 (9 is clipped), 3-5, 1-2 (-1 is clipped), 2-5, 1-4.
TEST_F(MeasureByHand, ErrorsAreOfClippedPredictions) {
  const Metrics metrics = Measured(Same);
  EXPECT_DOUBLE_EQ(metrics.rmse, std::sqrt((1 + 4 + 1 + 9 + 9) / 5.0));
  EXPECT_DOUBLE_EQ(metrics.mae, (1 + 2 + 1 + 3 + 3) / 5.0);
}

// All lists hold all items that are not own, so recall is 1 for the first
// (1, 2 relevant) and the last (0, 3). The second has nothing relevant.
TEST_F(MeasureByHand, PeopleWithoutRelevantItemsDoNotCount) {
  const Metrics metrics = Measured(Same);
  EXPECT_DOUBLE_EQ(metrics.recall20, 1);
  // First: 1, 2, 3 listed: both at the head. Last: 1, 2, 0, 3: places 3 and 4.
  const double best = 1 + 1 / std::log2(3.0);
  const double last = (1 / std::log2(4.0) + 1 / std::log2(5.0)) / best;
  EXPECT_DOUBLE_EQ(metrics.ndcg20, (1 + last) / 2);
  EXPECT_DOUBLE_EQ(metrics.coverage, 1);
}

TEST_F(MeasureByHand, WhatAMethodDoesNotSayHasNoFigure) {
  const Metrics lists = Measured([](std::size_t, RatedItems) {
    return Opinion{{}, Vector({1, 2, 3, 4})};
  });
  EXPECT_TRUE(std::isnan(lists.rmse) && std::isnan(lists.mae));
  EXPECT_DOUBLE_EQ(lists.recall20, 1);
  const Metrics ratings = Measured([](std::size_t, RatedItems) {
    return Opinion{Vector({1, 2, 3, 4}), {}};
  });
  EXPECT_TRUE(std::isnan(ratings.recall20) && std::isnan(ratings.ndcg20));
  EXPECT_GT(ratings.rmse, 0);
}

// Item 0 was learned from twice, item 1 once: the most rated 1 % (rounded up)
// is item 0, and of four items the others end at 1, 1, 2 and 4.
TEST_F(MeasureByHand, GroupsOfPopularity) {
  const Metrics metrics = Measured(Same);
  ASSERT_EQ(metrics.groups.size(), 5u);
  EXPECT_EQ(metrics.groups[0].items, 1u);
  EXPECT_EQ(metrics.groups[1].items, 0u);
  EXPECT_EQ(metrics.groups[2].items, 0u);
  EXPECT_EQ(metrics.groups[3].items, 1u);
  EXPECT_EQ(metrics.groups[4].items, 2u);
  EXPECT_DOUBLE_EQ(metrics.groups[0].rating_share, 2.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.groups[3].rating_share, 1.0 / 3);
  // Item 0 was held out once, by the last person: 2 for 5.
  EXPECT_EQ(metrics.groups[0].measured, 1u);
  EXPECT_DOUBLE_EQ(metrics.groups[0].rmse, 3);
  EXPECT_DOUBLE_EQ(metrics.groups[0].recall, 1);
  // Lists of 3 and 4 places; item 0 stands in the last person's alone.
  EXPECT_DOUBLE_EQ(metrics.groups[0].list_share, 1.0 / 7);
  EXPECT_DOUBLE_EQ(metrics.groups[4].list_share, 4.0 / 7);
  EXPECT_TRUE(std::isnan(metrics.groups[1].rmse));
}

TEST_F(MeasureByHand, OwnItemsAreHandedToTheMethod) {
  std::vector<std::size_t> own(3, 99);
  Measured([&](std::size_t person, RatedItems items) {
    own[person] = items.items.size();
    return Same(person, items);
  });
  EXPECT_THAT(own, ElementsAre(1, 2, 0));
}

TEST(Measure, IsTheSameForAnyNumberOfThreads) {
  const RatingTable table = Generate({});
  const Split split = *HoldOut(table, HoldOutBy::kRating, 0.2, 3);
  const Recommender recommender = [&](std::size_t person, RatedItems) {
    Eigen::VectorXd scores(60);
    for (Eigen::Index i = 0; i < 60; ++i)
      scores[i] = std::sin(static_cast<double>(person + 7) * (i + 1.0));
    return Opinion{scores, scores};
  };
  const Metrics one = *Measure(split, recommender, {.threads = 1});
  const Metrics four = *Measure(split, recommender, {.threads = 4});
  EXPECT_EQ(one.rmse, four.rmse);
  EXPECT_EQ(one.ndcg20, four.ndcg20);
}

TEST(Measure, Stops) {
  const RatingTable table = Generate({});
  const Split split = *HoldOut(table, HoldOutBy::kRating, 0.2, 3);
  Execution execution;
  execution.stop = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(
      Measure(
          split, [](std::size_t, RatedItems) { return Opinion(); }, execution)
          .status()));
}

}  // namespace
}  // namespace dpnmf::curator::lab
