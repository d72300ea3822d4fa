#include "curator/maintenance/status.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "curator/session/catalog.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/curator/serve/curator_fixture.h"

namespace dpnmf::curator {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kTime = 1'790'000'000;

// Two curators may differ in their data and in nothing else.
class StatusTest : public ::testing::Test {
 protected:
  struct Curator {
    std::string directory;
    Catalog catalog;
    std::unique_ptr<Ledger> ledger;
    std::unique_ptr<CuratorStatus> status;
    ~Curator() { std::filesystem::remove_all(directory); }
  };

  // `other`: the data are those of other people, of another number where N is
  // private.
  static std::unique_ptr<Curator> Make(bool other = false) {
    auto made = std::make_unique<Curator>();
    std::string pattern = ::testing::TempDir() + "statusXXXXXX";
    made->directory = mkdtemp(pattern.data());
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(Columns("public-n", "people", Adjacency::kReplaceOne,
                               kUsers, other ? 0.3f : 0.1f));
    datasets.push_back(Columns("private-n", "others", Adjacency::kAddRemoveOne,
                               other ? 150 : 180, other ? 0.2f : 0.1f));
    made->catalog = Catalog::FromDatasets(std::move(datasets));
    made->ledger = Ledger::Open({.directory = made->directory + "/ledger",
                                 .anchor_directory = "",
                                 .unix_seconds = [] { return kTime; }})
                       .value();
    EXPECT_TRUE(made->ledger->DeclarePopulation(PolicyOf("people")).ok());
    PopulationPolicy policy = PolicyOf("others");
    policy.adjacency = Adjacency::kAddRemoveOne;
    EXPECT_TRUE(made->ledger->DeclarePopulation(policy).ok());
    Write(made->directory + "/allow.json",
          R"({"peers": [{"identity": "dns:a", "roles": ["analyst"],
               "datasets": ["public-n"],
               "budgets": [{"population": "people", "epsilon": 2}]},
              {"identity": "dns:b", "roles": ["auditor", "operator"],
               "datasets": ["*"]}]})");
    Write(made->directory + "/audit.jsonl",
          "half an entry\n{\"time\":\"t\",\"event\":\"first\"}\n"
          "{\"time\":\"t\",\"event\":\"second\",\"round\":3}\n");
    made->status = std::make_unique<CuratorStatus>(
        StatusSources{.ledger = made->ledger.get(),
                      .catalog = &made->catalog,
                      .allow_list = made->directory + "/allow.json",
                      .audit_log = made->directory + "/audit.jsonl",
                      .version = "1.2.3",
                      .unix_seconds = [] { return kTime; }});
    return made;
  }

  // N people are stored; under add_remove_one the description has N0 = kUsers.
  static std::unique_ptr<Dataset> Columns(const std::string& name,
                                          const std::string& population,
                                          Adjacency adjacency, std::uint64_t n,
                                          float entry) {
    DatasetDescription description;
    description.name = name;
    description.population = population;
    description.features = kFeatures;
    description.users = kUsers;
    description.adjacency = adjacency;
    description.epsilon = 4;
    description.delta = 1e-5;
    return Dataset::FromDense(description,
                              std::vector<float>(kFeatures * n, entry))
        .value();
  }

  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  static void Open(Curator* curator, const std::string& identity,
                   const std::string& run, double cost = 0.01) {
    RunOpening opening;
    opening.identity = identity;
    opening.run_id = run;
    opening.population = "people";
    opening.dataset = "public-n";
    opening.mechanism = "statistics";
    opening.rounds = 4;
    opening.cost = *MuSquared::Multiply(*MuSquared::RoundUp(cost), 4);
    ASSERT_TRUE(curator->ledger->OpenRun(opening).ok());
  }
  static void Charge(Curator* curator, const std::string& identity,
                     const std::string& run, std::uint32_t round) {
    dpnmf::curator::Charge charge;
    charge.identity = identity;
    charge.run_id = run;
    charge.round = round;
    charge.cost = *MuSquared::RoundUp(0.01);
    ASSERT_TRUE(curator->ledger->ChargeRound(charge).ok());
  }
  static void Live(Curator* curator) {
    Open(curator, "dns:a", "first");
    Charge(curator, "dns:a", "first", 1);
    Charge(curator, "dns:a", "first", 2);
    Open(curator, "dns:gone", "second");
    Charge(curator, "dns:gone", "second", 1);
    ASSERT_TRUE(curator->ledger->CloseRun("dns:gone", "second").ok());
  }
};

TEST_F(StatusTest, TellsWhatLedgerListAndLogTell) {
  const auto curator = Make();
  Live(curator.get());
  const json report = curator->status->Report().value();
  EXPECT_EQ(report["version"], "1.2.3");
  EXPECT_EQ(report["now"], kTime);

  const json& people = report["populations"][0];
  EXPECT_EQ(people["name"], "people");
  EXPECT_EQ(people["epsilon"], 4);
  EXPECT_EQ(people["conversion"], "rdp");
  EXPECT_EQ(people["reading"]["guarantee"],
            "epsilon 4 at delta 1e-05 (rdp, replace_one)");
  EXPECT_NEAR(people["charged"]["value"], 0.03, 1e-12);
  EXPECT_NEAR(people["reserved"]["value"], 0.02, 1e-12);
  EXPECT_FALSE(people.contains("void_since"));
  EXPECT_GT(people["reading"]["spent_and_reserved"].get<std::string>(),
            people["reading"]["spent"].get<std::string>());

  EXPECT_EQ(report["datasets"].size(), 2u);
  EXPECT_EQ(report["runs"]["open"].size(), 1u);
  EXPECT_EQ(report["runs"]["open"][0]["run_id"], "first");
  EXPECT_EQ(report["runs"]["open"][0]["charged_rounds"], 2);
  EXPECT_NEAR(report["runs"]["open"][0]["reserved"]["value"], 0.02, 1e-12);
  EXPECT_EQ(report["runs"]["closed"], 1);

  const json& list = report["identities"]["list"];
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["identity"], "dns:a");
  EXPECT_EQ(list[0]["budgets"][0]["epsilon"], 2);
  EXPECT_EQ(list[0]["budgets"][0]["charges"], 2);
  EXPECT_TRUE(list[1]["all_datasets"]);
  EXPECT_EQ(list[1]["roles"], json({"auditor", "operator"}));
  EXPECT_EQ(list[2]["identity"], "dns:gone");
  EXPECT_FALSE(list[2]["on_list"]);
  EXPECT_EQ(list[2]["budgets"][0]["charges"], 1);

  // genesis, 2 populations, 2 openings, 3 charges, 1 closing
  EXPECT_EQ(report["ledger"]["row_count"], 9);
  EXPECT_EQ(report["ledger"]["rows"].size(), 9u);
  EXPECT_EQ(report["ledger"]["rows"][0]["kind"], "close");
  EXPECT_EQ(report["audit"].size(), 2u);
  EXPECT_EQ(report["audit"][0]["event"], "second");
}

TEST_F(StatusTest, ALaterReportHasWhatCameSince) {
  const auto curator = Make();
  const json before = curator->status->Report().value();
  EXPECT_EQ(before["runs"]["open"].size(), 0u);
  Live(curator.get());
  const json later = curator->status->Report().value();
  const auto fresh = std::make_unique<CuratorStatus>(
      StatusSources{.ledger = curator->ledger.get(),
                    .catalog = &curator->catalog,
                    .allow_list = curator->directory + "/allow.json",
                    .audit_log = curator->directory + "/audit.jsonl",
                    .version = "1.2.3",
                    .unix_seconds = [] { return kTime; }});
  EXPECT_EQ(later, fresh->Report().value());
  EXPECT_NE(later, before);
}

TEST_F(StatusTest, DoesNotDependOnTheData) {
  const auto one = Make(), other = Make(/*other=*/true);
  Live(one.get());
  Live(other.get());
  EXPECT_EQ(one->status->Report().value().dump(),
            other->status->Report().value().dump());
}

TEST_F(StatusTest, AVoidGuaranteeIsTold) {
  const auto curator = Make();
  ASSERT_TRUE(curator->ledger
                  ->VoidGuarantee({.population = "people",
                                   .label_hash = {1},
                                   .approver = "Ann Operator"})
                  .ok());
  const json report = curator->status->Report().value();
  EXPECT_EQ(report["populations"][0]["void_since"], kTime);
  EXPECT_FALSE(report["populations"][1].contains("void_since"));
  EXPECT_EQ(report["ledger"]["rows"][0]["kind"], "void");
  EXPECT_EQ(report["ledger"]["rows"][0]["identity"], "Ann Operator");
}

TEST_F(StatusTest, AListThatCannotBeReadIsTold) {
  const auto curator = Make();
  Live(curator.get());
  Write(curator->directory + "/allow.json", "{");
  const json report = curator->status->Report().value();
  EXPECT_EQ(report["identities"]["problem"]["code"], "allow-list-malformed");
  // Those who spent are told all the same.
  EXPECT_EQ(report["identities"]["list"].size(), 2u);
}

TEST_F(StatusTest, ShowsTheLastRowsAndEntriesOfMany) {
  const auto curator = Make();
  Open(curator.get(), "dns:a", "r");
  for (int i = 0; i < 410; ++i)
    Open(curator.get(), "dns:a", std::to_string(i), 1e-6);
  std::ofstream log(curator->directory + "/audit.jsonl");
  for (int i = 0; i < 20'000; ++i)
    log << "{\"time\":\"t\",\"event\":\"e" << i << "\"}\n";
  log.close();
  const json report = curator->status->Report().value();
  ASSERT_EQ(report["ledger"]["rows"].size(), 200u);
  EXPECT_EQ(report["ledger"]["rows"][0]["run_id"], "409");
  EXPECT_EQ(report["ledger"]["rows"][199]["run_id"], "210");
  EXPECT_EQ(report["ledger"]["row_count"], 414);
  ASSERT_EQ(report["audit"].size(), 200u);
  EXPECT_EQ(report["audit"][0]["event"], "e19999");
  EXPECT_EQ(report["audit"][199]["event"], "e19800");
}

TEST_F(StatusTest, CallsDoNotHideOtherEntries) {
  const auto curator = Make();
  std::ofstream log(curator->directory + "/audit.jsonl");
  log << "{\"time\":\"t\",\"event\":\"round-released\"}\n";
  for (int i = 0; i < 500; ++i)  // 2 MiB
    log << "{\"time\":\"t\",\"event\":\"call\",\"n\":" << i << ",\"method\":\""
        << std::string(4096, 'm') << "\"}\n";
  log.close();
  const json audit = curator->status->Report().value()["audit"];
  ASSERT_EQ(audit.size(), 201u);
  EXPECT_EQ(audit[0]["n"], 499);
  EXPECT_EQ(audit[199]["n"], 300);
  EXPECT_EQ(audit[200]["event"], "round-released");
}

TEST_F(StatusTest, HoldsNoHash) {
  const auto curator = Make();
  Live(curator.get());
  EXPECT_THAT(curator->status->Report().value().dump(),
              Not(HasSubstr(curator->ledger->id())));
  EXPECT_THAT(curator->status->Report().value().dump(), Not(HasSubstr("hash")));
}

}  // namespace
}  // namespace dpnmf::curator
