// `dpnmf-lab complete` as an operator types it.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"
#include "tests/lab/complete/complete_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

class CompleteCommandLine : public Terminal {
 protected:
  CompleteCommandLine() {
    const CompletionInput input = GeneratedInput(60, 24, 0.4, 1);
    std::string train, test, later, column;
    Draws draws(2);
    for (Eigen::Index i = 0; i < 60; ++i) {
      for (std::size_t at = input.ratings.Begin(i);
           at < input.ratings.Begin(i + 1); ++at) {
        std::string& to = input.ratings.indices[at] == 23 ? column
                          : i >= 50                       ? later
                          : draws.Below(5) == 0           ? test
                                                          : train;
        absl::StrAppend(&to, "p", i, "\ti", input.ratings.indices[at], "\t",
                        input.ratings.values[at], "\n");
      }
    }
    scratch_.Write("train", train);
    scratch_.Write("test", test);
    scratch_.Write("later", later);
    scratch_.Write("column", column);
    scratch_.Write("users.csv", Features("p", 0, 50, input.of_people));
    scratch_.Write("users2.csv", Features("p", 50, 60, input.of_people));
    scratch_.Write("items.csv", Features("i", 0, 24, input.of_items));
  }

  static std::string Features(const char* prefix, Eigen::Index begin,
                              Eigen::Index end, const Auxiliary& auxiliary) {
    std::string text = "id,name,a,b,noise\n";
    for (Eigen::Index i = begin; i < end; ++i) {
      absl::StrAppend(&text, prefix, i, ",");
      for (Eigen::Index j = 0; j < 3; ++j)
        absl::StrAppend(&text, ",", auxiliary.features(i, j));
      text += '\n';
    }
    return text;
  }

  const std::string fit_ =
      "complete fit --ratings train --test test --user-features users.csv "
      "--item-features items.csv --clusters 3,2 --weights .2,0,.8 --rank 3 ";

  Json Results(const std::string& directory) const {
    return Json::parse(
        ReadAll(scratch_.path() + "/" + directory + "/results.json"));
  }
  std::string Metrics(const std::string& directory) const {
    return ReadAll(scratch_.path() + "/" + directory + "/metrics.csv");
  }
  void ExpectRefusal(const std::string& arguments, const std::string& code,
                     int exit_code = kExitUsage) {
    EXPECT_EQ(Run(arguments + " --output refused"), exit_code) << arguments;
    EXPECT_THAT(err_, HasSubstr("[" + code + "]")) << arguments;
    EXPECT_FALSE(Exists("refused")) << arguments;
  }
};

TEST_F(CompleteCommandLine, FitWritesMetricsAModelAndADraft) {
  ASSERT_EQ(Run(fit_ + "--rounds 10 --output done"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("Not private"));
  const std::string metrics = Metrics("done");
  EXPECT_THAT(metrics, StartsWith("method,mae,pi_all,pi_rated\naux-nmf,"));
  EXPECT_THAT(metrics, HasSubstr("\nsvd,"));
  EXPECT_THAT(metrics, HasSubstr("\nmean,"));
  const Json json = Results("done");
  EXPECT_THAT(json["warning"].get<std::string>(), HasSubstr("Not private"));
  EXPECT_EQ(json["sizes"]["people"], 50);
  EXPECT_EQ(json["sizes"]["items"], 24);
  EXPECT_EQ(json["objective"].size(), 11u);
  // Item 23, which nobody has rated yet, gets the indicator of its cluster.
  EXPECT_EQ(json["cold_items"]["by_weight"], 1);
  // A start of ten is a little worse than the SVD here: the best of some.
  double least = std::numeric_limits<double>::infinity();
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    const std::string output = absl::StrCat("seed_", seed);
    ASSERT_EQ(Run(absl::StrCat(fit_, "--rounds 10 --public --seed ", seed,
                               " --output ", output)),
              kExitOk)
        << err_;
    least = std::min(least, Results(output)["results"][0]["mae"].get<double>());
  }
  EXPECT_LT(least, json["results"][1]["mae"].get<double>());
  for (const char* file :
       {"done/model.bin", "done/metrics.csv", "done/results.json",
        "done/report.html", "done/aux-nmf/draft.json",
        "done/aux-nmf/table.csv"}) {
    ASSERT_TRUE(Exists(file)) << file;
    EXPECT_EQ(
        static_cast<int>(std::filesystem::status(scratch_.path() + "/" + file)
                             .permissions()),
        0600)
        << file;
  }
  // A second one does not write over the draft.
  EXPECT_EQ(Run(fit_ + "--output done"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[draft-exists]"));
}

TEST_F(CompleteCommandLine, TheSeedDecidesAndNeedsPublicData) {
  for (const char* output : {"a", "b"})
    ASSERT_EQ(Run(fit_ + "--public --seed 5 --output " + output), kExitOk);
  EXPECT_EQ(Metrics("a"), Metrics("b"));
  ASSERT_EQ(Run(fit_ + "--output c"), kExitOk);
  EXPECT_NE(Metrics("a"), Metrics("c"));
  ExpectRefusal(fit_ + "--seed 5", "seed-needs-public");
}

TEST_F(CompleteCommandLine, UpdatesAddPeopleAndItems) {
  ASSERT_EQ(Run(fit_ + "--output done"), kExitOk) << err_;
  ASSERT_EQ(Run("complete update --model done/model.bin --rows later "
                "--user-features users2.csv --test test --output rows"),
            kExitOk)
      << err_;
  Json json = Results("rows");
  EXPECT_EQ(json["added"], 10);
  EXPECT_EQ(json["since_fit"]["people"], 10);
  EXPECT_THAT(out_, HasSubstr("a refit"));
  ASSERT_EQ(Run("complete update --model rows/model.bin --columns column "
                "--test test --output columns"),
            kExitOk)
      << err_;
  json = Results("columns");
  // Item 23 was there without ratings.
  EXPECT_EQ(json["added"], 0);
  EXPECT_EQ(json["filled"], 1);
  EXPECT_EQ(json["since_fit"]["people"], 10);
  // All of them are known now.
  ExpectRefusal("complete update --model rows/model.bin --rows later",
                "complete-row-known");
}

TEST_F(CompleteCommandLine, AChangedModelFileIsRefused) {
  ASSERT_EQ(Run(fit_ + "--output done"), kExitOk) << err_;
  const std::string path = scratch_.path() + "/done/model.bin";
  std::string model = ReadAll(path);
  model[model.size() / 2] = static_cast<char>(model[model.size() / 2] ^ 1);
  scratch_.Write("changed.bin", model);
  ExpectRefusal("complete update --model changed.bin --rows later",
                "complete-model-changed", kExitDataLoss);
  // Under the operator's key, the key is needed.
  std::filesystem::create_directory(scratch_.path() + "/data");
  ASSERT_EQ(Run(fit_ + "--data-dir data --output keyed"), kExitOk) << err_;
  EXPECT_TRUE(Exists("keyed/aux-nmf/people.bin"));
  ExpectRefusal("complete update --model keyed/model.bin --rows later",
                "complete-model-key", kExitState);
  EXPECT_EQ(Run("complete update --model keyed/model.bin --rows later "
                "--data-dir data --output after"),
            kExitOk)
      << err_;
}

TEST_F(CompleteCommandLine, BadInputIsRefusedAndNothingIsWritten) {
  const std::string files =
      "complete fit --ratings train --user-features users.csv "
      "--item-features items.csv --rank 3 ";
  ExpectRefusal(files + "--weights .2,0,.7 --clusters 3,2", "complete-weights");
  ExpectRefusal(files + "--weights .2,.8 --clusters 3,2", "complete-weights");
  ExpectRefusal(files + "--clusters 51,2", "complete-clusters");
  ExpectRefusal(files + "--clusters 3", "complete-clusters");
  ExpectRefusal(
      "complete fit --ratings train --user-features users2.csv "
      "--item-features items.csv",
      "features-mismatch");
  ExpectRefusal("complete fit --ratings train --item-features users.csv",
                "item-unknown");
  ExpectRefusal("complete fit --ratings train", "complete-clusters-missing");
  ExpectRefusal(
      "complete fit --ratings train --weights 1,0,0 --epsilon 1 "
      "--clusters 3,2 --rank 3",
      "complete-range-missing");
  ExpectRefusal("complete svd --ratings train --rank 99", "complete-rank");
  scratch_.Write("negative", "p1 i1 -1\np1 i2 3\np2 i1 2\n");
  ExpectRefusal(
      "complete fit --ratings negative --weights 1,0,0 --clusters 1,1",
      "complete-ratings-negative");
  scratch_.Write("alone", "p1 i1 1\np1 i2 3\n");
  ExpectRefusal("complete fit --ratings alone --weights 1,0,0 --clusters 1,1",
                "complete-people");
  ExpectRefusal("complete svd --ratings alone --rank 1", "complete-people");
  ExpectRefusal(files + "--user-labels users.csv", "complete-flags-mixed");
  scratch_.Write("labels", "p1,a,b\n");
  ExpectRefusal("complete fit --ratings train --user-labels labels",
                "complete-labels");
  ExpectRefusal("complete update --model none --rows later",
                "complete-model-missing", kExitNotFound);
  ExpectRefusal("complete weights --ratings train --weights 1,0,0 --holdout 1 ",
                "usage");
  ExpectRefusal("complete weights --ratings train --holdout 1",
                "complete-holdout");
  ExpectRefusal(
      "complete experiment --ratings train --weights 1,0,0 "
      "--split 90:10",
      "complete-split");
}

TEST_F(CompleteCommandLine, LabelsStandForFeaturesAtWeightZero) {
  std::string labels = "id,label\n";
  for (int i = 0; i < 50; ++i)
    absl::StrAppend(&labels, "p", i, i % 3 == 0 ? ",f\n" : ",m\n");
  scratch_.Write("labels", labels);
  ASSERT_EQ(Run("complete fit --ratings train --test test --user-labels labels "
                "--clusters 2,10 --weights 1,0,0 --rank 3 --output done"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("The items are the 23 of the ratings"));
  EXPECT_EQ(Run("complete fit --ratings train --test test --user-labels labels "
                "--clusters 2,4 --weights .5,.5,0 --rank 3 --output done2"),
            kExitOk)
      << err_;
}

TEST_F(CompleteCommandLine, WeightsAreJudgedOnHeldOutRatings) {
  ASSERT_EQ(
      Run("complete weights --ratings train --test test --user-features "
          "users.csv --item-features items.csv --clusters 3,2 --output w"),
      kExitOk)
      << err_;
  const Json json = Results("w");
  EXPECT_EQ(json["grid"].size(), 66u);
  double least = 1e9;
  Json best;
  for (const Json& point : json["grid"]) {
    if (point["mae"].get<double>() >= least) continue;
    least = point["mae"].get<double>();
    best = point["weights"];
  }
  EXPECT_EQ(json["best"], best);
  // Without features of items their weight is 0: 11 settings.
  ASSERT_EQ(Run("complete weights --ratings train --user-features users.csv "
                "--clusters 3,2 --output v"),
            kExitOk)
      << err_;
  EXPECT_EQ(Results("v")["grid"].size(), 11u);
}

TEST_F(CompleteCommandLine, ExperimentGrowsRowsAndColumns) {
  ASSERT_EQ(Run("complete experiment --ratings train --test test "
                "--user-features users.csv --item-features items.csv "
                "--clusters 3,2 --rank 3 --split 30:90 --step 7 --output e"),
            kExitOk)
      << err_;
  const Json json = Results("e");
  int split = 0, weights = 0;
  for (const Json& point : json["experiment"]) {
    split += point["part"] == "split";
    weights += point["part"] == "weights";
    EXPECT_GE(point["pi_all"].get<double>(), 1);
    EXPECT_GE(point["update_seconds"].get<double>(), 0);
  }
  EXPECT_EQ(split, 2 * 2 * 7);
  EXPECT_EQ(weights, 2 * 8);
  EXPECT_THAT(ReadAll(scratch_.path() + "/e/experiment.csv"),
              StartsWith("part,direction,method,split,"));
}

TEST_F(CompleteCommandLine, PrivateCompletionStandsBeside) {
  ASSERT_EQ(Run(fit_ + "--rating-range 0,5 --epsilon 4 --output done"), kExitOk)
      << err_;
  EXPECT_THAT(Metrics("done"), HasSubstr("\ndp-item-effects@4,"));
  EXPECT_THAT(Metrics("done"), HasSubstr("\ndp-ratings@4,"));
  EXPECT_EQ(Results("done")["results"][3]["method"], "dp-item-effects");
}

}  // namespace
}  // namespace dpnmf::curator::lab
