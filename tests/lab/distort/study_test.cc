#include "lab/distort/study.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lab/distort/distort_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// 60 people, two classes that one column tells apart.
Table SmallTable() {
  Table table;
  table.values = 3 * Generated(60, 5, 1);
  for (int i = 0; i < 60; ++i) {
    table.classes.push_back(i % 2 == 0 ? "a" : "b");
    table.values(i, 4) += i % 2 == 0 ? 0 : 40;
  }
  table.columns = {"p", "q", "r", "s", "t"};
  return table;
}

DistortStudyOptions OptionsFor(const std::vector<std::string>& methods) {
  DistortStudyOptions options;
  options.methods = *DistortMethodsOf(methods, false);
  options.distort.rank = 3;
  options.distort.nmf.tolerance = 1e-3;
  options.seed = 5;
  return options;
}

absl::Status Forget(const DistortOutcome&, const Table&) {
  return absl::OkStatus();
}

TEST(DistortStudy, KeepsEveryTableWithNamesAndClasses) {
  const Table table = SmallTable();
  std::vector<std::string> kept;
  const auto study = StudyDistortions(
      table, OptionsFor({"all"}),
      [&](const DistortOutcome& outcome, const Table& distorted) {
        kept.emplace_back(outcome.method->name);
        EXPECT_EQ(distorted.columns, table.columns);
        EXPECT_EQ(distorted.classes, table.classes);
        EXPECT_NEAR((distorted.values - table.values).norm(),
                    outcome.figures.objective, 1e-9);
        return absl::OkStatus();
      });
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_EQ(kept.size(), 11u);
  EXPECT_EQ(study->original_accuracy, 1);
  for (const DistortOutcome& outcome : study->outcomes) {
    EXPECT_GT(outcome.figures.vd, 0);
    EXPECT_TRUE(outcome.figures.accuracy.has_value());
    EXPECT_TRUE(outcome.attack.linked_all_known.has_value());
    EXPECT_TRUE(outcome.attack.membership_auc.has_value());
    EXPECT_EQ(outcome.nmf.has_value(),
              outcome.method->core == DistortCore::kNmf);
  }
}

TEST(DistortStudy, OfASeedIsTheSameWhateverElseIsAskedFor) {
  const Table table = SmallTable();
  std::map<std::string, Eigen::MatrixXd> first;
  const auto keep = [&](const DistortOutcome& outcome, const Table& distorted) {
    first[std::string(outcome.method->name)] = distorted.values;
    return absl::OkStatus();
  };
  ASSERT_TRUE(
      StudyDistortions(table, OptionsFor({"ud", "nd", "nmf", "cnmf"}), keep)
          .ok());
  for (const char* name : {"nd", "cnmf"}) {
    ASSERT_TRUE(
        StudyDistortions(table, OptionsFor({name}),
                         [&](const DistortOutcome&, const Table& distorted) {
                           EXPECT_EQ(distorted.values, first[name]);
                           return absl::OkStatus();
                         })
            .ok());
  }
  DistortStudyOptions unseeded = OptionsFor({"nd", "nmf"});
  unseeded.seed.reset();
  ASSERT_TRUE(StudyDistortions(
                  table, unseeded,
                  [&](const DistortOutcome& outcome, const Table& distorted) {
                    EXPECT_NE(distorted.values,
                              first[std::string(outcome.method->name)]);
                    return absl::OkStatus();
                  })
                  .ok());
}

TEST(DistortStudy, RankSearchTakesTheMostDistortedThatIsStillUseful) {
  DistortStudyOptions options = OptionsFor({"svd", "ud"});
  options.rank_search = true;
  const auto study = StudyDistortions(SmallTable(), options, Forget);
  ASSERT_TRUE(study.ok()) << study.status();
  const DistortOutcome& svd = study->outcomes[0];
  ASSERT_EQ(svd.ranks.size(), 3u);
  EXPECT_EQ(svd.ranks[0].kept, 3);
  EXPECT_EQ(svd.ranks[2].kept, 1);
  EXPECT_LT(svd.ranks[0].vd, svd.ranks[2].vd);
  double largest = 0;
  for (const DistortFigures& figures : svd.ranks)
    if (figures.accuracy->distorted >= .99)
      largest = std::max(largest, figures.vd);
  EXPECT_EQ(svd.figures.vd, largest);
  EXPECT_TRUE(study->outcomes[1].ranks.empty());
}

TEST(DistortStudy, RankSearchWithoutClassesNeedsADistortion) {
  Table table = SmallTable();
  table.classes.clear();
  DistortStudyOptions options = OptionsFor({"svd"});
  options.rank_search = true;
  EXPECT_EQ(ReasonCode(StudyDistortions(table, options, Forget).status()),
            "rank-search-needs-class");
  const ThinSvd svd = ThinSvdOf(table.values, 5);
  // Just below what two components leave.
  options.distort.nmf.stop_at_vd =
      .999 * svd.s.tail(3).norm() / table.values.norm();
  const auto study = StudyDistortions(table, options, Forget);
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_EQ(study->outcomes[0].figures.kept, 2);
  EXPECT_FALSE(study->outcomes[0].figures.accuracy.has_value());
  EXPECT_FALSE(study->original_accuracy.has_value());
}

TEST(DistortStudy, KeepsNothingOfBadInput) {
  Table table = SmallTable();
  DistortStudyOptions options = OptionsFor({"ud", "svd"});
  options.distort.rank = 6;
  const auto never = [](const DistortOutcome&, const Table&) {
    ADD_FAILURE();
    return absl::OkStatus();
  };
  EXPECT_EQ(ReasonCode(StudyDistortions(table, options, never).status()),
            "rank-out-of-range");
  options.distort.rank = 3;
  options.svm.folds = 1;
  EXPECT_EQ(ReasonCode(StudyDistortions(table, options, never).status()),
            "distort-folds");
  options.svm.folds = 5;
  options.stop = [] { return true; };
  EXPECT_EQ(ReasonCode(StudyDistortions(table, options, never).status()),
            "cancelled");
}

TEST(DistortStudy, CsvHasTheDeclaredColumns) {
  Table table = SmallTable();
  auto study = StudyDistortions(table, OptionsFor({"svd"}), Forget);
  ASSERT_TRUE(study.ok()) << study.status();
  const std::string csv = DistortCsv(*study);
  EXPECT_THAT(csv, StartsWith("method,vd,rp,rk,cp,ck,accuracy,linked_all_known,"
                              "linked_4_known,membership_auc\nsvd,"));
  const std::vector<std::string> lines = absl::StrSplit(csv, '\n');
  ASSERT_EQ(lines.size(), 3u);
  const std::vector<std::string> fields = absl::StrSplit(lines[1], ',');
  ASSERT_EQ(fields.size(), 10u);
  const DistortFigures& figures = study->outcomes[0].figures;
  EXPECT_NEAR(std::stod(fields[1]), figures.vd, 1e-8);
  EXPECT_NEAR(std::stod(fields[2]), figures.by_sort_index.rp, 1e-6);
  EXPECT_NEAR(std::stod(fields[6]), figures.accuracy->distorted, 1e-8);
  const auto json = ToJson(*study, {});
  EXPECT_EQ(json["methods"][0]["method"], "svd");
  EXPECT_EQ(json["methods"][0]["places"]["rank"]["rp"], figures.by_rank.rp);
  EXPECT_EQ(json["methods"][0]["places"]["sort_index"]["rp"],
            figures.by_sort_index.rp);
}

TEST(DistortStudy, TrialsAreTheTablesOfThePublication) {
  Table table = SmallTable();
  const auto trials = NmfTrials(table.values, OptionsFor({"nmf"}));
  ASSERT_TRUE(trials.ok()) << trials.status();
  ASSERT_EQ(trials->size(), 5u + 8u);  // ranks 5 to 1; 4 tolerances, twice
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ((*trials)[i].table, 2);
    EXPECT_EQ((*trials)[i].rank, 5 - static_cast<int>(i));
  }
  for (std::size_t i = 5; i < 13; ++i) {
    const NmfTrial& trial = (*trials)[i];
    EXPECT_EQ(trial.table, 3);
    EXPECT_EQ(trial.multiplicative, i % 2 == 0);
    // One start.
    EXPECT_EQ(trial.result.first_objective,
              (*trials)[5].result.first_objective);
    if (trial.result.stop == NmfStop::kTolerance) {
      EXPECT_LE(trial.result.last_gradient,
                trial.tolerance * trial.result.first_gradient);
    }
  }
  const std::string csv = NmfTrialsCsv(*trials);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 14);
}

TEST(DistortStudy, LargeTablesAreFactorisedInFewerIterations) {
  EXPECT_EQ(MostIterationsFor(699 * 9), 20'000);
  EXPECT_EQ(MostIterationsFor(500'000), 20'000);
  EXPECT_EQ(MostIterationsFor(10'000'000), 1000);
  EXPECT_EQ(MostIterationsFor(1'000'000'000), 100);
}

}  // namespace
}  // namespace dpnmf::curator::lab
