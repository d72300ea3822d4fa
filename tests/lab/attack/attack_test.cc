#include "lab/attack/attack.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/attack/known_pairs.h"
#include "tests/lab/attack/attack_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

AttackReport AttackOf(const Eigen::MatrixXd& original,
                      const Eigen::MatrixXd& published,
                      AttackOptions options = {}) {
  if (!options.seed.has_value()) options.seed = 1;
  const auto report = Attack(TableOf(original), TableOf(published), options);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : AttackReport();
}

const Linkage& LinkageOf(const AttackReport& report, const std::string& knows) {
  for (const Linkage& one : report.linkage)
    if (one.knows == knows) return one;
  ADD_FAILURE() << "no linkage with " << knows;
  static const Linkage none;
  return none;
}

// 300 people, of whom 40 have a twin.
Eigen::MatrixXd WithTwins() {
  Eigen::MatrixXd values = WholeNumbers(300, 9, 9, 1);
  values.bottomRows(40) = values.topRows(40);
  return values;
}

TEST(Attack, AllDistinctRowsOfAnUndistortedTableAreLinked) {
  const AttackReport report = AttackOf(WithTwins(), WithTwins());
  ASSERT_TRUE(report.linked_all_known.has_value());
  EXPECT_EQ(*report.linked_all_known, ShareOf(220, 220));
  EXPECT_EQ(LinkageOf(report, "9 values within an error").linked.value, 1);
  EXPECT_EQ(LinkageOf(report, "30 pairs").linked.value, 1);
  EXPECT_EQ(report.others["people"]["distinct_rows"], 260);
  EXPECT_EQ(report.others["people"]["rows_that_occur_once"], 220);
  EXPECT_EQ(report.others["attributes"]["with_table"]["value"], 1.0);
  EXPECT_EQ(report.largest_linkage, 1);
}

TEST(Attack, MoreKnownValuesFindMorePeopleOfAnUndistortedTable) {
  const AttackReport report = AttackOf(WithTwins(), WithTwins());
  ASSERT_GE(report.linkage.size(), 9u);
  for (std::size_t k = 1; k < 9; ++k) {
    EXPECT_EQ(report.linkage[k].known, static_cast<int>(k) + 1);
    // A tie that a further value does not break stays; no tie arises.
    EXPECT_GE(report.linkage[k].linked.value,
              report.linkage[k - 1].linked.value);
  }
  EXPECT_EQ(*report.linked_4_known, report.linkage[3].linked);
  // With one value of ten known, one in 30 or so can be the person.
  EXPECT_LT(report.linkage[0].linked.value, 0.1);
}

TEST(Attack, WhereNoRowOccursOnceTwinsShareTheFinding) {
  Eigen::MatrixXd values(200, 6);
  values.topRows(100) = NormalNumbers(100, 6, 1);
  values.bottomRows(100) = values.topRows(100);
  const AttackReport report = AttackOf(values, values);
  EXPECT_EQ(*report.linked_all_known, ShareOf(100, 200));
  EXPECT_EQ(report.others["people"]["attacked_are"], "all people");
}

// 1,000 people, 1,000 of them attacked on a table that has nothing to do with
// them: each attack finds 1 of them in the mean, nearly Poisson. P(Poisson(1) >
// 14) < 3e-13; 40 attacks: a false alarm for less than 1 seed of 10^10.
TEST(Attack, OnIndependentDataLinkageIsChance) {
  const AttackReport report =
      AttackOf(NormalNumbers(1000, 9, 11), NormalNumbers(1000, 9, 12));
  ASSERT_GT(report.linkage.size(), 27u);
  for (const Linkage& one : report.linkage) {
    EXPECT_LE(one.linked.value * static_cast<double>(one.linked.of), 14)
        << one.knows;
    EXPECT_EQ(one.chance.value, 0.001);
  }
}

// The same with whole numbers, where nearly all findings are shared ties.
TEST(Attack, OnIndependentWholeNumbersLinkageIsChance) {
  const AttackReport report =
      AttackOf(WholeNumbers(1000, 6, 9, 11), WholeNumbers(1000, 6, 9, 12));
  for (const Linkage& one : report.linkage)
    EXPECT_LE(one.linked.value * static_cast<double>(one.linked.of), 14)
        << one.knows;
}

// No column says anything about another, nor the table about its people: the
// attacker does as well without the person's row. Each of 1,000 people counts
// 9 columns; the two shares differ by rows that were nearest by chance, 1 in
// 1,000.
TEST(Attack, OnIndependentDataAttributesAreNoBetterKnownThanWithoutTheRow) {
  const AttackReport report =
      AttackOf(WholeNumbers(1000, 9, 9, 11), WholeNumbers(1000, 9, 9, 12));
  const auto& attributes = report.others["attributes"];
  EXPECT_NEAR(attributes["with_table"]["value"].get<double>(),
              attributes["without_own_row"]["value"].get<double>(), 0.01);
  EXPECT_EQ(attributes["columns"].size(), 9u);
}

TEST(Attack, KnownPairsUndoAMapThatHidesEverybody) {
  const Eigen::MatrixXd original = NormalNumbers(400, 8, 1);
  const Eigen::MatrixXd published =
      (original * NormalNumbers(8, 8, 2)).array() + 50;
  const AttackReport report = AttackOf(original, published);
  EXPECT_LT(report.linked_all_known->value, 0.1);
  EXPECT_EQ(LinkageOf(report, "30 pairs").linked.value, 1);
  EXPECT_EQ(report.largest_linkage, 1);
}

// A column of huge numbers drowns the others, but not where each is measured on
// its own scale.
TEST(Attack, ColumnsOfDifferentUnitsAreWeighedByTheirScale) {
  Eigen::MatrixXd original = NormalNumbers(500, 6, 1);
  Eigen::MatrixXd published = original + 0.1 * NormalNumbers(500, 6, 2);
  published.col(0) = original.col(0) + NormalNumbers(500, 1, 3);
  original.col(0) *= 1e6;
  published.col(0) *= 1e6;
  const AttackReport report = AttackOf(original, published);
  EXPECT_LT(LinkageOf(report, "6 values").linked.value, 0.1);
  EXPECT_GT(
      LinkageOf(report, "6 values, each on its column's scale").linked.value,
      0.5);
}

AttackOptions Publishing(
    const Eigen::MatrixXd& original,
    const std::function<Eigen::MatrixXd(Eigen::MatrixXd)>& method) {
  AttackOptions options;
  options.publish = [&original, method](
                        const std::vector<int>& rows) -> absl::StatusOr<Table> {
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(original.rows() / 2));
    return TableOf(method(SelectRows(original, rows)));
  };
  return options;
}

TEST(Attack, MembersOfAnUndistortedTableAreKnown) {
  const Eigen::MatrixXd original = WithTwins();
  const AttackReport report =
      AttackOf(original, original,
               Publishing(original, [](Eigen::MatrixXd half) { return half; }));
  ASSERT_TRUE(report.membership_auc.has_value());
  EXPECT_EQ(report.membership_auc->value, 1);
  EXPECT_EQ(report.membership_at_1_percent->value, 1);
}

// The table is drawn afresh and knows nobody. The AUC is within 5.5 standard
// deviations of 1/2 for all but one seed of 2.5e7, and the deviation of one
// half of 800 people is at most sqrt((m + n + 1) / (12 m n)) = 0.0205; the mean
// of four is closer.
TEST(Attack, MembersOfAnIndependentTableAreNotKnown) {
  const Eigen::MatrixXd original = NormalNumbers(800, 5, 1);
  const AttackReport report =
      AttackOf(original, NormalNumbers(800, 5, 2),
               Publishing(original, [](const Eigen::MatrixXd& half) {
                 return NormalNumbers(half.rows(), 5, 3);
               }));
  EXPECT_NEAR(report.membership_auc->value, 0.5, 5.5 * 0.0205);
  EXPECT_LT(report.membership_auc->low, report.membership_auc->value);
}

TEST(Attack, OutsidersOfAForeignTableAreToldFromItsMembers) {
  const Eigen::MatrixXd original = WithTwins();
  Table outsiders = TableOf(WholeNumbers(200, 9, 9, 99));
  // One who looks like a member is not told apart, and is left out.
  outsiders.values.row(0) = original.row(100);
  AttackOptions options = {.outsiders = &outsiders};
  const AttackReport report = AttackOf(original, original, options);
  EXPECT_EQ(report.membership_auc->value, 1);
  EXPECT_EQ(report.membership_auc->of, 219 + 199);
}

TEST(Attack, OfTooFewOutsidersMembershipIsNotJudged) {
  const AttackReport report = AttackOf(WithTwins(), WithTwins());
  EXPECT_FALSE(report.membership_auc.has_value());
  EXPECT_TRUE(ToJson(report)["membership"]["auc"].is_null());
}

TEST(Attack, IsTheSameForASeedAndAnyNumberOfThreads) {
  const Eigen::MatrixXd original = WithTwins();
  const Eigen::MatrixXd published = original + NormalNumbers(300, 9, 5);
  const auto run = [&](int threads) {
    return ToJson(
        AttackOf(original, published, {.seed = 7, .threads = threads}));
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(Attack, LooksAtSoManyPeopleAtMost) {
  const AttackReport report =
      AttackOf(WithTwins(), WithTwins(), {.people = 50});
  EXPECT_EQ(report.linked_all_known->of, 50);
  EXPECT_EQ(report.others["people"]["attacked"], 50);
}

TEST(Attack, TablesOfOtherPeopleOrColumnsAreRefused) {
  const auto code_of = [](const Eigen::MatrixXd& original,
                          const Eigen::MatrixXd& published) {
    return ReasonCode(
        Attack(TableOf(original), TableOf(published), {.seed = 1}).status());
  };
  const Eigen::MatrixXd a = WholeNumbers(10, 3, 9, 1);
  EXPECT_EQ(code_of(a, a.topRows(9)), "attack-mismatch");
  EXPECT_EQ(code_of(a, a.leftCols(2)), "attack-mismatch");
  EXPECT_EQ(code_of(a.topRows(1), a.topRows(1)), "attack-mismatch");
  Eigen::MatrixXd b = a;
  b(3, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code_of(a, b), "attack-mismatch");
}

TEST(Attack, SmallTablesHaveNoPairs) {
  const Eigen::MatrixXd a = WholeNumbers(5, 3, 9, 1);
  const AttackReport report = AttackOf(a, a);
  for (const Linkage& one : report.linkage)
    EXPECT_EQ(one.knows.find("pairs"), std::string::npos);
  EXPECT_TRUE(report.others["reconstruction"]["regression"].is_null());
  // Nobody knows 4 values of 3.
  EXPECT_FALSE(report.linked_4_known.has_value());
}

TEST(Attack, SaysInWordsWhatAnAttackerFound) {
  const auto words = InWords(AttackOf(WithTwins(), WithTwins()));
  ASSERT_FALSE(words.empty());
  EXPECT_THAT(words[0], testing::HasSubstr("finds 100.0 %"));
  EXPECT_THAT(words[0], testing::HasSubstr("of 220 people"));
}

TEST(Attack, MetricsAreEmptyWhereNothingWasJudged) {
  AttackReport report;
  TrialTable table("all,four,membership");
  table.Add(MetricsOf(report));
  report.linked_all_known = ShareOf(1, 2);
  table.Add(MetricsOf(report));
  EXPECT_EQ(table.Csv(), "all,four,membership\n,,\n0.5,,\n");
}

}  // namespace
}  // namespace dpnmf::curator::lab
