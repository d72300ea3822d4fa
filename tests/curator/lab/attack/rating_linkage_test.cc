#include "curator/lab/attack/rating_linkage.h"

#include <cmath>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/curator/lab/attack/attack_fixtures.h"

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

TEST(RatingLinkage, ACompletedTableThatKeepsTheRatingsLinksEverybody) {
  const RatingTable table = RandomRatings(200, 60, 1);
  const auto report = AttackRatings(table, Completed(table), {.seed = 1});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(LinkedBy(*report, "all ratings"), 1);
  EXPECT_EQ(LinkedBy(*report, "all ratings, less the items' means"), 1);
  EXPECT_EQ(report->largest_linkage, 1);
}

// As of tables: each attack finds one of 1,000 people in the mean, and P(
// Poisson(1) > 14) < 3e-13.
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
