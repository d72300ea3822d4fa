// Partitions of people under one cap (docs/reference/growing.md): the ledger
// against a recount of its own rows, and the ways around it.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "curator/ledger/ledger.h"
#include "curator/ledger/ledger_row.h"
#include "gmock/gmock.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PopulationPolicy Partitioned(const std::string& population = "people") {
  PopulationPolicy policy = PolicyFor(population);
  policy.partitions = {"patient_id", {"jan", "feb", "mar"}};
  return policy;
}

// Partition of the people of each data set, as its import said; "" of a data
// set in none.
const std::map<std::string, std::string> kPartitionOfData = {{"jan-a", "jan"},
                                                             {"jan-b", "jan"},
                                                             {"feb", "feb"},
                                                             {"mar", "mar"},
                                                             {"mixed", ""}};

// The people that the partition's data set has, in each test the same.
AssignedPartition Those(const std::string& partition) {
  return {partition, DigestOfNumber(1)};
}

std::unique_ptr<Ledger> OpenPartitioned(const LedgerHome& home) {
  auto ledger = home.Open();
  EXPECT_TRUE(ledger->DeclarePopulation(Partitioned()).ok());
  for (const auto& [dataset, partition] : kPartitionOfData) {
    if (partition.empty()) continue;
    EXPECT_TRUE(
        ledger->AssignPartition("people", dataset, Those(partition)).ok());
  }
  return ledger;
}

RunOpening OpeningOn(const std::string& dataset, const std::string& run_id,
                     std::uint32_t rounds, std::uint32_t share) {
  RunOpening opening = OpeningFor(run_id, rounds, share);
  opening.dataset = dataset;
  return opening;
}

// Returns true if a release of the data set may have read somebody of the
// partition.
bool Reads(const std::string& dataset, const std::string& partition) {
  const std::string& own = kPartitionOfData.at(dataset);
  return own.empty() || own == partition;
}

// The condition of the theorem, from the rows alone: of each partition the
// mu^2 of the releases that read it, and what is reserved for more.
struct Recount {
  std::map<std::string, Uint128> charged, reserved;
};

Recount RecountOf(const LedgerHome& home) {
  Recount recount;
  std::map<std::string, LedgerRow> open;
  std::map<std::string, Uint128> left;
  const std::vector<LedgerRow> rows = Ledger::ReadRows(home.options).value();
  for (const LedgerRow& row : rows) {
    if (row.kind == RowKind::kOpen) {
      open[row.run_id] = row;
      left[row.run_id] = row.cost.units();
    } else if (row.kind == RowKind::kCharge) {
      left[row.run_id] -= row.cost.units();
      for (const std::string& name : Partitioned().partitions.names) {
        if (Reads(row.dataset, name)) recount.charged[name] += row.cost.units();
      }
    } else if (row.kind == RowKind::kClose) {
      left[row.run_id] = 0;
    }
  }
  for (const auto& [run_id, units] : left) {
    for (const std::string& name : Partitioned().partitions.names) {
      if (Reads(open[run_id].dataset, name)) recount.reserved[name] += units;
    }
  }
  return recount;
}

// Random, interleaved histories: what is opened depends on what was refused
// before, runs are charged in any order and closed at any time, and the ledger
// is opened again now and then.
TEST(LedgerPartitions, Theorem15TheSumOfEveryPartitionStaysBelowTheCap) {
  int refused = 0, fullest = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    const LedgerHome home;
    auto ledger = OpenPartitioned(home);
    const Uint128 cap = CapOf(PolicyFor("people")).units();
    std::vector<RunOpening> runs;
    std::map<std::string, std::uint32_t> next;
    for (int step = 0; step < 120; ++step) {
      const std::uint64_t kind = below(10);
      if (kind == 0) {
        ledger.reset();
        ledger = home.Open();
      } else if (kind <= 3 || runs.empty()) {
        auto data = kPartitionOfData.begin();
        std::advance(data, below(kPartitionOfData.size()));
        RunOpening opening =
            OpeningOn(data->first, "run-" + std::to_string(step), 1 + below(3),
                      2 + below(4));
        opening.identity = below(2) == 0 ? "dns:ann" : "dns:bob";
        const Recount before = RecountOf(home);
        bool fits = true;
        for (const auto& name : Partitioned().partitions.names) {
          const auto of = [&](const std::map<std::string, Uint128>& sums) {
            const auto found = sums.find(name);
            return found == sums.end() ? Uint128{0} : found->second;
          };
          fits = fits && (!Reads(data->first, name) ||
                          of(before.charged) + of(before.reserved) +
                                  opening.cost.units() <=
                              cap);
        }
        const auto opened = ledger->OpenRun(opening);
        ASSERT_EQ(ReasonCode(opened.status()), fits ? "" : "budget-exhausted");
        refused += !fits;
        if (!fits) continue;
        runs.push_back(opening);
        next[opening.run_id] = 1;
      } else {
        const RunOpening& run = runs[below(runs.size())];
        if (kind == 4) {
          ASSERT_TRUE(ledger->CloseRun(run.identity, run.run_id).ok());
          next[run.run_id] = run.rounds + 1;
        } else if (next[run.run_id] <= run.rounds) {
          ASSERT_TRUE(
              ledger->ChargeRound(ChargeFor(run, next[run.run_id])).ok());
          ++next[run.run_id];
        }
      }
      const Recount recount = RecountOf(home);
      const Position all = ledger->PositionOf("people").value();
      ASSERT_EQ(all.partitions.size(), 3u);
      Uint128 most_charged = 0, most_committed = 0;
      for (const PartitionPosition& one : all.partitions) {
        const auto of = [&](const std::map<std::string, Uint128>& sums) {
          const auto found = sums.find(one.name);
          return found == sums.end() ? Uint128{0} : found->second;
        };
        const Uint128 charged = of(recount.charged);
        const Uint128 reserved = of(recount.reserved);
        ASSERT_TRUE(one.charged.units() == charged) << one.name;
        ASSERT_TRUE(one.reserved.units() == reserved) << one.name;
        ASSERT_TRUE(charged + reserved <= cap) << "the theorem's condition";
        ASSERT_TRUE(one.left.units() == cap - charged - reserved);
        most_charged = std::max(most_charged, charged);
        most_committed = std::max(most_committed, charged + reserved);
        fullest += 2 * charged > cap;
      }
      ASSERT_TRUE(all.charged.units() == most_charged);
      ASSERT_TRUE(all.left.units() == cap - most_committed);
    }
  }
  // Else nothing was tried.
  EXPECT_GT(refused, 50);
  EXPECT_GT(fullest, 50);
}

// Takes a run's whole cost, or refuses it.
using Accountant = std::function<bool(const std::string& dataset, int parts)>;

// Sixteenths of the cap that releases have read of each partition, after
// whatever the accountant allows of an order of runs.
std::map<std::string, int> ReadUnder(const Accountant& takes,
                                     const std::vector<std::string>& order) {
  std::map<std::string, int> read;
  for (const std::string& dataset : order) {
    for (int i = 0; i < 16; ++i) {
      if (!takes(dataset, 4)) continue;
      for (const std::string& name : Partitioned().partitions.names)
        if (Reads(dataset, name)) read[name] += 4;
    }
  }
  return read;
}

int MostOf(const std::map<std::string, int>& read) {
  int most = 0;
  for (const auto& [name, sum] : read) most = std::max(most, sum);
  return most;
}

// The ledger, and accountants with one rule left out each: these let somebody
// be read more often than the cap allows.
TEST(LedgerPartitions, WeakTwinsReadSomebodyMoreOftenThanTheCapAllows) {
  const std::vector<std::vector<std::string>> orders = {
      {"mixed", "feb", "jan-a"}, {"feb", "mixed"}, {"jan-a", "jan-b", "mixed"}};
  for (const auto& order : orders) {
    const LedgerHome home;
    const auto ledger = OpenPartitioned(home);
    int count = 0;
    const Accountant real = [&](const std::string& dataset, int parts) {
      RunOpening opening =
          OpeningOn(dataset, "run-" + std::to_string(++count), 1, 1);
      opening.cost =
          MuSquared::FromUnits(CapOf(PolicyFor("people")).units() / 16 *
                               static_cast<std::uint32_t>(parts));
      return ledger->OpenRun(opening).ok() &&
             ledger->ChargeRound(ChargeFor(opening, 1)).ok();
    };
    EXPECT_EQ(MostOf(ReadUnder(real, order)), 16);
  }
  // Data in no partition are charged to one partition, or to an account of
  // their own.
  for (const char* instead : {"jan", "none"}) {
    std::map<std::string, int> spent;
    const Accountant twin = [&](const std::string& dataset, int parts) {
      const std::string& own = kPartitionOfData.at(dataset);
      int& account = spent[own.empty() ? instead : own];
      if (account + parts > 16) return false;
      account += parts;
      return true;
    };
    EXPECT_GT(MostOf(ReadUnder(twin, orders[0])), 16) << instead;
  }
  // Versions of a data set have an account each.
  std::map<std::string, int> spent;
  const Accountant by_dataset = [&](const std::string& dataset, int parts) {
    if (spent[dataset] + parts > 16) return false;
    spent[dataset] += parts;
    return true;
  };
  EXPECT_GT(MostOf(ReadUnder(by_dataset, orders[2])), 16);
}

TEST(LedgerPartitions, EachHasTheWholeCapAndDataInNoneHaveWhatIsLeftOfAll) {
  const LedgerHome home;
  const auto ledger = OpenPartitioned(home);
  const RunOpening jan = OpeningOn("jan-a", "one", 1, 1);
  ASSERT_TRUE(ledger->OpenRun(jan).ok());
  ASSERT_TRUE(ledger->ChargeRound(ChargeFor(jan, 1)).ok());
  const absl::Status again =
      ledger->OpenRun(OpeningOn("jan-b", "two", 1, 1)).status();
  EXPECT_CODE(again, "budget-exhausted");
  EXPECT_THAT(std::string(again.message()), HasSubstr("partition `jan`"));
  EXPECT_CODE(ledger->OpenRun(OpeningOn("mixed", "three", 1, 100)),
              "budget-exhausted");
  ASSERT_TRUE(ledger->OpenRun(OpeningOn("feb", "four", 1, 1)).ok());
  const Position feb = ledger->PositionFor("people", "feb").value();
  EXPECT_EQ(feb.partition, "feb");
  EXPECT_EQ(feb.charged, MuSquared());
  EXPECT_EQ(feb.reserved, jan.cost);
  EXPECT_EQ(ledger->PositionFor("people", "mar")->left, feb.cap);
  const Position all = ledger->PositionFor("people", "mixed").value();
  EXPECT_EQ(all.partition, "");
  EXPECT_EQ(all.charged, jan.cost) << "the most that one has";
  EXPECT_EQ(all.left, ledger->PositionFor("people", "jan-b")->left);
  // A reservation is given back in the partition in which it was made.
  ASSERT_TRUE(ledger->CloseRun("dns:analyst", "four").ok());
  EXPECT_EQ(ledger->PositionFor("people", "feb")->left, feb.cap);
  EXPECT_EQ(ledger->PositionFor("people", "jan-a")->left, all.left);
}

TEST(LedgerPartitions, TheLimitOfAnIdentityHoldsInEachPartition) {
  const LedgerHome home;
  const auto ledger = OpenPartitioned(home);
  const auto open = [&](const std::string& dataset, const std::string& run) {
    RunOpening opening = OpeningOn(dataset, run, 1, 2);
    opening.identity_cap = opening.cost;
    return ReasonCode(ledger->OpenRun(opening).status());
  };
  EXPECT_EQ(open("jan-a", "one"), "");
  EXPECT_EQ(open("jan-b", "two"), "identity-budget-exhausted");
  EXPECT_EQ(open("feb", "three"), "");
  EXPECT_EQ(open("mixed", "four"), "identity-budget-exhausted");
  const MuSquared cost = OpeningOn("feb", "x", 1, 2).cost;
  EXPECT_EQ(ledger->PositionFor("people", "feb", "dns:analyst")->reserved,
            cost);
  EXPECT_EQ(ledger->PositionFor("people", "mixed", "dns:analyst")->reserved,
            cost);
  EXPECT_EQ(ledger->PositionOf("people", "dns:analyst")->reserved.units(),
            2 * cost.units())
      << "of all its runs";
}

TEST(LedgerPartitions, AreFixedWithTheCap) {
  const LedgerHome home;
  const auto ledger = OpenPartitioned(home);
  const auto declare = [&](PeoplePartitions partitions) {
    PopulationPolicy policy = PolicyFor("people");
    policy.partitions = std::move(partitions);
    return ReasonCode(ledger->DeclarePopulation(policy));
  };
  EXPECT_EQ(declare({"patient_id", {"jan", "feb", "mar"}}), "");
  EXPECT_EQ(declare({}), "population-differs");
  EXPECT_EQ(declare({"patient_id", {"jan", "feb", "mar", "apr"}}),
            "population-differs");
  EXPECT_EQ(declare({"patient_id", {"jan", "mar", "feb"}}),
            "population-differs");
  EXPECT_EQ(declare({"visit_id", {"jan", "feb", "mar"}}), "population-differs");
  EXPECT_EQ(declare({"id", {"jan", "jan"}}), "partitions-malformed");
  EXPECT_EQ(declare({"", {"jan"}}), "partitions-malformed");
  // A population that was declared without them never gets them.
  ASSERT_TRUE(ledger->DeclarePopulation(PolicyFor("others")).ok());
  EXPECT_CODE(ledger->DeclarePopulation(Partitioned("others")),
              "population-differs");
  EXPECT_CODE(ledger->AssignPartition("others", "d", Those("jan")),
              "partition-unknown");
  EXPECT_CODE(ledger->AssignPartition("strangers", "d", Those("jan")),
              "population-unknown");
}

TEST(LedgerDatasets, TheFilesOfADataSetAreFixedByItsFirstRun) {
  const LedgerHome home;
  auto ledger = OpenPartitioned(home);
  const auto bind = [&](const DatasetDigests& digests) {
    return ReasonCode(ledger->BindDataset("people", "feb", digests));
  };
  const DatasetDigests first = {Digest{1}, Digest{2}},
                       other_people = {Digest{1}, Digest{3}},
                       other_files = {Digest{4}, Digest{2}};
  EXPECT_EQ(ReasonCode(ledger->BindDataset("strangers", "feb", first)),
            "population-unknown");
  EXPECT_EQ(ledger->FilesOf("people", "feb").value(), std::nullopt);
  // An import that was killed is made again.
  EXPECT_EQ(bind(other_files), "");
  EXPECT_EQ(bind(first), "");
  const auto row_count = [&] {
    return ledger->PositionOf("people")->row_count;
  };
  const std::uint64_t rows = row_count();
  EXPECT_EQ(bind(first), "");
  EXPECT_EQ(row_count(), rows) << "no row";
  ASSERT_TRUE(ledger->OpenRun(OpeningOn("feb", "one", 1, 8)).ok());
  EXPECT_EQ(bind(other_files), "dataset-used");
  // Who is recognised is another matter.
  EXPECT_EQ(bind(other_people), "");
  ledger.reset();
  ledger = home.Open();
  EXPECT_EQ(ledger->FilesOf("people", "feb").value(), other_people);
  EXPECT_EQ(Ledger::Audit(home.options)->FilesOf("people", "feb"),
            other_people);
  // A data set that has none when its first run is opened never gets any.
  ASSERT_TRUE(ledger->OpenRun(OpeningOn("mixed", "two", 1, 8)).ok());
  EXPECT_EQ(ReasonCode(ledger->BindDataset("people", "mixed", first)),
            "dataset-used");
}

TEST(LedgerPartitions, ADataSetStaysWhatItIsOnceARunWasOpenedOnIt) {
  const LedgerHome home;
  auto ledger = OpenPartitioned(home);
  const auto assign = [&](const std::string& dataset,
                          const AssignedPartition& assigned) {
    return ReasonCode(ledger->AssignPartition("people", dataset, assigned));
  };
  const auto row_count = [&] {
    return ledger->PositionOf("people")->row_count;
  };
  const std::uint64_t rows = row_count();
  EXPECT_EQ(assign("feb", Those("feb")), "");
  EXPECT_EQ(row_count(), rows) << "no row";
  EXPECT_EQ(assign("new", Those("apr")), "partition-unknown");
  // An import that was killed is made again, with other people, or elsewhere.
  const AssignedPartition others = {"feb", DigestOfNumber(2)};
  EXPECT_EQ(assign("feb", others), "");
  EXPECT_EQ(assign("feb", Those("mar")), "");
  EXPECT_EQ(assign("feb", others), "");
  EXPECT_EQ(row_count(), rows + 3);
  EXPECT_EQ(ledger->PartitionOf("people", "feb").value(), others);
  ASSERT_TRUE(ledger->OpenRun(OpeningOn("feb", "one", 1, 8)).ok());
  // A data set in no partition is not put into one once a run was opened on it.
  ASSERT_TRUE(ledger->OpenRun(OpeningOn("mixed", "run", 1, 8)).ok());
  // Closed or not, charged or not.
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    EXPECT_EQ(assign("feb", others), "dataset-used") << "not even the same";
    EXPECT_EQ(assign("feb", Those("feb")), "dataset-used");
    EXPECT_EQ(assign("feb", {"mar", others.people}), "dataset-used");
    EXPECT_EQ(assign("mixed", Those("jan")), "dataset-used");
    if (round == 0) {
      ASSERT_TRUE(ledger->CloseRun("dns:analyst", "one").ok());
    }
    if (round == 1) {
      ledger.reset();
      ledger = home.Open();
    }
  }
  EXPECT_EQ(ledger->PartitionOf("people", "feb").value(), others);
  EXPECT_EQ(ledger->PartitionOf("people", "mixed").value(),
            AssignedPartition());
  EXPECT_EQ(ledger->Policy("people").value(), Partitioned());
  const LedgerAudit audit = Ledger::Audit(home.options).value();
  EXPECT_EQ(audit.partition_of.at({"people", "jan-b"}), Those("jan"));
  EXPECT_EQ(audit.partition_of.at({"people", "feb"}), others);
  EXPECT_FALSE(audit.partition_of.contains({"people", "mixed"}));
}

TEST(LedgerPartitions, ThePolicyIsOneTextThatIsReadBack) {
  const std::string text = PolicyText(Partitioned());
  EXPECT_EQ(text,
            "adjacency=replace_one conversion=rdp epsilon=1 delta=1e-05 "
            "partitioned by=patient_id names=jan,feb,mar");
  EXPECT_EQ(ParsePolicy("people", text).value(), Partitioned());
  for (const char* wrong :
       {" partitioned ", " partitioned by=id", " partitioned by=id names=",
        " partitioned by=id names=a,a", " partitioned by= names=a",
        " partitioned by=id names=a, b", " partitioned by=id names=-a",
        " partitioned by=id names=a partitioned by=id names=a"}) {
    EXPECT_FALSE(ParsePolicy("people", PolicyText(PolicyFor("people")) + wrong))
        << wrong;
  }
  EXPECT_EQ(PolicyText(PolicyFor("people")),
            "adjacency=replace_one conversion=rdp epsilon=1 delta=1e-05")
      << "as it always was";
}

}  // namespace
}  // namespace dpnmf::curator
