// `dpnmf-curator import --online`: what the server refuses is not published.
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "curator/control/online_import.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ledger/data_paths.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A server of the data set v, without the network; of "hospitals" too, which is
// the name of a federation.
class OnlineImportCommand : public Terminal {
 protected:
  OnlineImportCommand() {
    EXPECT_EQ(Import("--delta 1e-6 --no-anchor"), 0) << err_;
    ledger_ = Ledger::Open(LedgerPaths(data_dir(), "", true).value()).value();
    catalog_ = Catalog::Open(data_dir()).value();
    EXPECT_TRUE(catalog_.AddAlias("hospitals", "v"));
    handlers_ = OnlineImportHandlers(
        {data_dir(),
         ledger_.get(),
         &catalog_,
         nullptr,
         nullptr,
         [this](const Dataset&) { return check_; },
         KeyOfFiles(LoadOrCreateFingerprintKey(data_dir()).value()),
         {}});
    handlers_["status"] = [](const json&) -> absl::StatusOr<json> {
      return json::object();
    };
  }

  void Start() {
    control_ = ControlServer::Start(data_dir(), handlers_).value();
  }
  std::string data_dir() const { return scratch_.path() + "/z"; }
  int Online(const std::string& name, const std::string& input = "w.csv") {
    scratch_.Write("w.csv", "1,2\n3,5\n2,2\n");
    return Run("import --name " + name +
               " --population others --users rows --epsilon 1 "
               "--label-columns 0 --delta 1e-6 --data-dir z --online --input " +
               input);
  }

  absl::Status check_;
  std::unique_ptr<Ledger> ledger_;
  Catalog catalog_;
  ControlHandlers handlers_;
  std::unique_ptr<ControlServer> control_;
};

TEST_F(OnlineImportCommand, WhatTheServerDoesNotTakeIsNotPublished) {
  check_ = Refusal(absl::StatusCode::kFailedPrecondition,
                   "pace-nonzeros-exceeded", "Too many.");
  Start();
  EXPECT_EQ(Online("w"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[pace-nonzeros-exceeded]"));
  EXPECT_THAT(DatasetNames(data_dir()).value(), ElementsAre("v"));
  EXPECT_FALSE(ledger_->Policy("others").ok()) << "nothing is declared";
  control_.reset();
  check_ = absl::OkStatus();
  Start();
  EXPECT_EQ(Online("w"), 0) << err_;
  EXPECT_NE(catalog_.Find("w"), nullptr);
}

TEST_F(OnlineImportCommand, RowsComeThroughStandardInput) {
  Start();
  EXPECT_EQ(Online("w", "- --format-in csv --expect-rows 4 <w.csv"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[rows-mismatch]"));
  EXPECT_THAT(DatasetNames(data_dir()).value(), ElementsAre("v"));
  EXPECT_FALSE(ledger_->Policy("others").ok()) << "nothing is declared";
  EXPECT_EQ(Online("w", "- --format-in csv --expect-rows 3 <w.csv"), 0) << err_;
  EXPECT_NE(catalog_.Find("w"), nullptr);
}

TEST_F(OnlineImportCommand, TheNameOfTheFederationIsNotPublished) {
  Start();
  EXPECT_EQ(Online("hospitals"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[federation-name-taken]"));
  EXPECT_THAT(err_, HasSubstr("give the data set another name"));
  EXPECT_THAT(DatasetNames(data_dir()).value(), ElementsAre("v"));
  EXPECT_EQ(Online("w"), 0) << err_;
}

// A server that says nothing of the data set.
TEST_F(OnlineImportCommand, SuccessIsThatTheServerServesTheDataSet) {
  handlers_["reload"] = [](const json&) -> absl::StatusOr<json> {
    return json{{"added", json::array()}, {"served", {"v"}}};
  };
  Start();
  EXPECT_EQ(Online("w"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[dataset-not-served]"));
}

}  // namespace
}  // namespace dpnmf::curator
