#include "curator/control/online_import.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "curator/import/import.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ledger/data_paths.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"
#include "tests/curator/serve/fake_pace_clock.h"

namespace dpnmf::curator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A server of one data set "a" of population "people", without the network.
class OnlineImport : public testing::Test {
 protected:
  OnlineImport() {
    ledger_ = Ledger::Open(LedgerPaths(data_dir(), "", true).value()).value();
    EXPECT_TRUE(ledger_->DeclarePopulation(policy_).ok());
    EXPECT_TRUE(ImportNamed("a").ok());
    catalog_ = Catalog::Open(data_dir()).value();
    audit_ = AuditLog::Open(AuditFile(data_dir())).value();
    control_ =
        ControlServer::Start(
            data_dir(),
            OnlineImportHandlers(
                {data_dir(), ledger_.get(), &catalog_, audit_.get(), nullptr,
                 [this](const Dataset&) { return check_; },
                 KeyOfFiles(LoadOrCreateFingerprintKey(data_dir()).value()),
                 &pacer_}))
            .value();
  }

  std::string data_dir() const { return scratch_.path() + "/data"; }
  absl::Status ImportNamed(const std::string& name) {
    ImportOptions options =
        RowsImport(data_dir(),
                   scratch_.Write("v.csv", policy_.population == "people"
                                               ? "1,2\n3,4\n5,7\n"
                                               : "1,2\n3,4\n5,8\n"),
                   name, policy_.population, policy_.epsilon, policy_.delta);
    options.features_file = scratch_.Write("names", "left\nright\n");
    options.label_columns = 0;
    options.adjacency = policy_.adjacency;
    options.conversion = policy_.conversion;
    BetweenSteps between;
    between.before_publish = [this](const DatasetImport& import,
                                    const DatasetDigests& digests) {
      const DatasetDescription& description = import.description();
      if (ask_) {
        const absl::Status draft =
            CheckOnlineDraft(data_dir(), import.draft_directory());
        if (!draft.ok()) return draft;
      }
      // An unknown population: the data set was imported elsewhere.
      if (!ledger_->Policy(description.population).ok())
        return absl::OkStatus();
      return ledger_->BindDataset(description.population, description.name,
                                  digests);
    };
    return Import(options, between).status();
  }
  absl::Status Declare() { return DeclareOnline(data_dir(), policy_, "me"); }

  Scratch scratch_;
  PopulationPolicy policy_{"people", Adjacency::kReplaceOne,
                           Conversion::kGaussian, 0.1, 1e-7};
  absl::Status check_;
  bool ask_ = false;  // the server, of a draft
  std::unique_ptr<Ledger> ledger_;
  Catalog catalog_;
  std::unique_ptr<AuditLog> audit_;
  FakeClock clock_;
  const Pacer pacer_{std::chrono::seconds(1), &clock_};
  std::unique_ptr<ControlServer> control_;
};

TEST_F(OnlineImport, DeclaresAPopulationOnce) {
  policy_.population = "others";
  policy_.epsilon = 0.1 + 0.2;  // every bit arrives
  ASSERT_TRUE(Declare().ok());
  EXPECT_EQ(ledger_->Policy("others").value(), policy_);
  const auto rows = ledger_->PositionOf("others")->row_count;
  EXPECT_TRUE(Declare().ok()) << "the same again";
  EXPECT_EQ(ledger_->PositionOf("others")->row_count, rows);
  EXPECT_THAT(ReadAll(AuditFile(data_dir())), HasSubstr("population-declared"));
}

TEST_F(OnlineImport, ThePolicyOfAPopulationDoesNotChange) {
  policy_.epsilon = 8;
  EXPECT_EQ(ReasonCode(Declare()), "population-differs");
  policy_.epsilon = 0.1;
  policy_.adjacency = Adjacency::kAddRemoveOne;
  EXPECT_EQ(ReasonCode(Declare()), "population-differs");
  policy_.population = "../people";
  EXPECT_EQ(ReasonCode(Declare()), "control-request-malformed");
}

TEST_F(OnlineImport, TheNameOfASecondAccountIsNotDeclared) {
  policy_.population = "people.others";
  EXPECT_EQ(ReasonCode(Declare()), "population-reserved");
  EXPECT_FALSE(ledger_->Policy("people.others").ok());
  EXPECT_THAT(ReadAll(AuditFile(data_dir())),
              testing::Not(HasSubstr("population-declared")));
  // One that is there stays in use.
  ASSERT_TRUE(ledger_->DeclarePopulation(policy_).ok());
  EXPECT_TRUE(Declare().ok());
}

TEST_F(OnlineImport, OfNewDataSetsNoneIsServedIfTheNamesOfOneAreDamaged) {
  ASSERT_TRUE(ImportNamed("b").ok());
  ASSERT_TRUE(ImportNamed("c").ok());
  std::ofstream(DatasetDirectory(data_dir(), "c") + "/features.txt") << "left";
  const absl::Status refused = ReloadOnline(data_dir(), "me").status();
  EXPECT_EQ(ReasonCode(refused), "dataset-damaged") << refused;
  EXPECT_EQ(catalog_.Find("b"), nullptr);
  EXPECT_THAT(ReadAll(AuditFile(data_dir())),
              testing::Not(HasSubstr("dataset-added")));
}

TEST_F(OnlineImport, AnImportedDataSetIsServedAtTheNextReload) {
  const Dataset* const before = catalog_.Find("a");
  ASSERT_TRUE(ImportNamed("b").ok());
  EXPECT_EQ(catalog_.Find("b"), nullptr);
  EXPECT_THAT(ReloadOnline(data_dir(), "me").value().added, ElementsAre("b"));
  ASSERT_NE(catalog_.Find("b"), nullptr);
  EXPECT_EQ(catalog_.ItemsOf("b")->ids.size(), 2u);
  EXPECT_EQ(catalog_.Find("a"), before) << "open runs hold it";
  EXPECT_EQ(catalog_.All().size(), 2u);
  const auto again = ReloadOnline(data_dir(), "me");
  EXPECT_THAT(again.value().added, IsEmpty());
  EXPECT_THAT(again.value().served, ElementsAre("a", "b"));
  EXPECT_THAT(ReadAll(AuditFile(data_dir())), HasSubstr("dataset-added"));
}

// In paced mode the data set waits for a tick.
TEST_F(OnlineImport, OtherFilesThanThoseOfTheImportAreNotServed) {
  ASSERT_TRUE(ImportNamed("b").ok());
  const std::string file = DatasetDirectory(data_dir(), "b") + "/values.npy";
  const std::string right = ReadAll(file);
  std::string wrong = right;
  wrong.back() ^= 1;
  std::ofstream(file, std::ios::binary) << wrong;
  EXPECT_EQ(ReasonCode(ReloadOnline(data_dir(), "me").status()),
            "dataset-damaged");
  EXPECT_EQ(catalog_.Find("b"), nullptr);
  EXPECT_EQ(clock_.sleeps, 0);
  std::ofstream(file, std::ios::binary) << right;
  EXPECT_TRUE(ReloadOnline(data_dir(), "me").ok());
  EXPECT_TRUE(catalog_.Served("b").ok());
  EXPECT_EQ(clock_.sleeps, 1);
}

// The data set is like one that was imported elsewhere and moved here.
TEST_F(OnlineImport, ADataSetOfAnotherPromiseIsNotServed) {
  policy_.epsilon = 8;
  ASSERT_TRUE(ImportNamed("b").ok());
  EXPECT_EQ(ReasonCode(ReloadOnline(data_dir(), "me").status()),
            "population-differs");
  policy_ = {"unknown", Adjacency::kReplaceOne, Conversion::kGaussian, 1, 1e-7};
  std::filesystem::remove_all(DatasetDirectory(data_dir(), "b"));
  ASSERT_TRUE(ImportNamed("c").ok());
  EXPECT_EQ(ReasonCode(ReloadOnline(data_dir(), "me").status()),
            "population-unknown");
  EXPECT_EQ(catalog_.All().size(), 1u);
}

TEST_F(OnlineImport, WhatTheServerCannotPaceIsNotServed) {
  check_ = Refusal(absl::StatusCode::kFailedPrecondition,
                   "pace-nonzeros-exceeded", "Too many.");
  ASSERT_TRUE(ImportNamed("b").ok());
  EXPECT_EQ(ReasonCode(ReloadOnline(data_dir(), "me").status()),
            "pace-nonzeros-exceeded");
  EXPECT_EQ(catalog_.Find("b"), nullptr);
}

// Files of a refused draft must not stop later imports.
TEST_F(OnlineImport, ADraftThatIsRefusedIsNeverPublished) {
  ask_ = true;
  check_ = Refusal(absl::StatusCode::kFailedPrecondition,
                   "pace-nonzeros-exceeded", "Too many.");
  EXPECT_EQ(ReasonCode(ImportNamed("b")), "pace-nonzeros-exceeded");
  EXPECT_FALSE(std::filesystem::exists(DatasetDirectory(data_dir(), "b")));
  EXPECT_THAT(DatasetNames(data_dir()).value(), ElementsAre("a"));
  check_ = absl::OkStatus();
  EXPECT_THAT(ReloadOnline(data_dir(), "me").value().served, ElementsAre("a"));
  ASSERT_TRUE(ImportNamed("c").ok());
  EXPECT_THAT(ReloadOnline(data_dir(), "me").value().added, ElementsAre("c"));
  ASSERT_TRUE(ImportNamed("b").ok()) << "the name is free";
}

TEST_F(OnlineImport, TheNameOfTheFederationIsNotThatOfADataSet) {
  ASSERT_TRUE(catalog_.AddAlias("hospitals", "a"));
  ask_ = true;
  EXPECT_EQ(ReasonCode(ImportNamed("hospitals")), "federation-name-taken");
  EXPECT_THAT(DatasetNames(data_dir()).value(), ElementsAre("a"));
  EXPECT_TRUE(ReloadOnline(data_dir(), "me").ok());
  // The data set is like one that was moved here.
  ask_ = false;
  ASSERT_TRUE(ImportNamed("hospitals").ok());
  EXPECT_EQ(ReasonCode(ReloadOnline(data_dir(), "me").status()),
            "federation-name-taken");
  EXPECT_EQ(catalog_.All().size(), 1u);
}

TEST_F(OnlineImport, ADraftIsADirectoryBesideTheDataSets) {
  EXPECT_EQ(ReasonCode(CheckOnlineDraft(data_dir(), "")),
            "control-request-malformed");
  EXPECT_EQ(ReasonCode(AskControl(data_dir(), {{"request", "check"},
                                               {"draft", "../datasets/a"}})
                           .status()),
            "control-request-malformed");
  EXPECT_EQ(ReasonCode(CheckOnlineDraft(data_dir(), "/elsewhere/b")),
            "dataset-unknown");
  ASSERT_TRUE(ImportNamed("b").ok());
  EXPECT_TRUE(CheckOnlineDraft(data_dir(), "/elsewhere/b").ok());
}

// Else the server would serve the first people under the name of the second.
TEST_F(OnlineImport, ANameThatIsServedIsNotTakenAgain) {
  policy_.population = "months";
  policy_.partitions = {"id", {"jan", "feb"}};
  const AssignedPartition assigned = {"jan", Digest{1}};
  const auto declare = [&](const std::string& name) {
    return ReasonCode(
        DeclareOnline(data_dir(), policy_, "me",
                      DeclaredDataset{name, assigned, {Digest{3}, Digest{4}}}));
  };
  EXPECT_EQ(declare("a"), "dataset-exists");
  EXPECT_EQ(ledger_->PartitionOf("months", "a").value(), AssignedPartition());
  EXPECT_EQ(declare("new"), "");
  EXPECT_EQ(ledger_->PartitionOf("months", "new").value(), assigned);
  EXPECT_EQ(ledger_->FilesOf("months", "new").value(),
            (DatasetDigests{Digest{3}, Digest{4}}));
  EXPECT_EQ(
      ReasonCode(DeclareOnline(
          data_dir(), policy_, "me",
          DeclaredDataset{"new", {"jan", Digest{}}, {Digest{3}, Digest{4}}})),
      "ledger-rule")
      << "nobody";
  // Its directory is moved away.
  policy_ = {"others", Adjacency::kReplaceOne, Conversion::kGaussian, 1, 1e-7};
  std::filesystem::remove_all(DatasetDirectory(data_dir(), "a"));
  ask_ = true;
  EXPECT_EQ(ReasonCode(ImportNamed("a")), "dataset-exists");
  EXPECT_THAT(DatasetNames(data_dir()).value(), IsEmpty());
}

}  // namespace
}  // namespace dpnmf::curator
