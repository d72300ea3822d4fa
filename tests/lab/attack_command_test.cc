// `dpnmf-lab attack` as an operator types it.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// 60 people of three numbers, with an id and a class; rows of `published` are
// in another order, and half a unit is added to each number.
class AttackCommandTest : public Terminal {
 protected:
  AttackCommandTest() {
    std::string original = "id,a,b,c,class\n", published = original;
    for (int i = 0; i < 60; ++i)
      absl::StrAppend(&original, "p", i, ",", i, ",", i * i % 61, ",", i % 7,
                      ",", i % 2, "\n");
    for (int i = 59; i >= 0; --i)
      absl::StrAppend(&published, "p", i, ",", i, ".25,", i * i % 61, ".25,",
                      i % 7, ".25,", i % 2, "\n");
    scratch_.Write("original.csv", original);
    scratch_.Write("published.csv", published);
    std::string ratings, items;
    for (int item = 0; item < 12; ++item)
      absl::StrAppend(&items, "i", item, "\n");
    for (int person = 0; person < 20; ++person)
      for (int item = 0; item < 12; ++item)
        if ((person * 7 + item * 5) % 3 != 0)
          absl::StrAppend(&ratings, "u", person, ",i", item, ",",
                          1 + (person * item + person) % 5, "\n");
    scratch_.Write("ratings.csv", ratings);
    scratch_.Write("items.txt", items);
  }

  static constexpr const char* kTables =
      "attack --original original.csv --published published.csv --id-column 1 "
      "--class-column 5 --output judged ";
};

TEST_F(AttackCommandTest, FindsEverybodyBehindAnOffset) {
  ASSERT_EQ(Run(std::string(kTables) + "--public --seed 1"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("Not private"));
  EXPECT_THAT(out_, HasSubstr("attacked 60 of 60 people"));
  const Json json =
      Json::parse(ReadAll(scratch_.path() + "/judged/results.json"));
  const Json& attacks = json["tables"][0]["attacks"];
  EXPECT_EQ(attacks["linked_all_known"]["value"], 1.0);
  EXPECT_EQ(attacks["reconstruction"]["floor"]["cells"], 1.0);
  EXPECT_EQ(json["columns"], 3);
  EXPECT_THAT(ReadAll(scratch_.path() + "/judged/attack.csv"),
              HasSubstr("linkage: 3 values,3,0,1,"));
  EXPECT_THAT(ReadAll(scratch_.path() + "/judged/report.html"),
              HasSubstr("Not private"));
  for (const char* name : {"attack.csv", "results.json", "report.html"}) {
    struct stat facts = {};
    ASSERT_EQ(stat((scratch_.path() + "/judged/" + name).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(AttackCommandTest, IsTheSameForASeed) {
  const auto json = [&] {
    return ReadAll(scratch_.path() + "/judged/results.json");
  };
  ASSERT_EQ(Run(std::string(kTables) + "--public --seed 1"), kExitOk) << err_;
  const std::string first = json();
  ASSERT_EQ(Run(std::string(kTables) + "--public --seed 1"), kExitOk) << err_;
  EXPECT_EQ(json(), first);
}

TEST_F(AttackCommandTest, TablesOfOtherReportsStandBeside) {
  ASSERT_EQ(Run(std::string(kTables) + "--public --seed 1"), kExitOk) << err_;
  const std::string again =
      "attack --original original.csv --published original.csv --id-column 1 "
      "--class-column 5 --output both --beside ";
  ASSERT_EQ(Run(again + "judged"), kExitOk) << err_;
  const Json json =
      Json::parse(ReadAll(scratch_.path() + "/both/results.json"));
  ASSERT_EQ(json["tables"].size(), 2u);
  EXPECT_EQ(json["tables"][0]["method"], "original.csv");
  EXPECT_EQ(json["tables"][1]["method"], "published.csv");
  EXPECT_EQ(json["findings"].size(), 2u);
  EXPECT_EQ(Run(again + "nowhere"), kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("[report-missing]"));
  std::filesystem::create_directory(scratch_.path() + "/other");
  scratch_.Write("other/results.json", "{\"tables\": [{}]}");
  EXPECT_EQ(Run(again + "other"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[report-malformed]"));
  // A report whose linkage has no figures.
  Json broken = json;
  broken["tables"][0]["attacks"]["linkage"][0].erase("linked");
  scratch_.Write("other/results.json", broken.dump());
  EXPECT_EQ(Run(again + "other"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[report-malformed]"));
}

TEST_F(AttackCommandTest, FieldsMayBeNamed) {
  const std::string numbers = std::string(kTables) + "--public --seed 1";
  ASSERT_EQ(Run(numbers), kExitOk) << err_;
  const std::string csv = ReadAll(scratch_.path() + "/judged/attack.csv");
  ASSERT_EQ(Run("attack --original original.csv --published published.csv "
                "--id-column id --class-column class --output named --public "
                "--seed 1"),
            kExitOk)
      << err_;
  EXPECT_EQ(ReadAll(scratch_.path() + "/named/attack.csv"), csv);
  EXPECT_EQ(Run("attack --original original.csv --published published.csv "
                "--class-column kind --output none"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[class-column-out-of-range]"));
  EXPECT_FALSE(Exists("none"));
}

TEST_F(AttackCommandTest, ThePublishedTableMayHaveNeitherIdsNorClasses) {
  std::string numbers;
  for (int i = 0; i < 60; ++i)
    absl::StrAppend(&numbers, i, ",", i * i % 17, ",", i * 7 % 60, "\n");
  scratch_.Write("bare.csv", numbers);
  const std::string bare =
      "attack --original original.csv --published bare.csv --id-column 1 "
      "--class-column 5 --output judged ";
  EXPECT_EQ(Run(bare), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[class-column-out-of-range]"));
  EXPECT_THAT(err_, HasSubstr("--published-class-column"));
  ASSERT_EQ(Run(bare + "--published-class-column 0 --published-id-column 0"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("attacked 60 of 60 people"));
}

TEST_F(AttackCommandTest, PeopleOfOneClassAreAttacked) {
  scratch_.Write("one.csv", "1,2,a\n4,5,a\n6,1,a\n");
  ASSERT_EQ(Run("attack --original one.csv --published one.csv --class-column "
                "3 --output judged"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("attacked 3 of 3 people"));
}

TEST_F(AttackCommandTest, ASeedNeedsPublicTables) {
  EXPECT_EQ(Run(std::string(kTables) + "--seed 1"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[seed-needs-public]"));
  EXPECT_FALSE(Exists("judged"));
}

TEST_F(AttackCommandTest, OtherPeopleAreRefusedAndNothingIsWritten) {
  scratch_.Write("published.csv", "id,a,b,c,class\nx1,1,2,3,0\nx2,1,2,4,1\n");
  EXPECT_EQ(Run(kTables), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[attack-mismatch]"));
  EXPECT_FALSE(Exists("judged"));
}

TEST_F(AttackCommandTest, RatingsThatArePublishedAsTheyAreLinkEverybody) {
  ASSERT_EQ(Run("attack --original ratings.csv --published ratings.csv --items "
                "items.txt --rating-range 1,5 --output judged --public --seed "
                "1"),
            kExitOk)
      << err_;
  const Json json =
      Json::parse(ReadAll(scratch_.path() + "/judged/results.json"));
  EXPECT_EQ(json["tables"][0]["attacks"]["people"]["attacked"], 20);
  EXPECT_GT(json["tables"][0]["attacks"]["linked_all_known"]["value"], 0.5);
  const std::string ratings =
      "attack --original ratings.csv --published ratings.csv --items items.txt "
      "--output judged ";
  EXPECT_EQ(Run(ratings + "--rating-range 1,5 --known-days 3"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[attack-mismatch]"));
  EXPECT_EQ(Run(ratings + "--rating-range 1,5 --known-days -1"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[attack-option-out-of-range]"));
  EXPECT_EQ(Run(ratings), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[attack-option-out-of-range]"));
}

TEST_F(AttackCommandTest, ADoubtfulFirstLineIsToldByHeader) {
  scratch_.Write("named.csv", "1999,2000,spring\n1,2,3\n4,5,7\n6,1,2\n");
  const std::string named =
      "attack --original named.csv --published named.csv --output judged";
  EXPECT_EQ(Run(named), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[input-ambiguous]"));
  EXPECT_THAT(err_, HasSubstr("--class-column"));
  ASSERT_EQ(Run(named + " --header yes"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("attacked 3 of 3 people"));
}

TEST_F(AttackCommandTest, APartOfManyPeopleIsSaidToBeDrawn) {
  ASSERT_EQ(Run(std::string(kTables) + "--people 10"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("attacked 10 of 60 people"));
  EXPECT_THAT(out_, HasSubstr("drawn at random from 60"));
}

TEST_F(AttackCommandTest, RatingsWithTimesAndOutsidersAreAttackedByBoth) {
  std::string members, others;
  for (int person = 0; person < 30; ++person)
    for (int item = 0; item < 12; ++item)
      if ((person * 7 + item * 5) % 3 != 0)
        absl::StrAppend(person < 15 ? &members : &others, "u", person, "\ti",
                        item, "\t", 1 + (person * item + person) % 5, "\t",
                        880000000 + person * 5000000 + item, "\n");
  scratch_.Write("members.tsv", members);
  scratch_.Write("others.tsv", others);
  ASSERT_EQ(Run("attack --original members.tsv --published members.tsv "
                "--outsiders others.tsv --items items.txt --rating-range 1,5 "
                "--known-days 3 --output judged --public --seed 1"),
            kExitOk)
      << err_;
  const Json json =
      Json::parse(ReadAll(scratch_.path() + "/judged/results.json"));
  const Json& attacks = json["tables"][0]["attacks"];
  EXPECT_EQ(json["options"]["known_days"], 3);
  EXPECT_TRUE(attacks["membership"]["auc"]["value"].is_number());
  EXPECT_THAT(ReadAll(scratch_.path() + "/judged/attack.csv"),
              HasSubstr("\"linkage: 1 rating, dated up to 3 days\",1,0,1,"));
}

}  // namespace
}  // namespace dpnmf::curator::lab
