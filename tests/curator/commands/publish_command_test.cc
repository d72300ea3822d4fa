// `dpnmf-curator publish`, `people` and what follows from them.
#include "common/base/exit_code.h"
#include "curator/draft/draft.h"
#include "curator/ledger/ledger.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class PublishCommand : public Terminal {
 protected:
  // Makes a draft of one person of v.csv and of a row that nobody has.
  void MakeDraft() {
    ASSERT_EQ(Import("--delta 1e-6"), kExitOk) << err_;
    PeopleCollector people(
        LoadOrCreateFingerprintKey(scratch_.path() + "/z").value());
    people.AddRow(std::vector<float>{3, 4});
    people.AddRow(std::vector<float>{9, 9});
    Draft draft;
    draft.method = "nmf";
    draft.attacks = {{"linked", 0.01}};
    draft.largest_linkage = 0.04;
    draft.people = people.Finish();
    ASSERT_TRUE(
        WriteDraft(scratch_.path() + "/nmf", draft, "a,b\n3,4\n9,9\n").ok());
  }
  int Publish(const std::string& more) {
    return Run("publish --data-dir z --draft nmf --output table " + more);
  }
};

TEST_F(PublishCommand, GivesAGuaranteeUpAndEverythingSaysSo) {
  MakeDraft();
  EXPECT_EQ(Publish("--accept-linkage 0.05"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[approval-missing]"));
  EXPECT_EQ(Publish("--approve Ann --accept-linkage 0.03"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[linkage-too-high]"));
  EXPECT_EQ(Publish("--approve Ann --accept-linkage 0.05"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[population-capped]"));
  EXPECT_FALSE(Exists("table"));
  ASSERT_EQ(Run("ledger show --data-dir z"), kExitOk);
  EXPECT_THAT(out_, Not(HasSubstr("VOID")));
  ASSERT_EQ(Publish("--approve Ann --accept-linkage 0.05 --void-guarantee "
                    "people"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("NOT PRIVATE"));
  EXPECT_TRUE(Exists("table/nmf.not-dp.csv"));
  EXPECT_TRUE(Exists("table/LABEL.json"));
  ASSERT_EQ(Run("ledger show --data-dir z"), kExitOk);
  EXPECT_THAT(out_, HasSubstr("VOID "));
  ASSERT_EQ(Run("ledger show --data-dir z --format json"), kExitOk);
  const Json shown = Json::parse(out_);
  EXPECT_EQ(shown["rows"].back()["kind"], "void");
  EXPECT_EQ(shown["rows"].back()["approved_by"], "Ann");
  EXPECT_TRUE(shown["populations"][0]["guarantee"].contains("void_since"));
  EXPECT_TRUE(shown["populations"][0]["position"].contains("void_since"));
  ASSERT_EQ(Run("ledger verify --data-dir z --format json"), kExitOk);
  EXPECT_EQ(Json::parse(out_)["void_populations"], Json::array({"people"}));
  EXPECT_EQ(Json::parse(out_)["void_since"].size(), 1u);
  ASSERT_EQ(Run("ledger verify --data-dir z"), kExitOk);
  EXPECT_THAT(out_, HasSubstr("population people is VOID since 20"));
  EXPECT_THAT(ReadAll(scratch_.path() + "/z/audit.jsonl"),
              HasSubstr("\"event\":\"table-published\""));
}

TEST_F(PublishCommand, WhoWasPublishedIsImportedUnderAVoidGuaranteeAlone) {
  MakeDraft();
  ASSERT_EQ(Publish("--approve Ann --accept-linkage 0.05 --void-guarantee "
                    "people"),
            kExitOk)
      << err_;
  scratch_.Write("late.csv", "9,9\n7,7\n");
  const std::string late =
      "import --name late --population late --input late.csv --users rows "
      "--epsilon 1 --delta 1e-6 --data-dir z";
  EXPECT_EQ(Run(late), kExitState);
  EXPECT_THAT(err_, HasSubstr("[people-published]"));
  EXPECT_FALSE(Exists("z/datasets/late"));
  ASSERT_EQ(Run(late + " --dry-run"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("Not checked: "));
  std::filesystem::rename(scratch_.path() + "/z/publications",
                          scratch_.path() + "/lost");
  EXPECT_NE(Run(late), kExitOk);
  EXPECT_THAT(err_, HasSubstr("[publications-missing]"));
  std::filesystem::rename(scratch_.path() + "/lost",
                          scratch_.path() + "/z/publications");
  {  // A federation's account of the same people is void with theirs.
    Ledger::Options places;
    places.directory = scratch_.path() + "/z/ledger";
    ASSERT_TRUE(Ledger::Open(places)
                    .value()
                    ->DeclarePopulation({"late.others", Adjacency::kReplaceOne,
                                         Conversion::kGaussian, 5, 1e-6})
                    .ok());
  }
  ASSERT_EQ(Run(late + " --void-guarantee --format json"), kExitOk) << err_;
  EXPECT_TRUE(Json::parse(out_)["dataset"]["guarantee"].contains("void_since"));
  EXPECT_THAT(ReadAll(scratch_.path() + "/z/audit.jsonl"),
              HasSubstr("\"event\":\"published-people-imported\""));
  ASSERT_EQ(Run("ledger verify --data-dir z --format json"), kExitOk);
  EXPECT_EQ(Json::parse(out_)["void_populations"],
            Json::array({"people", "late.others", "late"}));
  scratch_.Write("later.csv", "5,9\n1,7\n");
  ASSERT_EQ(Run("import --name later --population late --input later.csv "
                "--users rows --label-columns 0 --epsilon 1 --delta 1e-6 "
                "--data-dir z"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("VOID        since 20"));
  scratch_.Write("other.csv", "8,1\n7,6\n");
  EXPECT_EQ(Run("import --name other --population other --input other.csv "
                "--users rows --epsilon 1 --delta 1e-6 --data-dir z "
                "--void-guarantee"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[flag-unused]"));
  EXPECT_FALSE(Exists("z/datasets/other"));
}

TEST_F(PublishCommand, PeopleAreReadAgainWithClassesAndColumns) {
  scratch_.Write("c.csv", "71;a;1;2\n72;b;3;4\n73;a;5;7\n");
  const std::string how =
      "--input c.csv --users rows --data-dir z --delimiter semicolon "
      "--header no --columns 3-4 --class-column 2 ";
  ASSERT_EQ(Run("import --name c --population c --epsilon 1 --delta 1e-6 "
                "--classes a,b " +
                how),
            kExitOk)
      << err_;
  EXPECT_EQ(Run("people --name c " + how), kExitOk) << err_;
  EXPECT_EQ(Run("people --name c --classes a,b --id-column 1 " + how), kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("3 ids"));
}

TEST_F(PublishCommand, PeopleThatAreMissingAreRecordedLater) {
  MakeDraft();
  std::filesystem::remove(scratch_.path() + "/z/datasets/v/people.bin");
  EXPECT_EQ(Publish("--approve Ann --accept-linkage 0.05"), kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("dpnmf-curator people --name v"));
  scratch_.Write("w.csv", "1,2\n3,4\n5,1\n3,2\n0,2\n");
  EXPECT_EQ(Run("people --name v --input w.csv --users rows --data-dir z"),
            kExitState);
  EXPECT_THAT(err_, HasSubstr("[people-differ]"));
  ASSERT_EQ(Run("people --name v --input v.csv --users rows --data-dir z"),
            kExitOk)
      << err_;
  EXPECT_EQ(out_,
            "recorded the people of v: 5 different rows, no ids "
            "(--id-column)\n");
  EXPECT_EQ(Publish("--approve Ann --accept-linkage 0.05"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[population-capped]"));
}

}  // namespace
}  // namespace dpnmf::curator
