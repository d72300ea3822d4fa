// What an import says besides that it is done.
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
  // What is declared counts where the number of people is private.
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

TEST_F(ImportCommand, AColumnOfNamesIsNotReadAsDataOnAGuess) {
  scratch_.Write("v.csv", "person,code0\n1000,1\n1001,1\n1002,0\n1003,0\n");
  EXPECT_EQ(Import("--delta 1e-6"), kExitUsage);
  EXPECT_THAT(err_, AllOf(HasSubstr("--label-columns 1"),
                          HasSubstr("[input-ambiguous]")));
  ASSERT_EQ(Import("--delta 1e-6 --label-columns 1 --format json"), kExitOk);
  EXPECT_THAT(Notes(), ::testing::ElementsAre(HasSubstr("entries are all 0")));
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
  // A ledger of an earlier version may have one, which stays in use.
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
