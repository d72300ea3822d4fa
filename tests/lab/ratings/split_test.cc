#include "lab/ratings/split.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/lab/ratings/ratings_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using Triple = std::tuple<std::size_t, std::int32_t, std::int32_t>;

std::multiset<Triple> TriplesOf(const RatingTable& table) {
  std::multiset<Triple> triples;
  for (std::size_t u = 0; u < table.people(); ++u) {
    for (std::size_t at = table.Begin(u); at < table.Begin(u + 1); ++at)
      triples.insert({u, table.items[at], table.units[at]});
  }
  return triples;
}

std::multiset<Triple> Sum(std::multiset<Triple> a,
                          const std::multiset<Triple>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

Split MustHoldOut(const RatingTable& table, HoldOutBy by, double share,
                  std::uint64_t seed) {
  absl::StatusOr<Split> split = HoldOut(table, by, share, seed);
  EXPECT_TRUE(split.ok()) << split.status();
  return *std::move(split);
}

class EveryHoldOut : public ::testing::TestWithParam<HoldOutBy> {};

TEST_P(EveryHoldOut, KnownAndHeldOutAreTheRatingsOfEachPerson) {
  const RatingTable table = Generate({});
  const Split split = MustHoldOut(table, GetParam(), 0.3, 5);
  EXPECT_EQ(split.own().people(), table.people());
  EXPECT_EQ(split.held_out.people(), table.people());
  EXPECT_EQ(Sum(TriplesOf(split.own()), TriplesOf(split.held_out)),
            TriplesOf(table));
  for (const RatingTable* part : {&split.train, &split.held_out}) {
    EXPECT_EQ(part->times.size(), part->size());
    EXPECT_EQ(part->indptr.back(), static_cast<std::int64_t>(part->size()));
  }
}

TEST_P(EveryHoldOut, TheSeedDecides) {
  const RatingTable table = Generate({});
  const Split a = MustHoldOut(table, GetParam(), 0.3, 5);
  const Split b = MustHoldOut(table, GetParam(), 0.3, 5);
  const Split c = MustHoldOut(table, GetParam(), 0.3, 6);
  EXPECT_EQ(TriplesOf(a.held_out), TriplesOf(b.held_out));
  EXPECT_NE(TriplesOf(a.held_out), TriplesOf(c.held_out));
}

TEST_P(EveryHoldOut, NamesRoundTrip) {
  EXPECT_EQ(HoldOutByOfName(NameOf(GetParam())), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Of, EveryHoldOut,
    ::testing::Values(HoldOutBy::kRating, HoldOutBy::kPerson, HoldOutBy::kTime),
    [](const auto& by) { return std::string(NameOf(by.param)); });

// Binomial(5400, .3): 8 standard deviations are a false alarm of 1e-15, and
// the seed is fixed.
TEST(HoldOutByRating, TakesTheShare) {
  const RatingTable table = Generate({});
  const Split split = MustHoldOut(table, HoldOutBy::kRating, 0.3, 5);
  const auto n = static_cast<double>(table.size());
  EXPECT_NEAR(static_cast<double>(split.held_out.size()), 0.3 * n,
              8 * std::sqrt(0.21 * n));
  EXPECT_TRUE(split.same_people());
}

TEST(HoldOutByPerson, TheModelNeverSeesAPersonThatIsMeasured) {
  const RatingTable table = Generate({});
  const Split split = MustHoldOut(table, HoldOutBy::kPerson, 0.3, 5);
  EXPECT_FALSE(split.same_people());
  std::size_t unseen = 0, trained = 0;
  for (std::size_t u = 0; u < table.people(); ++u) {
    if (split.held_out.Of(u).items.empty()) {
      // Trained with as a whole (or all of the unseen person's is known).
      EXPECT_EQ(split.own().Of(u).items.size(), table.Of(u).items.size());
    } else {
      ++unseen;
      EXPECT_LT(split.own().Of(u).items.size(), table.Of(u).items.size());
    }
  }
  trained = split.train.people();
  EXPECT_LE(unseen + trained, table.people());
  EXPECT_GT(unseen, 30u);
  EXPECT_GT(trained, 150u);
  // The training data have no rating of an unseen person.
  EXPECT_LE(split.train.size() + split.held_out.size() * 3, table.size());
}

TEST(HoldOutByTime, TakesTheLatestOfEachPerson) {
  const RatingTable table = Generate({});
  const Split split = MustHoldOut(table, HoldOutBy::kTime, 0.25, 5);
  for (std::size_t u = 0; u < table.people(); ++u) {
    const RatedItems known = split.own().Of(u);
    const RatedItems held_out = split.held_out.Of(u);
    const double expected =
        0.25 * static_cast<double>(table.Of(u).items.size());
    EXPECT_LE(std::abs(static_cast<double>(held_out.items.size()) - expected),
              1);
    if (known.items.empty() || held_out.items.empty()) continue;
    // Times ascend with the item here.
    EXPECT_LT(known.items.back(), held_out.items.front());
  }
}

TEST(HoldOutByTime, NeedsTimes) {
  RatingTable table = Generate({});
  table.times.clear();
  const auto split = HoldOut(table, HoldOutBy::kTime, 0.25, 5);
  EXPECT_EQ(ReasonCode(split.status()), "evaluate-times-missing");
}

TEST(HoldOut, RefusesAnEmptySide) {
  const RatingTable table = TableOf(3, {{{0, 1}}, {}});
  const auto split = HoldOut(table, HoldOutBy::kRating, 0.5, 5);
  EXPECT_EQ(ReasonCode(split.status()), "evaluate-nothing-held-out");
}

TEST(Transpose, HasEveryRatingOnceByItem) {
  const RatingTable table = TableOf(3, {{{0, 1}, {2, 5}}, {}, {{2, 3}}});
  const ByItem by_item = Transpose(table);
  EXPECT_EQ(by_item.indptr, (std::vector<std::int64_t>{0, 1, 1, 3}));
  EXPECT_EQ(by_item.people, (std::vector<std::int32_t>{0, 0, 2}));
  EXPECT_EQ(by_item.at, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(CountsOf(table), (std::vector<std::int64_t>{1, 0, 2}));
}

}  // namespace
}  // namespace dpnmf::curator::lab
