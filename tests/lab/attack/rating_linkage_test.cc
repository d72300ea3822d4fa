#include "lab/attack/rating_linkage.h"

#include <cmath>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/lab/attack/attack_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

constexpr std::int32_t kUnit = 10'000;

// Everybody rates each item with probability 0.4, from 1 to 5.
RatingTable RandomRatings(std::size_t people, std::uint64_t items,
                          std::uint64_t seed) {
  SeededNoise noise(seed);
  RatingTable table;
  table.scale = {.low_units = kUnit, .high_units = 5 * kUnit};
  table.item_count = items;
  for (std::size_t person = 0; person < people; ++person) {
    for (std::uint64_t item = 0; item < items; ++item) {
      if (noise.Uniform() >= 0.4) continue;
      table.items.push_back(static_cast<std::int32_t>(item));
      table.units.push_back(
          kUnit * (1 + static_cast<std::int32_t>(5 * noise.Uniform())));
    }
    table.EndPerson();
  }
  return table;
}

// Own ratings, and 3 where there is none.
Eigen::MatrixXd Completed(const RatingTable& table) {
  Eigen::MatrixXd dense =
      Eigen::MatrixXd::Constant(static_cast<Eigen::Index>(table.people()),
                                static_cast<Eigen::Index>(table.item_count), 3);
  for (std::size_t person = 0; person < table.people(); ++person)
    for (std::size_t at = table.Begin(person); at < table.Begin(person + 1);
         ++at)
      dense(static_cast<Eigen::Index>(person), table.items[at]) =
          RatingOf(table.units[at]);
  return dense;
}

double LinkedBy(const AttackReport& report, const std::string& knows) {
  for (const Linkage& one : report.linkage)
    if (one.knows == knows) return one.linked.value;
  ADD_FAILURE() << "no linkage with " << knows;
  return -1;
}

TEST(RatingLinkage, UndistortedRatingsLinkEverybody) {
  const RatingTable table = RandomRatings(200, 60, 1);
  const auto report = AttackRatings(table, table, {.seed = 1});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->linked_all_known->value, 1);
  EXPECT_EQ(LinkedBy(*report, "16 ratings"), 1);
  EXPECT_LT(LinkedBy(*report, "1 rating"), 0.2);
  EXPECT_LT(LinkedBy(*report, "4 ratings"), 1);
  // Who stands out is right.
  for (const auto& one : report->others["confident"]) {
    if (one["knows"] != "all ratings") continue;
    EXPECT_EQ(one["people"]["value"], 1.0);
    EXPECT_EQ(one["right"]["value"], 1.0);
  }
}

TEST(RatingLinkage, NobodyIsSaidToKnowMoreRatingsThanAPersonHas) {
  const RatingTable table = RandomRatings(100, 6, 1);  // six at most
  const auto report = AttackRatings(table, table, {.seed = 1});
  ASSERT_TRUE(report.ok()) << report.status();
  for (const Linkage& one : report->linkage) EXPECT_LE(one.known, 6);
  EXPECT_TRUE(report->linked_4_known.has_value());
  EXPECT_GT(LinkedBy(*report, "all ratings"), 0.5);
}

TEST(RatingLinkage, ACompletedTableThatKeepsTheRatingsLinksEverybody) {
  const RatingTable table = RandomRatings(200, 60, 1);
  const auto report = AttackRatings(table, Completed(table), {.seed = 1});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(LinkedBy(*report, "all ratings"), 1);
  EXPECT_EQ(LinkedBy(*report, "all ratings, less the items' means"), 1);
  EXPECT_EQ(report->largest_linkage, 1);
}

// Each attack finds one of 1,000 people in the mean, as with tables, and
// P(Poisson(1) > 14) < 3e-13.
TEST(RatingLinkage, OnIndependentRatingsLinkageIsChance) {
  const RatingTable table = RandomRatings(1000, 30, 1);
  const RatingTable other = RandomRatings(1000, 30, 2);
  const auto sparse = AttackRatings(table, other, {.seed = 1});
  const auto dense = AttackRatings(table, Completed(other), {.seed = 1});
  ASSERT_TRUE(sparse.ok() && dense.ok());
  for (const auto* report : {&*sparse, &*dense})
    for (const Linkage& one : report->linkage)
      EXPECT_LE(one.linked.value * static_cast<double>(one.linked.of), 14)
          << one.knows;
}

// Every other person's row is stretched until the flat ones are nearer to it:
// that hides it from distances and not from the cosine.
TEST(RatingLinkage, DifferencesFromTheItemsMeansSeeThroughAScale) {
  const RatingTable table = RandomRatings(200, 60, 1);
  Eigen::MatrixXd completed = Completed(table).array() - 3;
  for (Eigen::Index r = 0; r < completed.rows(); ++r)
    completed.row(r) *= r % 2 == 0 ? 0.05 : 2.5;
  completed.array() += 3;
  const auto report = AttackRatings(table, completed, {.seed = 1});
  ASSERT_TRUE(report.ok());
  EXPECT_LT(LinkedBy(*report, "all ratings"), 0.6);
  EXPECT_GT(LinkedBy(*report, "all ratings, less the items' means"), 0.75);
}

// Each rating at any second of 1,000 days.
RatingTable Dated(RatingTable table, std::uint64_t seed) {
  SeededNoise noise(seed);
  for (std::size_t at = 0; at < table.size(); ++at)
    table.times.push_back(
        static_cast<std::int64_t>(noise.Uniform() * 1000 * 86'400));
  return table;
}

TEST(RatingLinkage, DatesTellPeopleApartWhomRatingsDoNot) {
  const RatingTable table = Dated(RandomRatings(200, 60, 1), 2);
  const auto report = AttackRatings(table, table, {.seed = 1}, {.days = 3});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_LT(LinkedBy(*report, "1 rating"), 0.2);
  EXPECT_GT(LinkedBy(*report, "1 rating, dated up to 3 days"), 0.8);
  EXPECT_EQ(LinkedBy(*report, "8 ratings within an error, dated up to 3 days"),
            1);
  EXPECT_GE(report->linked_4_known->value,
            LinkedBy(*report, "4 ratings, dated up to 3 days"));
  // Dates that are known exactly.
  const auto exact = AttackRatings(table, table, {.seed = 1}, {.days = 0});
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(LinkedBy(*exact, "4 ratings, dated up to 0 days"), 1);
}

// P(Poisson(1) > 14) < 3e-13 for each attack, as for ratings above.
TEST(RatingLinkage, OnIndependentDatesLinkageIsChance) {
  const RatingTable table = Dated(RandomRatings(1000, 30, 1), 2);
  const RatingTable other = Dated(RandomRatings(1000, 30, 3), 4);
  const auto report = AttackRatings(table, other, {.seed = 1}, {.days = 14});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->linkage.size(), 24u);  // nobody has 32 ratings
  for (const Linkage& one : report->linkage)
    EXPECT_LE(one.linked.value * static_cast<double>(one.linked.of), 14)
        << one.knows;
}

TEST(RatingLinkage, DatesNeedTimesInBothTables) {
  const RatingTable table = RandomRatings(20, 10, 1);
  const RatingTable dated = Dated(table, 2);
  const auto code = [](const RatingTable& original,
                       const RatingTable& published, double days) {
    return ReasonCode(
        AttackRatings(original, published, {.seed = 1}, {.days = days})
            .status());
  };
  EXPECT_EQ(code(table, dated, 3), "attack-mismatch");
  EXPECT_EQ(code(dated, table, 3), "attack-mismatch");
  EXPECT_EQ(code(dated, dated, -1), "attack-mismatch");
  EXPECT_EQ(code(dated, dated, std::nan("")), "attack-mismatch");
  EXPECT_EQ(ReasonCode(
                AttackRatings(dated, Completed(table), {.seed = 1}, {.days = 3})
                    .status()),
            "attack-mismatch");
}

TEST(RatingLinkage, MembersOfUndistortedRatingsAreKnown) {
  const RatingTable table = RandomRatings(200, 60, 1);
  const RatingTable outsiders = RandomRatings(200, 60, 2);
  const RatingsAttacker attacker = {.outsiders = &outsiders};
  const auto sparse = AttackRatings(table, table, {.seed = 1}, attacker);
  const auto dense =
      AttackRatings(table, Completed(table), {.seed = 1}, attacker);
  ASSERT_TRUE(sparse.ok() && dense.ok());
  EXPECT_EQ(sparse->membership_auc->value, 1);
  EXPECT_EQ(sparse->membership_at_1_percent->value, 1);
  EXPECT_EQ(dense->membership_auc->value, 1);
  // Without outsiders there is nothing to judge by.
  EXPECT_FALSE(
      AttackRatings(table, table, {.seed = 1})->membership_auc.has_value());
}

// The standard error of the area is sqrt(801 / (12 400^2)) = .0204 (Mann and
// Whitney): it is off by .11 with probability 7e-8.
TEST(RatingLinkage, MembersOfIndependentRatingsAreNotKnown) {
  const RatingTable table = RandomRatings(400, 30, 1);
  const RatingTable other = RandomRatings(400, 30, 2);
  const RatingTable outsiders = RandomRatings(400, 30, 3);
  const RatingsAttacker attacker = {.outsiders = &outsiders};
  const auto sparse = AttackRatings(table, other, {.seed = 1}, attacker);
  const auto dense =
      AttackRatings(table, Completed(other), {.seed = 1}, attacker);
  ASSERT_TRUE(sparse.ok() && dense.ok());
  EXPECT_NEAR(sparse->membership_auc->value, 0.5, 0.11);
  EXPECT_NEAR(dense->membership_auc->value, 0.5, 0.11);
}

TEST(RatingLinkage, OutsidersOfOtherItemsAreRefused) {
  const RatingTable table = RandomRatings(20, 10, 1);
  const RatingTable outsiders = RandomRatings(20, 11, 2);
  EXPECT_EQ(ReasonCode(AttackRatings(table, table, {.seed = 1},
                                     {.outsiders = &outsiders})
                           .status()),
            "attack-mismatch");
}

TEST(RatingLinkage, OtherPeopleOrItemsAreRefused) {
  const RatingTable table = RandomRatings(20, 10, 1);
  const auto code = [&](const RatingTable& other) {
    return ReasonCode(AttackRatings(table, other, {.seed = 1}).status());
  };
  EXPECT_EQ(code(RandomRatings(19, 10, 1)), "attack-mismatch");
  EXPECT_EQ(code(RandomRatings(20, 11, 1)), "attack-mismatch");
  EXPECT_EQ(
      ReasonCode(AttackRatings(table, Eigen::MatrixXd::Zero(20, 9), {.seed = 1})
                     .status()),
      "attack-mismatch");
  RatingTable nobody;
  nobody.item_count = 3;
  nobody.EndPerson();
  nobody.EndPerson();
  EXPECT_EQ(ReasonCode(AttackRatings(nobody, nobody, {.seed = 1}).status()),
            "attack-mismatch");
}

}  // namespace
}  // namespace dpnmf::curator::lab
