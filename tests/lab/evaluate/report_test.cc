#include "lab/evaluate/report.h"

#include <regex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/tables/scratch.h"
#include "tests/lab/evaluate/evaluate_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// Names that would end the script, begin a comment or an attribute.
constexpr char kHostileName[] = "</script><img src=x onerror=alert(1)>.csv";
constexpr char kHostileWord[] = "<!--<script>&\"'";

EvaluateOptions Options() {
  EvaluateOptions options = SmallOptions("unused");
  options.vocabulary = "words.txt";
  options.image_width = 2;
  options.image_by_columns = true;
  return options;
}

// Made by hand: two trials, no file.
Evaluation Small() {
  Evaluation evaluation;
  evaluation.name = kHostileName;
  evaluation.features = 4;
  evaluation.users = 9;
  evaluation.planned = 3;
  evaluation.vocabulary = {kHostileWord, "b", "c", "d"};
  Result none;
  none.objective = 0.25;
  none.curve = {{1, 0.5}, {2, 0.25}};
  none.w = (Eigen::MatrixXd(4, 1) << 0, 0.5, 1, 0.25).finished();
  none.topics = {{{0, 1}, 0.5, -1}};
  none.npmi = 0.5;
  none.umass = -1;
  Result paper;
  paper.setting = {.method = Method::kPaper, .epsilon = 2, .rounds = 4};
  paper.epsilon_per_round = 0.125;
  paper.objective = 0.75;
  evaluation.results = {none, paper};
  return evaluation;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t Count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern, std::regex::icase);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex),
                    std::sregex_iterator()));
}

// The JSON that the page carries.
Json DataOf(const std::string& html) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = html.find(begin) + begin.size();
  return Json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST(Csv, HasOneRowATrialUnderItsColumns) {
  const auto lines = LinesOf(ResultsCsv(Options(), Small()));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "dataset,data,mechanism,outliers,epsilon,delta,rounds,"
            "epsilon_per_round,repeat,objective,npmi,umass,seconds,conversion");
  EXPECT_EQ(lines[1], std::string(kHostileName) +
                          ",as given,none,off,,,,,1,0.25,0.5,-1,0.000,");
  EXPECT_EQ(lines[2],
            std::string(kHostileName) +
                ",as given,paper,off,2,1e-05,4,0.125,1,0.75,,,0.000,published");
}

TEST(Csv, QuotesNames) {
  Evaluation evaluation = Small();
  evaluation.name = "a,\"b\"\n";
  EXPECT_THAT(ResultsCsv(Options(), evaluation),
              HasSubstr("\n\"a,\"\"b\"\"\n\",as given"));
}

TEST(Csv, OfCurvesHasOneRowAPoint) {
  const auto lines = LinesOf(CurvesCsv(Options(), Small()));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "dataset,data,mechanism,outliers,epsilon,delta,rounds,repeat,round,"
            "objective");
  EXPECT_EQ(lines[2],
            std::string(kHostileName) + ",as given,none,off,,,,1,2,0.25");
}

TEST(ResultsJson, HoldsFiguresWarningAndThatItIsNotComplete) {
  const Json json = Json::parse(ResultsJson(Options(), Small()));
  EXPECT_EQ(json["warning"], kEvaluateWarning);
  EXPECT_EQ(json["dataset"], kHostileName);
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["results"][1]["objective"], 0.75);
  EXPECT_EQ(json["options"]["image_order"], "column");
  EXPECT_EQ(json["results"][0]["epsilon"], nullptr);
  EXPECT_EQ(json["summary"][0]["median"], 0.25);
  EXPECT_EQ(json["topics"][0]["topics"][0]["words"][0], kHostileWord);
  EXPECT_FALSE(json.contains("pictures"));
}

TEST(Report, TextOfTheOperatorsFilesStaysData) {
  const std::string html = ReportHtml(Options(), Small());
  // The page's own three scripts and nothing else.
  EXPECT_EQ(Count(html, "</script"), 3u);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<!--<script")));
  const Json data = DataOf(html);
  EXPECT_EQ(data["dataset"], kHostileName);
  EXPECT_EQ(data["topics"][0]["topics"][0]["words"][0], kHostileWord);
}

// A name that looks like one of the template's places is text as well.
TEST(Report, FillsItsPlacesOnce) {
  Evaluation evaluation = Small();
  evaluation.name = "@PLOT_SCRIPT@";
  const std::string html = ReportHtml(Options(), evaluation);
  EXPECT_EQ(DataOf(html)["dataset"], "@PLOT_SCRIPT@");
  EXPECT_EQ(Count(html, "@[A-Z_]{4,}@"), 1u);
}

TEST(Report, InvalidUtf8DoesNotStopIt) {
  Evaluation evaluation = Small();
  evaluation.name = "\xff\xfe.csv";
  EXPECT_TRUE(DataOf(ReportHtml(Options(), evaluation))["dataset"].is_string());
}

TEST(Report, LoadsNothing) {
  Evaluation evaluation = Small();
  evaluation.name = "plain";  // so that all that is found is the page's own
  const std::string html = ReportHtml(Options(), evaluation);
  EXPECT_EQ(Count(html, "\\s(src|href|action|poster|srcset)\\s*="), 0u);
  EXPECT_EQ(Count(html, "@import|url\\s*\\("), 0u);
  EXPECT_EQ(Count(html,
                  "fetch\\s*\\(|XMLHttpRequest|WebSocket|sendBeacon|"
                  "importScripts|EventSource"),
            0u);
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  // The one address is in the comment that names uPlot's home.
  EXPECT_EQ(Count(html, "https?://"), 1u);
  EXPECT_EQ(Count(html, "/\\*! https://github.com/leeoniya/uPlot"), 1u);
}

TEST(Report, WarnsInTheHeadOfEveryPage) {
  const std::string html = ReportHtml(Options(), Small());
  // A table's head is repeated where the table goes over pages.
  EXPECT_THAT(html, HasSubstr("<thead><tr><td class=\"warning\"><section "
                              "aria-label=\"Warning\">" +
                              std::string(kEvaluateWarning) + "</section>"));
}

TEST(Report, CarriesTheLicenceOfThePlots) {
  EXPECT_THAT(ReportHtml(Options(), Small()),
              HasSubstr("Copyright (c) 2022 Leon Sorokin"));
}

TEST(Report, PicturesAreBytesFromZeroToTheLargest) {
  const Json data = DataOf(ReportHtml(Options(), Small()));
  ASSERT_EQ(data["pictures"].size(), 1u);
  EXPECT_EQ(data["pictures"][0]["pixels"], "AID/QA==");  // 0, 128, 255, 64
}

TEST(RecordUse, AppendsALineToTheDataDirectoryElseToTheOutput) {
  const Scratch data, output;
  EvaluateOptions options = Options();
  options.output = output.path();
  ASSERT_TRUE(RecordUse(options, "2026-01-02T03:04:05Z").ok());
  ASSERT_TRUE(RecordUse(options, "2026-01-02T03:04:06Z").ok());
  const auto lines = LinesOf(ReadAll(output.path() + "/evaluations.log"));
  ASSERT_EQ(lines.size(), 2u);
  const Json second = Json::parse(lines[1]);
  EXPECT_EQ(second["time"], "2026-01-02T03:04:06Z");
  EXPECT_THAT(std::string(second["input"]), HasSubstr("/unused"));
  EXPECT_EQ(second["options"]["public"], false);
  EXPECT_EQ(second["options"]["epsilon"], Json({2, 20}));
  options.data_dir = data.path();
  ASSERT_TRUE(RecordUse(options, "2026-01-02T03:04:07Z").ok());
  EXPECT_EQ(LinesOf(ReadAll(data.path() + "/evaluations.log")).size(), 1u);
  EXPECT_EQ(LinesOf(ReadAll(output.path() + "/evaluations.log")).size(), 2u);
}

}  // namespace
}  // namespace dpnmf::curator::lab
