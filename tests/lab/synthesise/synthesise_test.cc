#include "lab/synthesise/synthesise.h"

#include <algorithm>
#include <cmath>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "lab/synthesise/classifier.h"
#include "tests/lab/synthesise/synthesise_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

TEST(TrainedAccuracy, IsTheShareOfClassesThatAreFound) {
  const Table table = TwoClassTable(90);
  EXPECT_EQ(TrainedAccuracy(table, TwoClassTable(60, 8), 0.1).value(), 1);
  Table swapped = table;
  for (std::string& name : swapped.classes)
    name = name == "low" ? "high" : "low";
  EXPECT_EQ(TrainedAccuracy(table, swapped, 0.1).value(), 0);
  // A class that was never seen is never found: 30 of 90 are "low".
  for (std::string& name : swapped.classes)
    name = name == "low" ? "other" : "low";
  EXPECT_NEAR(TrainedAccuracy(table, swapped, 0.1).value(), 1.0 / 3, 1e-12);
  Table one = table;
  std::fill(one.classes.begin(), one.classes.end(), "low");
  EXPECT_EQ(ReasonCode(TrainedAccuracy(one, table, 0.1).status()),
            "classes-one");
  one.classes.clear();
  EXPECT_EQ(ReasonCode(TrainedAccuracy(table, one, 0.1).status()),
            "attack-mismatch");
  one = table;
  one.values.conservativeResize(90, 3);
  EXPECT_EQ(ReasonCode(TrainedAccuracy(table, one, 0.1).status()),
            "attack-mismatch");
}

TEST(MeasuredRelease, IsTheReleaseOfTheCuratorsPlan) {
  Draws draws(5);
  const Table table = TwoClassTable(300);
  const auto release =
      MeasuredRelease(table, TwoClasses(), 900, 1e-5, 2, &draws);
  ASSERT_TRUE(release.ok()) << release.status();
  // Read back as the file of a paid one would be: plan and sums fit.
  ClassRelease charged = *release;
  charged.charge = nlohmann::ordered_json::object();
  charged.receipt = nlohmann::ordered_json::object();
  const auto read = ClassReleaseOfJson(ToJson(charged));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->sums, release->sums);
  EXPECT_EQ(read->stddev_steps, release->stddev_steps);
  Table other = table;
  other.classes[7] = "third";
  EXPECT_EQ(
      ReasonCode(
          MeasuredRelease(other, TwoClasses(), 1, 1e-5, 1, &draws).status()),
      "class-unknown");
}

TEST(SynthesiseTable, DrawsTheClassesOfTheRelease) {
  Draws noise(5);
  const ClassRelease release =
      MeasuredRelease(TwoClassTable(3000), TwoClasses(), 20, 1e-5, 2, &noise)
          .value();
  Draws draws(1), again(1), other(2);
  const Table people = SynthesiseTable(release, 900, &draws).value();
  ASSERT_EQ(people.people(), 900);
  EXPECT_EQ(people.columns, (std::vector<std::string>{"p", "q", "r", "s"}));
  const auto low =
      std::count(people.classes.begin(), people.classes.end(), "low");
  EXPECT_NEAR(static_cast<double>(low), 300, 30);
  EXPECT_GE(people.values.minCoeff(), 0);
  EXPECT_LE(people.values.maxCoeff(), 2);
  for (Eigen::Index n = 0; n < people.people(); ++n) {
    const bool is_low = people.classes[static_cast<std::size_t>(n)] == "low";
    EXPECT_EQ(people.values.row(n).mean() < 0.95, is_low) << n;
  }
  EXPECT_EQ(SynthesiseTable(release, 900, &again)->values, people.values);
  EXPECT_NE(SynthesiseTable(release, 900, &other)->values, people.values);
}

// The same figures for the same seed; a classifier learns from the synthetic,
// and an attacker cannot tell who was in the table.
TEST(MeasureSynthesis, FindsTheUseAndNoMembers) {
  SynthesisOptions options;
  options.epsilons = {1, 8};
  options.repeats = 3;
  options.seed = 4;
  const Table table = TwoClassTable(400);
  const auto measure = MeasureSynthesis(table, TwoClasses(), options);
  ASSERT_TRUE(measure.ok()) << measure.status();
  EXPECT_EQ(measure->accuracy_on_itself, 1);
  ASSERT_EQ(measure->trials.size(), 6u);
  for (const SynthesisTrial& trial : measure->trials) {
    EXPECT_GT(trial.accuracy, 0.9) << trial.epsilon;
    ASSERT_TRUE(trial.membership_auc.has_value());
    // 200 members and 200 outsiders: 6 standard deviations (2e-9).
    EXPECT_NEAR(trial.membership_auc->value, 0.5, 6 * 0.029);
    // Linkage is chance: who is found is found by guessing.
    ASSERT_EQ(trial.attacks.has_value(), trial.repeat == 1);
    if (!trial.attacks.has_value()) continue;
    for (const Linkage& one : trial.attacks->linkage)
      EXPECT_LE(one.linked.low, one.chance.value) << one.knows;
  }
  const auto again = MeasureSynthesis(table, TwoClasses(), options);
  EXPECT_EQ(again->trials[5].accuracy, measure->trials[5].accuracy);
  options.stop = [] { return true; };
  EXPECT_EQ(ReasonCode(MeasureSynthesis(table, TwoClasses(), options).status()),
            "cancelled");
}

}  // namespace
}  // namespace dpnmf::curator::lab
