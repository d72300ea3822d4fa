#include "lab/ratings/report.h"

#include <limits>
#include <sstream>

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/evaluate/page.h"
#include "nlohmann/json.hpp"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kHostileName[] = "</script><img src=x onerror=alert(1)>.csv";

EvaluateRatingsOptions ReportOptions() {
  EvaluateRatingsOptions options;
  options.ratings = "ratings.csv";
  options.items = "items.txt";
  options.rating_range = "1,5";
  options.epsilon = {1, 4};
  options.published_study = true;
  return options;
}

// Made by hand: two trials and a run of the study, no file.
RatingsEvaluation Small() {
  RatingsEvaluation evaluation;
  evaluation.name = kHostileName;
  evaluation.planned = 4;
  RatingsResult ease;
  ease.method = RatingsMethod::kEase;
  ease.metrics.recall20 = 0.25;
  ease.metrics.ndcg20 = 0.5;
  RatingsResult ratings;
  ratings.method = RatingsMethod::kRatings;
  ratings.epsilon = 4;
  ratings.repeat = 2;
  ratings.metrics.rmse = 0.9;
  ratings.metrics.mae = 0.7;
  ratings.metrics.recall20 = 0.125;
  ratings.metrics.ndcg20 = 0.0625;
  PopularityGroup group;
  group.name = "most rated 1 %";
  group.rmse = std::numeric_limits<double>::quiet_NaN();
  group.recall = 0.5;
  ratings.metrics.groups = {group};
  evaluation.results = {ease, ratings};
  StudyRun study;
  study.study = "n";
  study.options.epsilon_per_round = 0.5;
  study.options.rounds = 1000;
  study.run.rounds = 20;
  study.run.seconds_per_round = 0.0015;
  study.run.curve = {{10, 1.5, 1.75, 2.5}, {20, 1, 1.25, 3}};
  evaluation.study = {study};
  return evaluation;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(RatingsCsv, HasTheColumnsAndOneRowATrial) {
  EXPECT_THAT(LinesOf(ResultsCsv(Small())),
              ::testing::ElementsAre(
                  "method,epsilon,repeat,rmse,mae,recall20,ndcg20",
                  "ease,,1,,,0.25,0.5", "ratings,4,2,0.9,0.7,0.125,0.0625"));
}

TEST(PublishedCsv, HasOneRowAPointAndHowTheRunEnded) {
  EXPECT_THAT(
      LinesOf(PublishedCsv(Small())),
      ::testing::ElementsAre("study,epsilon_per_round,n,step,round,train_rmse,"
                             "held_out_rmse,claimed_epsilon,ms_per_round,ended",
                             "n,0.5,20,0.0005,10,1.5,1.75,2.5,1.500,",
                             "n,0.5,20,0.0005,20,1,1.25,3,1.500,converged"));
}

TEST(RatingsJson, HoldsFiguresWarningAndThatItIsNotComplete) {
  const Json json = Json::parse(ResultsJson(ReportOptions(), Small()));
  EXPECT_EQ(json["warning"], kEvaluateWarning);
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["results"][1]["rmse"], 0.9);
  EXPECT_EQ(json["results"][0]["rmse"], nullptr);
  EXPECT_EQ(json["summary"][1]["groups"][0]["recall"], 0.5);
  EXPECT_EQ(json["summary"][1]["groups"][0]["rmse"], nullptr);
  EXPECT_EQ(json["study"][0]["ended"], "converged");
  EXPECT_EQ(json["options"]["adjacency"], "replace_one");
}

TEST(RatingsReport, TextOfTheOperatorsFilesStaysData) {
  const std::string html = ReportHtml(ReportOptions(), Small());
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("\\u003c/script\\u003e"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("<thead><tr><td class=\"warning\"><section "
                              "aria-label=\"Warning\">" +
                              std::string(kEvaluateWarning) + "</section>"));
  EXPECT_THAT(html, HasSubstr("What popular and rare items get"));
}

TEST(RatingsReport, IsWrittenBesideItsTables) {
  const Scratch scratch;
  EvaluateRatingsOptions options = ReportOptions();
  options.output = scratch.path();
  ASSERT_TRUE(WriteTables(options, Small()).ok());
  ASSERT_TRUE(WriteReport(options, Small()).ok());
  EXPECT_EQ(ReadAll(scratch.path() + "/results.csv"), ResultsCsv(Small()));
  EXPECT_EQ(ReadAll(scratch.path() + "/published.csv"), PublishedCsv(Small()));
  EXPECT_THAT(ReadAll(scratch.path() + "/report.html"), HasSubstr("<html"));
  EXPECT_THAT(ReadAll(scratch.path() + "/results.json"), HasSubstr("ndcg20"));
}

TEST(RatingsRecordUse, AppendsALine) {
  const Scratch output;
  EvaluateRatingsOptions options = ReportOptions();
  options.output = output.path();
  ASSERT_TRUE(RecordUse(options, "2026-01-02T03:04:05Z").ok());
  ASSERT_TRUE(RecordUse(options, "2026-01-02T03:04:06Z").ok());
  const auto lines = LinesOf(ReadAll(output.path() + "/evaluations.log"));
  ASSERT_EQ(lines.size(), 2u);
  const Json second = Json::parse(lines[1]);
  EXPECT_THAT(std::string(second["input"]), HasSubstr("/ratings.csv"));
  EXPECT_EQ(second["options"]["rating_range"], "1,5");
  EXPECT_EQ(second["time"], "2026-01-02T03:04:06Z");
}

}  // namespace
}  // namespace dpnmf::curator::lab
