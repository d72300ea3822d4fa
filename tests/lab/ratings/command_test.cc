// `dpnmf-lab evaluate --ratings` as it is installed.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/tables/scratch.h"
#include "tests/lab/evaluate/evaluate_process.h"
#include "tests/lab/ratings/ratings_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

class EvaluateRatingsCommand : public ::testing::Test {
 protected:
  EvaluateRatingsCommand()
      : output_(scratch_.path() + "/out"),
        printed_(scratch_.path() + "/printed") {
    const RatingTable table = Generate({});
    std::string lines = "user\titem\trating\ttime\n", items = "item\n",
                features = "item,name,kind,year\n";
    for (std::size_t u = 0; u < table.people(); ++u) {
      for (std::size_t at = table.Begin(u); at < table.Begin(u + 1); ++at) {
        absl::StrAppend(&lines, u, "\t", table.items[at], "\t",
                        table.units[at] / kOne, "\t", table.times[at], "\n");
      }
    }
    for (int i = 0; i < 60; ++i) {
      absl::StrAppend(&items, i, "\n");
      absl::StrAppend(&features, i, ",Item ", i, ",", i % 3 == 0 ? "a" : "b",
                      ",", 1990 + i % 7, "\n");
    }
    ratings_ = scratch_.Write("ratings.data", lines);
    items_ = scratch_.Write("items.txt", items);
    features_ = scratch_.Write("features.csv", features);
  }

  Words Arguments(Words more) const {
    Words all = {"--ratings",      ratings_, "--items",  items_,
                 "--epsilon",      "1,10",   "--output", output_,
                 "--rating-range", "1,5",    "--force"};
    if (std::find(more.begin(), more.end(), "--repeats") == more.end())
      more.insert(more.end(), {"--repeats", "2"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // Checks the message after the program's name, and the exit code.
  void ExpectRefusal(const Words& arguments, const std::string& code,
                     int exit_code) {
    Process process(arguments, printed_);
    EXPECT_THAT(process.LineWith("dpnmf-lab:"), HasSubstr("[" + code + "]"));
    EXPECT_EQ(process.Wait(), exit_code);
  }

  Scratch scratch_;
  std::string ratings_, items_, features_, output_, printed_;
};

TEST_F(EvaluateRatingsCommand, WritesEverythingAndSaysThatItIsNotPrivate) {
  Process process(Arguments({"--item-features", features_}), printed_);
  EXPECT_EQ(process.Wait(), kExitOk);
  for (const char* file :
       {"results.csv", "results.json", "report.html", "evaluations.log"}) {
    EXPECT_TRUE(std::filesystem::exists(output_ + "/" + file)) << file;
  }
  EXPECT_FALSE(std::filesystem::exists(output_ + "/published.csv"));
  const std::string csv = ReadAll(output_ + "/results.csv");
  EXPECT_THAT(csv,
              StartsWith("method,epsilon,repeat,rmse,mae,recall20,ndcg20\n"));
  for (const char* row :
       {"\nratings,1,1,", "\nratings,10,2,", "\nbias,,1,", "\npopularity,,1,,,",
        "\nals,,2,", "\nease,,2,,,", "\npublished,10,1,", "\nmean,,1,"}) {
    EXPECT_THAT(csv, HasSubstr(row));
  }
  const std::string printed = ReadAll(printed_);
  EXPECT_THAT(printed, HasSubstr("Not private"));
  EXPECT_THAT(printed, HasSubstr("N = 300, those of the file"));
  const Json json = Json::parse(ReadAll(output_ + "/results.json"));
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["item_features"], 3);  // kind=a, kind=b, year
  EXPECT_EQ(json["plans"].size(), 2u);
  EXPECT_EQ(json["plans"][0]["releases"][0]["release"], "items");
}

TEST_F(EvaluateRatingsCommand, TheSeedDecidesOverAllFigures) {
  const auto csv = [&](const char* seed, const char* threads) {
    Process process(Arguments({"--seed", seed, "--threads", threads}),
                    printed_);
    EXPECT_EQ(process.Wait(), kExitOk);
    return ReadAll(output_ + "/results.csv");
  };
  const std::string first = csv("1", "1");
  EXPECT_EQ(csv("1", "2"), first);
  EXPECT_NE(csv("2", "1"), first);
}

TEST_F(EvaluateRatingsCommand, TakesEveryRelationAndEveryHoldOut) {
  for (const char* adjacency : {"add_remove_one", "one_rating"}) {
    Process process(Arguments({"--methods", "ratings", "--adjacency", adjacency,
                               "--users-count", "310"}),
                    printed_);
    EXPECT_EQ(process.Wait(), kExitOk) << adjacency;
  }
  for (const char* by : {"person", "time"}) {
    Process process(Arguments({"--methods", "ratings,bias", "--by", by}),
                    printed_);
    EXPECT_EQ(process.Wait(), kExitOk) << by;
  }
}

TEST_F(EvaluateRatingsCommand, RefusesAMatrixAndRatingsTogether) {
  ExpectRefusal(Arguments({"--input", ratings_}), "evaluate-flags-mixed",
                kExitUsage);
  ExpectRefusal(Arguments({"--vocabulary", items_}), "evaluate-flags-mixed",
                kExitUsage);
  ExpectRefusal({"--input", ratings_, "--items", items_, "--epsilon", "1",
                 "--output", output_},
                "usage", kExitUsage);
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(EvaluateRatingsCommand, SaysWhatIsMissing) {
  ExpectRefusal({"--ratings", ratings_, "--epsilon", "1", "--output", output_},
                "evaluate-flag-missing", kExitUsage);
  ExpectRefusal({"--epsilon", "1", "--output", output_},
                "evaluate-flag-missing", kExitUsage);
  ExpectRefusal({"--input", ratings_, "--epsilon", "1", "--output", output_},
                "evaluate-flag-missing", kExitUsage);
}

TEST_F(EvaluateRatingsCommand, RefusesBeforeItWritesOrRecords) {
  ExpectRefusal(Arguments({"--holdout", "1"}), "evaluate-option-out-of-range",
                kExitUsage);
  ExpectRefusal(Arguments({"--by", "person", "--published-study"}),
                "evaluate-option-out-of-range", kExitUsage);
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(EvaluateRatingsCommand, NamesTheLineOfAnUnknownItem) {
  const std::string bad = scratch_.Write("bad.csv", "1,2,3\n1,nowhere,4\n");
  Process process({"--ratings", bad, "--items", items_, "--rating-range", "1,5",
                   "--epsilon", "1", "--output", output_},
                  printed_);
  EXPECT_THAT(process.LineWith("line 2"), HasSubstr("[item-unknown]"));
  EXPECT_EQ(process.Wait(), kExitUsage);
}

// The trial that is interrupted as it begins takes longer than the signal: 300
// rounds of the published algorithm, again and again.
TEST_F(EvaluateRatingsCommand, InterruptedItWritesWhatIsDone) {
  Process process(
      Arguments({"--methods", "bias,published", "--repeats", "200"}), printed_);
  EXPECT_THAT(process.LineWith("trial 2 of"), HasSubstr("published"));
  process.Interrupt();
  EXPECT_EQ(process.Wait(), kExitInterrupted);
  const Json json = Json::parse(ReadAll(output_ + "/results.json"));
  EXPECT_EQ(json["complete"], false);
  EXPECT_GE(json["results"].size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(output_ + "/report.html"));
  EXPECT_THAT(ReadAll(printed_), HasSubstr("interrupted after"));
}

}  // namespace
}  // namespace dpnmf::curator::lab
