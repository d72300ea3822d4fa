#include "lab/publication_report/report.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/base/scratch_directory.h"

namespace dpnmf::curator::lab {
namespace {

using OrderedJson = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

AttackReport Found(std::int64_t found, double chance) {
  AttackReport report;
  report.linkage.push_back(
      {.knows = "9 values",
       .known = 9,
       .linked = ShareOf(found, 100),
       .chance = {.value = chance, .low = chance, .high = chance, .of = 100}});
  report.linked_all_known = ShareOf(found, 100);
  report.largest_linkage = ShareOf(found, 100).high;
  report.others["people"] = {{"people", 100}};
  return report;
}

PublicationReport Example() {
  PublicationReport report;
  report.command = "distort";
  report.data = "people </script><b>.csv";
  report.people = 100;
  report.columns = 9;
  report.rows.push_back({.method = "dp",
                         .kind = "synthetic",
                         .epsilon = 1,
                         .attacks = Found(1, .01)});
  report.rows.push_back(
      {.method = "svd", .vd = .1222, .attacks = Found(97, .01)});
  report.rows.push_back({.method = "plain", .note = "Not attacked."});
  report.published = PublishedFigures::kWisconsin;
  return report;
}

TEST(PublicationReport, FindingsNameTheTableThatGivesAwayMostFirst) {
  const auto findings = Findings(Example());
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_THAT(findings[0],
              HasSubstr("svd: an attacker who knows 9 values finds 97.0 %"));
  EXPECT_THAT(findings[0], Not(HasSubstr("chance.")));
  EXPECT_THAT(findings[1], HasSubstr("dp, epsilon 1:"));
  EXPECT_THAT(findings[1], HasSubstr("no more than chance."));
}

TEST(PublicationReport, WithoutAttacksSaysSo) {
  PublicationReport report = Example();
  for (PublicationRow& row : report.rows) row.attacks.reset();
  EXPECT_THAT(Findings(report)[0], HasSubstr("No table"));
}

TEST(PublicationReport, JsonHasTheWarningTheTablesAndThePublishedFigures) {
  const OrderedJson json = OrderedJson::parse(ResultsJson(Example()));
  EXPECT_EQ(json["warning"], std::string(kPublicationWarning));
  ASSERT_EQ(json["tables"].size(), 3u);
  EXPECT_EQ(json["tables"][1]["vd"], .1222);
  EXPECT_TRUE(json["tables"][1]["mae"].is_null());
  EXPECT_EQ(json["tables"][1]["attacks"]["linked_all_known"]["value"], .97);
  EXPECT_TRUE(json["tables"][2]["attacks"].is_null());
  EXPECT_EQ(json["tables"][0]["epsilon"], 1.0);
  bool svd = false;
  for (const auto& figure : json["published"])
    if (figure["method"] == "svd") {
      svd = true;
      EXPECT_EQ(figure["rp"], 228.8972);
    }
  EXPECT_TRUE(svd);
  PublicationReport other = Example();
  other.published = PublishedFigures::kNone;
  EXPECT_TRUE(OrderedJson::parse(ResultsJson(other))["published"].empty());
}

TEST(PublicationReport, PublishedFiguresThatAreNotReachedHaveAReason) {
  const auto reasons_of = [](PublishedFigures published) {
    PublicationReport report = Example();
    report.published = published;
    std::map<std::string, std::string> reasons;
    const OrderedJson json = OrderedJson::parse(ResultsJson(report));
    for (const auto& figure : json["published"])
      if (figure["reason"] != "") reasons[figure["method"]] = figure["reason"];
    return reasons;
  };
  const auto distortions = reasons_of(PublishedFigures::kWisconsin);
  ASSERT_EQ(distortions.size(), 4u);
  for (const char* method : {"ssvd", "csvd", "esvd"})
    EXPECT_THAT(distortions.at(method), HasSubstr("transposition error"));
  EXPECT_THAT(distortions.at("enmf"), HasSubstr("garbled"));
  const auto completions = reasons_of(PublishedFigures::kMovieLens100K);
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_THAT(completions.at("aux-nmf"), HasSubstr("third of the five folds"));
}

TEST(PublicationReport, WhatTheCommandAddsStandsInTheJsonAndNotOnThePage) {
  PublicationReport report = Example();
  report.more = {{"data", {{"ratings", "from the command"}}}};
  EXPECT_EQ(OrderedJson::parse(ResultsJson(report))["data"]["ratings"],
            "from the command");
  EXPECT_THAT(ReportHtml(report), Not(HasSubstr("from the command")));
}

TEST(PublicationReport, ThePageHoldsItsDataAsDataAndTheWarning) {
  const std::string page = ReportHtml(Example());
  EXPECT_THAT(page, HasSubstr(std::string(kPublicationWarning)));
  EXPECT_THAT(page, Not(HasSubstr("noise comes from a seed")));
  EXPECT_THAT(page, Not(HasSubstr("people </script>")));
  EXPECT_THAT(page, HasSubstr("people \\u003c/script\\u003e"));
}

TEST(PublicationReport, FilesAreTheOwnersAlone) {
  const ScratchDirectory scratch;
  const std::string& directory = scratch.path();
  ASSERT_TRUE(WriteReport(directory, Example()).ok());
  for (const char* name : {"/results.json", "/report.html"}) {
    struct stat facts = {};
    ASSERT_EQ(stat((directory + name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u) << name;
  }
}

}  // namespace
}  // namespace dpnmf::curator::lab
