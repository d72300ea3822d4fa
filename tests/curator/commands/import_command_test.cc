// Messages of an import besides its success.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "curator/ledger/ledger.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class ImportCommand : public Terminal {
 protected:
  std::vector<std::string> Notes() const {
    return Json::parse(out_).value("notes", std::vector<std::string>());
  }
};

TEST_F(ImportCommand, ADeltaThatIsNotBelowOneInNIsRefusedUnlessMeant) {
  for (const char* delta : {"0.2", "0.9"}) {  // of five people
    EXPECT_EQ(Import(std::string("--delta ") + delta), kExitUsage) << delta;
    EXPECT_THAT(err_, HasSubstr("[delta-weak]")) << delta;
    EXPECT_THAT(err_, HasSubstr("--weak-delta")) << delta;
    EXPECT_FALSE(Exists("z/datasets/v")) << delta;
    EXPECT_FALSE(Exists("z/ledger/ledger.sqlite")) << delta;
  }
  // The declared number counts if the number of people is private.
  EXPECT_EQ(Import("--delta 0.19 --adjacency add_remove_one --users-count 100"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[delta-weak]"));
  ASSERT_EQ(Import("--delta 0.2 --weak-delta --format json"), kExitOk) << err_;
  EXPECT_THAT(err_, HasSubstr("note: The delta 0.2 is not below 1/N"));
  EXPECT_THAT(Notes(), ::testing::ElementsAre(HasSubstr("not below 1/N")));
  // A population that has its delta keeps it.
  EXPECT_EQ(Run("import --name w --population people --input v.csv --users "
                "rows --epsilon 1 --delta 0.2 --data-dir z"),
            kExitOk)
      << err_;
}

TEST_F(ImportCommand, ADeltaBelowOneInNOrOfPublicDataIsTaken) {
  EXPECT_EQ(Import("--delta 0.19"), kExitOk) << err_;
  EXPECT_EQ(err_, "");
  EXPECT_EQ(Run("import --name w --population public --input v.csv --users "
                "rows --epsilon 1 --delta 0.9 --public --data-dir y"),
            kExitOk)
      << err_;
}

TEST_F(ImportCommand, ADryRunOfRatingsShowsWhatIsMissingAsMissing) {
  scratch_.Write("r.csv", "ann,z,0\nbob,y,5\nann,x,3.5\n");
  scratch_.Write("items.txt", "x\ny\nz\n");
  ASSERT_EQ(Run("import --name r --population people --ratings r.csv --items "
                "items.txt --rating-range 0,5 --users-count 3 --epsilon 1 "
                "--delta 1e-6 --data-dir z --dry-run"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("3 items (D) x 3 users, ratings from 0 to 5, 0 "
                              "item features; -: no rating\n"
                              "  person 1: 3.5 - 0 (sum 3.5)\n"
                              "  person 2: - 5 - (sum 5)\n"
                              "  person 3: - - - (sum 0)\n"));
  EXPECT_FALSE(Exists("z"));
}

// Before anything is stored, the operator sees how the file was read.
TEST_F(ImportCommand, ItPrintsWhatItUnderstood) {
  scratch_.Write("v.csv",
                 "# made by hand\nwho;beds;x;days\nkim;1,5;0;2\nlee;0;1;3\n"
                 "max;1;1;1\nsam;2;0;1\n");
  const auto understood =
      AllOf(HasSubstr("3 features (D) x 4 users in the file, dense\n"
                      "  features    beds, x, days\n"
                      "  read as     semicolon between fields, decimal comma, "
                      "header in line 2, comments (#) skipped: 1\n"
                      "  labels      column 1 'who'\n"
                      "  person 1: 1.5 0 2 (sum 3.5)\n"
                      "  person 2: 0 1 3 (sum 4)\n"));
  ASSERT_EQ(Run("import --input v.csv --users rows --dry-run"), kExitOk)
      << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("would import: 3 features"), understood,
                          HasSubstr("Nothing was written.\n")));
  EXPECT_THAT(err_, AllOf(HasSubstr("note: Fields are separated as by "
                                    "--delimiter semicolon."),
                          HasSubstr("note: Commas are read as decimal marks")));
  ASSERT_EQ(Import("--delta 1e-6 --columns beds,days"), kExitOk) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("importing v: 2 features"),
                          HasSubstr("  left out    column 3 'x'\n"),
                          HasSubstr("\nimported v in")));
  ASSERT_EQ(Run("import --name w --population people --input v.csv --users "
                "rows --epsilon 1 --delta 1e-6 --data-dir z --format json"),
            kExitOk)
      << err_;
  EXPECT_EQ(Json::parse(out_)["dataset"]["name"], "w");
}

TEST_F(ImportCommand, SparsePeopleAreShownByTheirEntries) {
  scratch_.Write("t.txt", "kim tea 2\nlee rye 1\nkim rye 4\n");
  scratch_.Write("names.txt", "tea\nsalt\nrye\n");
  ASSERT_EQ(Run("import --input t.txt --format-in triples --features names.txt "
                "--users-count 3 --dry-run"),
            kExitOk)
      << err_;
  EXPECT_THAT(out_, HasSubstr("  features    tea, salt, rye\n"
                              "  person 1: tea:2 rye:4 (sum 6)\n"
                              "  person 2: rye:1 (sum 1)\n"
                              "  person 3:  (sum 0)\n"));
}

TEST_F(ImportCommand, RowsOfAPersonAreRefusedOrAddedUp) {
  scratch_.Write("v.csv", "donor,beds,days\nb,1,2\na,4,5\nb,0.5,18\n");
  EXPECT_EQ(Import("--delta 1e-6"), kExitUsage);
  EXPECT_THAT(err_, AllOf(HasSubstr("--id-column 1 --person-rows sum"),
                          HasSubstr("[input-duplicate]")));
  EXPECT_FALSE(Exists("z/datasets/v"));
  ASSERT_EQ(Import("--delta 1e-6 --id-column 1 --person-rows sum"), kExitOk)
      << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("2 features (D) x 2 users (N)"),
                          HasSubstr("3 rows added up"),
                          HasSubstr("person 1: 1.5 20 (sum 21.5)\n")));
  // The people can be recorded once more, read the same way.
  const std::string people =
      "people --name v --input v.csv --users rows --data-dir z --id-column 1";
  EXPECT_EQ(Run(people + " --person-rows sum"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("2 ids"));
  EXPECT_NE(Run(people), kExitOk);
  // Formats without fields have no ids.
  EXPECT_EQ(Run("import --dry-run --ratings v.csv --items v.csv "
                "--rating-range 1,5 --users-count 9 --person-rows sum"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[ratings-mixed]"));
}

TEST_F(ImportCommand, FewerPeopleThanFeaturesAreNoted) {
  scratch_.Write("v.csv", "1,2,3\n4,5,0\n");
  ASSERT_EQ(Run("import --input v.csv --users rows --dry-run"), kExitOk);
  EXPECT_THAT(err_, HasSubstr("fewer people than features (2 and 3); if it is "
                              "the other way round, give --users columns"));
  ASSERT_EQ(Run("import --input v.csv --users columns --dry-run"), kExitOk);
  EXPECT_THAT(err_, ::testing::Not(HasSubstr("fewer people")));
}

// A dry run needs no promises: they are no part of the file.
TEST_F(ImportCommand, ADryRunNeedsTheFlagsOfTheFileAlone) {
  const std::string dry = "import --dry-run --input v.csv --users rows";
  ASSERT_EQ(Run(dry), kExitOk) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("would import: 2 features (D) x 5 users"),
                          HasSubstr("person 1: 1 2 (sum 3)\n")));
  EXPECT_EQ(err_, "");
  ASSERT_EQ(Run(dry + " --name w"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("would import w: "));
  // Flags that are given are checked.
  const std::pair<const char*, const char*> wrong[] = {
      {" --epsilon 0", "[epsilon-out-of-range]"},
      {" --delta 1", "[delta-out-of-range]"},
      {" --population A", "[population-malformed]"},
      {" --name A", "[name-malformed]"}};
  for (const auto& [flag, code] : wrong) {
    EXPECT_EQ(Run(dry + flag), kExitUsage) << flag;
    EXPECT_THAT(err_, HasSubstr(code)) << flag;
  }
  EXPECT_EQ(Run(dry + " --delta .2"), kExitOk) << err_;
  EXPECT_THAT(err_, HasSubstr("note: The delta 0.2 is not below 1/N"));
  EXPECT_FALSE(Exists("z"));
  ASSERT_EQ(Import("--delta 1e-6"), kExitOk) << err_;
  EXPECT_EQ(Run(dry + " --name v --data-dir z"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[dataset-exists]"));
  EXPECT_EQ(Run(dry + " --data-dir z"), kExitOk) << err_;
}

TEST_F(ImportCommand, AnImportNeedsWhatIsPromised) {
  const std::string flags[] = {" --name w", " --data-dir y",
                               " --population people", " --epsilon 1",
                               " --delta 1e-6"};
  for (const std::string& missing : flags) {
    std::string line = "import --input v.csv --users rows";
    for (const std::string& flag : flags)
      if (flag != missing) line += flag;
    EXPECT_EQ(Run(line), kExitUsage) << missing;
    EXPECT_THAT(err_, HasSubstr(missing.substr(1, missing.rfind(' ') - 1) +
                                " is required, unless with --dry-run; see"));
    EXPECT_FALSE(Exists("y")) << missing;
  }
}

TEST_F(ImportCommand, AColumnOfNamesIsNotReadAsDataOnAGuess) {
  scratch_.Write("v.csv", "person,code0\n1000,1\n1001,1\n1002,0\n1003,0\n");
  EXPECT_EQ(Import("--delta 1e-6"), kExitUsage);
  EXPECT_THAT(err_, AllOf(HasSubstr("--label-columns 1"),
                          HasSubstr("[input-ambiguous]")));
  ASSERT_EQ(Import("--delta 1e-6 --label-columns 1 --format json"), kExitOk);
  EXPECT_THAT(Notes(), ::testing::ElementsAre(HasSubstr("entries are all 0")));
}

// No entry of a person's decides what is asked of the operator.
TEST_F(ImportCommand, EntriesThatLookLikeNamesAreNotedOnTheOperatorsTerminal) {
  scratch_.Write("v.csv", "1000,1\n1013,1\n1002,1\n1003,0\n");
  EXPECT_EQ(Run("import --input v.csv --users rows --dry-run"), kExitOk)
      << err_;
  EXPECT_THAT(err_, HasSubstr("note: Column 1 is read as data"));
  ASSERT_EQ(Import("--delta 1e-6 --format json"), kExitOk) << err_;
  EXPECT_THAT(Notes(),
              ::testing::ElementsAre(HasSubstr("integers, no two alike")));
}

TEST_F(ImportCommand, TheNameOfASecondAccountIsNotDeclared) {
  const std::string flags =
      " --input v.csv --users rows --epsilon 1 --delta 1e-6 --data-dir z";
  EXPECT_EQ(Run("import --name v --population people.others" + flags),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[population-reserved]"));
  EXPECT_FALSE(Exists("z/datasets/v"));
  EXPECT_FALSE(Exists("z/ledger/ledger.sqlite"));
  EXPECT_EQ(Run("import --name v --population others" + flags), kExitOk)
      << err_;
  // In a ledger that has one, it stays in use.
  {
    Ledger::Options places;
    places.directory = scratch_.path() + "/z/ledger";
    ASSERT_TRUE(
        Ledger::Open(places)
            .value()
            ->DeclarePopulation({"people.others", Adjacency::kReplaceOne,
                                 Conversion::kGaussian, 1, 1e-6})
            .ok());
  }
  scratch_.Write("w.csv", "1,2\n3,4\n5,1\n3,2\n0,7\n");
  EXPECT_EQ(Run("import --name w --population people.others --input w.csv "
                "--users rows --epsilon 1 --delta 1e-6 --data-dir z"),
            kExitOk)
      << err_;
}

// The flags of the parts are those of the data set.
TEST_F(ImportCommand, PartsAreJoinedAndServedByRanksAlone) {
  const auto part = [&](const char* range, const char* text,
                        const char* more = "") {
    scratch_.Write("part.csv", text);
    return Run(absl::StrCat(
        "import --name v --population people --input part.csv --users rows "
        "--epsilon 1 --delta 1e-3 --normalise none --column-bound 9 --range "
        "0,9 --data-dir z --shard-of ",
        range, more));
  };
  EXPECT_EQ(part("1-2/3", "1,2\n3,4\n"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[fingerprint-key-missing]"));
  std::filesystem::create_directories(scratch_.path() + "/z");
  scratch_.Write("z/fingerprint.key", std::string(32, 'k'));
  EXPECT_EQ(part("1-2/3", "1,2\n3,4\n", " --online"), kExitUsage);
  EXPECT_EQ(part("1-2/3", "1,2\n3,4\n", " --dry-run"), kExitOk) << err_;
  EXPECT_EQ(part("1-2/3", "1,2\n3,4\n"), kExitOk) << err_;
  EXPECT_EQ(part("3-3/3", "5,6\n"), kExitOk) << err_;
  EXPECT_FALSE(Exists("z/ledger")) << "no part has a budget";
  EXPECT_EQ(Run("join-parts --name v --data-dir z"), kExitOk) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("2 features (D) x 3 users (N)"),
                          HasSubstr("length at most 9"),
                          HasSubstr("entries from 0 to 9"),
                          HasSubstr("epsilon 1 at delta 0.001 (gaussian")));
  EXPECT_TRUE(Exists("z/ledger/ledger.sqlite"));
  scratch_.Write("W.csv", "1\n1\n");
  EXPECT_EQ(Run("transform --name v --data-dir z --model W.csv --output h.csv"),
            kExitState);
  EXPECT_THAT(err_, HasSubstr("[ranks-needed]"));
}

TEST_F(ImportCommand, ThePartsOfItsTimeAddUp) {
  ASSERT_EQ(Import("--delta 1e-6 --format json"), kExitOk) << err_;
  const Json report = Json::parse(out_);
  double sum = 0;
  std::vector<std::string> stages;
  for (const Json& part : report["time"]) {
    sum += part.value("seconds", 0.0);
    stages.push_back(part["stage"]);
  }
  EXPECT_THAT(stages, ::testing::ElementsAre("reading", "checking", "writing",
                                             "ledger", "opening"));
  EXPECT_NEAR(sum, report["seconds"].get<double>(), 1e-9);
  // Writing the ledger and its anchor takes syncs, so never nothing.
  EXPECT_GT(report["time"][3]["seconds"].get<double>(), 0);
}

}  // namespace
}  // namespace dpnmf::curator
