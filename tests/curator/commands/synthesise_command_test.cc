// `dpnmf-curator synthesise`: a release that is paid once, whatever happens.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/wire/receipt.h"
#include "curator/draft/class_release.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "nlohmann/json.hpp"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class SynthesiseCommand : public Terminal {
 protected:
  SynthesiseCommand() {
    std::string text;
    for (int n = 0; n < 60; ++n) {
      absl::StrAppend(&text, n % 10 + 1, ",", n % 3 == 0 ? "yes" : "no", ",",
                      n % 7 + 1, "\n");
    }
    scratch_.Write("people.csv", text);
  }

  void ImportPeople(const std::string& more = "") {
    ASSERT_EQ(
        Run("import --name people --population all --input people.csv --users "
            "rows --class-column 2 --classes yes,no --normalise none "
            "--column-bound 15 --range 1,10 --integers --epsilon 4 --delta "
            "1e-5 --data-dir z " +
            more),
        kExitOk)
        << err_;
  }

  int Synthesise(const std::string& output, const std::string& more = "") {
    return Run(
        "synthesise --data-dir z --name people --output " + output +
        (more.find("--epsilon") == std::string::npos ? " --epsilon 1 " : " ") +
        more);
  }

  std::string File(const std::string& name) const {
    return ReadAll(scratch_.path() + "/" + name);
  }

  // Rows of the ledger of that kind.
  std::size_t Rows(RowKind kind) const {
    const std::vector<LedgerRow> rows = Ledger::ReadRows(Places()).value();
    return static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(),
                      [&](const LedgerRow& row) { return row.kind == kind; }));
  }

  LedgerRow RowOf(RowKind kind) const {
    const std::vector<LedgerRow> rows = Ledger::ReadRows(Places()).value();
    for (const LedgerRow& row : rows)
      if (row.kind == kind) return row;
    ADD_FAILURE() << "no such row";
    return {};
  }

  nlohmann::ordered_json ChargeIn(const std::string& name) const {
    return ClassReleaseOfJson(File(name)).value().charge;
  }

  Ledger::Options Places() const {
    return LedgerPaths(scratch_.path() + "/z", "", false).value();
  }
};

TEST_F(SynthesiseCommand, TheReleaseHasTheNamesThatAnalystsSee) {
  scratch_.Write("names", "left\nright\n");
  ImportPeople("--features names");
  ASSERT_EQ(Synthesise("r.json"), kExitOk) << err_;
  EXPECT_EQ(ClassReleaseOfJson(File("r.json"))->features,
            (std::vector<std::string>{"left", "right"}));
}

TEST_F(SynthesiseCommand, WritesAPaidReleaseWithItsCharge) {
  ImportPeople();
  ASSERT_EQ(Synthesise("r.json"), kExitOk) << err_;
  struct stat facts;
  ASSERT_EQ(stat((scratch_.path() + "/r.json").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  const auto release = ClassReleaseOfJson(File("r.json"));
  ASSERT_TRUE(release.ok()) << release.status();
  EXPECT_EQ(release->facts.classes->names,
            (std::vector<std::string>{"yes", "no"}));
  EXPECT_TRUE(release->facts.classes->sizes.empty());
  EXPECT_EQ(release->facts.range,
            (EntryRange{.low = 1, .high = 10, .integers = true}));
  EXPECT_EQ(release->sums.size(), 3u * 6);

  const std::vector<LedgerRow> rows = Ledger::ReadRows(Places()).value();
  const auto charge = std::find_if(
      rows.begin(), rows.end(),
      [](const LedgerRow& row) { return row.kind == RowKind::kCharge; });
  ASSERT_NE(charge, rows.end());
  EXPECT_EQ(charge->identity, "operator");
  EXPECT_EQ(charge->mechanism, "class_moments");
  EXPECT_EQ(release->charge.at("sequence"), charge->sequence);
  EXPECT_EQ(release->charge.at("row_hash"), HexOf(charge->hash));
  EXPECT_EQ(release->charge.at("cost_units"), charge->cost.UnitsText());
  EXPECT_EQ(release->charge.at("run_id"), charge->run_id);
  EXPECT_EQ(release->charge.at("population"), "all");
  const auto receipts = ParseReceipts(release->receipt.dump());
  ASSERT_TRUE(receipts.ok()) << receipts.status();
  ASSERT_EQ(receipts->size(), 1u);
  EXPECT_TRUE(CheckReceipt(receipts->at(0)).ok());
  EXPECT_EQ(receipts->at(0).sequence(), charge->sequence);
  const std::string audit = File("z/audit.jsonl");
  for (const char* event :
       {"run-asked", "run-opened", "round-asked", "round-released"})
    EXPECT_THAT(audit, HasSubstr(event));
  // No number of a person, exact or not, stands in what is printed.
  EXPECT_THAT(out_, HasSubstr("wrote"));
}

TEST_F(SynthesiseCommand, TheSameRequestIsPaidOnce) {
  ImportPeople();
  ASSERT_EQ(Synthesise("one.json"), kExitOk) << err_;
  ASSERT_EQ(Synthesise("two.json"), kExitOk) << err_;
  EXPECT_THAT(out_, HasSubstr("nothing was charged"));
  EXPECT_EQ(File("one.json"), File("two.json"));
  EXPECT_EQ(Rows(RowKind::kCharge), 1u);
  // Another draw is another release, and paid.
  ASSERT_EQ(Synthesise("three.json", "--draw 2"), kExitOk) << err_;
  EXPECT_NE(ClassReleaseOfJson(File("one.json"))->sums,
            ClassReleaseOfJson(File("three.json"))->sums);
  EXPECT_EQ(Rows(RowKind::kCharge), 2u);
}

// An id that follows from public numbers could be taken by an analyst.
TEST_F(SynthesiseCommand, AnAnalystCannotTakeTheRunsId) {
  ImportPeople();
  ASSERT_EQ(Synthesise("r.json"), kExitOk) << err_;
  const std::string first = ChargeIn("r.json").at("run_id");
  // Another data directory has another key, and the run another id.
  std::filesystem::rename(scratch_.path() + "/z", scratch_.path() + "/one");
  std::filesystem::rename(Places().anchor_directory, scratch_.path() + "/gone");
  ImportPeople();
  ASSERT_EQ(Synthesise("s.json"), kExitOk) << err_;
  EXPECT_NE(ChargeIn("s.json").at("run_id"), first);
}

TEST_F(SynthesiseCommand, WhatIsRefusedChargesNothing) {
  EXPECT_EQ(Synthesise("r.json"), kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("[ledger-missing]"));
  ImportPeople();
  scratch_.Write("taken.json", "mine");
  EXPECT_EQ(Synthesise("taken.json"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[output-exists]"));
  EXPECT_EQ(File("taken.json"), "mine");
  EXPECT_EQ(Synthesise("nowhere/r.json"), kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("[directory-not-found]"));
  EXPECT_EQ(Synthesise("r.json", "--epsilon -1"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[epsilon-out-of-range]"));
  EXPECT_EQ(Synthesise("r.json", "--epsilon 4.1"), kExitBudget);
  EXPECT_THAT(err_, HasSubstr("[budget-exhausted]"));
  EXPECT_EQ(Run("synthesise --data-dir z --name none --epsilon 1 --output "
                "r.json"),
            kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("[dataset-unknown]"));
  EXPECT_EQ(Rows(RowKind::kCharge), 0u);
  EXPECT_EQ(Rows(RowKind::kOpen), 0u);
  EXPECT_FALSE(Exists("r.json"));
  // A data set without classes.
  ASSERT_EQ(Run("import --name plain --population others --input v.csv --users "
                "rows --epsilon 1 --delta 1e-5 --data-dir z"),
            kExitOk)
      << err_;
  EXPECT_EQ(Run("synthesise --data-dir z --name plain --epsilon 1 --output "
                "r.json"),
            kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[classes-none]"));
}

TEST_F(SynthesiseCommand, IsRefusedWhileAServerHoldsTheLedger) {
  ImportPeople();
  const auto held = Ledger::Open(Places());
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(Synthesise("r.json"), kExitState);
  EXPECT_THAT(err_, HasSubstr("[data-dir-in-use]"));
  EXPECT_FALSE(Exists("r.json"));
}

// Wherever it is killed, the same command again leaves one charge: with the
// release, or with a row that is dead.
TEST_F(SynthesiseCommand, KilledAnywhereItIsPaidAtMostOnce) {
  ImportPeople();
  constexpr int kKills = 10;
  for (int kill = 1; kill <= kKills; ++kill) {
    const std::string draw = absl::StrCat("--epsilon 0.1 --draw ", kill);
    const std::string output = absl::StrCat("r", kill, ".json");
    // --foreground: timeout waits for the process that it kills. It would kill
    // itself too, and the process could still hold the ledger.
    const std::string command =
        "cd '" + scratch_.path() + "' && timeout --foreground -s KILL " +
        absl::StrCat(0.004 * kill) +
        " '" DPNMF_PROGRAM "' synthesise --data-dir z --name people --output " +
        output + " " + draw + " >/dev/null 2>&1";
    EXPECT_NE(std::system(command.c_str()), -1);
    std::filesystem::remove(scratch_.path() + "/" + output);
    const int code = Synthesise(output, draw);
    if (code != kExitOk) {
      EXPECT_THAT(err_, HasSubstr("[release-lost]"));
      EXPECT_FALSE(Exists(output));
    }
    EXPECT_EQ(Rows(RowKind::kCharge), static_cast<std::size_t>(kill));
    EXPECT_EQ(Rows(RowKind::kOpen), static_cast<std::size_t>(kill));
  }
}

// Names only: labels are private, and so are class sizes.
TEST_F(SynthesiseCommand, OnlyPublicLabelsHaveSizesInTheFile) {
  ImportPeople("--labels-public --format json");
  EXPECT_EQ(Json::parse(out_).at("dataset").at("classes").at("sizes").size(),
            2u);
  ASSERT_EQ(Synthesise("r.json"), kExitOk) << err_;
  EXPECT_EQ(ClassReleaseOfJson(File("r.json"))->facts.classes->sizes,
            (std::vector<std::uint64_t>{20, 40}));
}

TEST_F(SynthesiseCommand, ADamagedReleaseFileIsRefused) {
  ImportPeople();
  ASSERT_EQ(Synthesise("r.json"), kExitOk) << err_;
  const Json whole = Json::parse(File("r.json"));
  const auto code = [](const Json& json) {
    return ReasonCode(ClassReleaseOfJson(json.dump()).status());
  };
  EXPECT_EQ(code(whole), "");
  const auto changed = [&](const char* path, const Json& value) {
    Json json = whole;
    json[Json::json_pointer(path)] = value;
    return code(json);
  };
  for (const auto& [path, value] : std::vector<std::pair<const char*, Json>>{
           {"/format", "other"},
           {"/format_version", 2},
           {"/epsilon", 2},
           {"/epsilon", -1},
           {"/delta", "x"},
           {"/dataset/features", 3},
           {"/dataset/features", -2},
           {"/dataset/classes", Json::array({"yes"})},
           {"/dataset/class_sizes", Json::array({1})},
           {"/dataset/range/high", 100},
           {"/dataset/adjacency", "add_remove_one"},
           {"/dataset/feature_names", Json::array({"one"})},
           {"/release/data_bits", 1.5},
           {"/release/stddev_steps", 0},
           {"/release/sums/0", 0.5},
           {"/charge", 1}}) {
    EXPECT_EQ(changed(path, value), "class-release-damaged") << path;
  }
  Json shorter = whole;
  shorter["release"]["sums"].erase(0);
  EXPECT_EQ(code(shorter), "class-release-damaged");
  EXPECT_EQ(ReasonCode(ClassReleaseOfJson("{").status()),
            "class-release-damaged");
}

}  // namespace
}  // namespace dpnmf::curator
