// Data sets on the disk and the rounds of all kinds that ranks compute, for
// tests with shares and with real MPI.
#ifndef DPNMF_TESTS_CURATOR_RANKS_RANK_FIXTURES_H_
#define DPNMF_TESTS_CURATOR_RANKS_RANK_FIXTURES_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/nmf/dictionary.h"
#include "curator/import/import.h"
#include "curator/import/part.h"
#include "curator/mechanism/mechanism.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"
#include "tests/curator/import/rows_import.h"

namespace dpnmf::curator {

// People with small whole numbers, a third of them 0; CSV, or Matrix Market for
// a sparse data set.
inline std::string PeopleText(int people, int features, bool sparse) {
  std::string lines;
  std::uint64_t state = 7, entries = 0;
  for (int n = 0; n < people; ++n) {
    for (int d = 0; d < features; ++d) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t value =
          (state >> 60) % 3 == 0 ? 0 : 1 + (state >> 33) % 9;
      if (!sparse) {
        absl::StrAppend(&lines, value, d + 1 < features ? "," : "\n");
      } else if (value > 0) {
        absl::StrAppend(&lines, n + 1, " ", d + 1, " ", value, "\n");
        ++entries;
      }
    }
  }
  if (!sparse) return lines;
  return absl::StrCat("%%MatrixMarket matrix coordinate integer general\n",
                      people, " ", features, " ", entries, "\n", lines);
}

// Those of them from `first` on, counted from 0, as a file of their own.
inline std::string PartText(int people, int features, bool sparse, int first,
                            int count) {
  std::istringstream whole(PeopleText(people, features, sparse));
  std::string line, text;
  if (!sparse) {
    for (int n = 0; std::getline(whole, line); ++n)
      if (n >= first && n < first + count) absl::StrAppend(&text, line, "\n");
    return text;
  }
  int entries = 0, user = 0, feature = 0, value = 0;
  std::getline(whole, line);
  std::getline(whole, line);
  while (whole >> user >> feature >> value) {
    if (user <= first || user > first + count) continue;
    absl::StrAppend(&text, user - first, " ", feature, " ", value, "\n");
    ++entries;
  }
  return absl::StrCat("%%MatrixMarket matrix coordinate integer general\n",
                      count, " ", features, " ", entries, "\n", text);
}

// Options that import such a text as data set `name`. `private_count`: N0,
// under add_remove_one.
inline ImportOptions OptionsOfPeople(
    const Scratch& scratch, const std::string& data_dir,
    const std::string& name, bool sparse, const std::string& text,
    std::optional<std::uint64_t> private_count = std::nullopt) {
  ImportOptions options = RowsImport(
      data_dir, scratch.Write(name + (sparse ? ".mtx" : ".csv"), text), name,
      "p", 8, 1e-5);
  if (private_count.has_value()) {
    options.adjacency = Adjacency::kAddRemoveOne;
    options.users_count = private_count;
  }
  return options;
}

// Imports such people as data set `name`.
inline void ImportPeopleOf(
    const Scratch& scratch, const std::string& data_dir,
    const std::string& name, int people, int features, bool sparse,
    std::optional<std::uint64_t> shards,
    std::optional<std::uint64_t> private_count = std::nullopt) {
  ImportOptions options =
      OptionsOfPeople(scratch, data_dir, name, sparse,
                      PeopleText(people, features, sparse), private_count);
  options.shards = shards;
  const auto imported = Import(options);
  ASSERT_TRUE(imported.ok()) << imported.status();
}

// The same people in parts of these sizes.
inline void ImportPartsOf(
    const Scratch& scratch, const std::string& data_dir,
    const std::string& name, const std::vector<int>& sizes, int features,
    bool sparse, std::optional<std::uint64_t> private_count = std::nullopt) {
  std::filesystem::create_directories(data_dir);
  std::ofstream(data_dir + "/fingerprint.key") << std::string(32, 'k');
  const int people = std::accumulate(sizes.begin(), sizes.end(), 0);
  int first = 0;
  for (const int size : sizes) {
    ImportOptions options = OptionsOfPeople(
        scratch, data_dir, name, sparse,
        PartText(people, features, sparse, first, size), private_count);
    options.shard_of =
        ParsePartRange(absl::StrCat(first + 1, "-", first + size, "/", people))
            .value();
    const auto part = ImportPart(options);
    ASSERT_TRUE(part.ok()) << part.status();
    first += size;
  }
  ImportOptions options;
  options.data_dir = data_dir;
  options.name = name;
  options.accept_equal_rows = true;
  ASSERT_TRUE(TakeDeclarationOfParts(&options).ok());
  const auto joined = Import(options);
  ASSERT_TRUE(joined.ok()) << joined.status();
}

// The rounds of a run, with sums computed somewhere.
struct AskedRound {
  const ReleaseKind* kind = nullptr;
  RoundInput input = {};
  std::vector<PartPlan> parts = {};
};
struct AskedRun {
  RunParameters parameters;
  RunPlan plan;
  std::vector<AskedRound> rounds;
};

// `moments` with outliers: on five rows, and the mean before it.
inline AskedRun RunOf(const Dataset& data, const std::string& mechanism,
                      bool outliers) {
  const DatasetFacts facts = FactsOf(data.description());
  AskedRun run;
  RunParameters& parameters = run.parameters;
  parameters.dataset = facts.name;
  parameters.rank = 3;
  parameters.rounds = 3;
  const bool moments = mechanism == "moments", some_rows = moments && outliers;
  if (mechanism == "objective") parameters.rounds = 1;
  parameters.epsilon = 4;
  parameters.delta = 1e-6;
  parameters.mechanism = mechanism;
  parameters.outliers = outliers;
  parameters.lambda = 0.05;
  parameters.outlier_bound = 1;
  parameters.inner_iterations = 4;
  parameters.adjacency = facts.adjacency;
  parameters.conversion = facts.conversion;
  if (moments) {
    parameters.moment_rows =
        some_rows ? 5 : static_cast<std::uint32_t>(facts.features);
  }
  const auto plan = PlanRun(parameters, facts);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return run;
  run.plan = *plan;
  for (std::uint32_t round = 1; round <= parameters.rounds; ++round) {
    const StagePlan& stage = run.plan.StageOf(round);
    AskedRound asked{.kind = &ReleaseKindOf(stage.release),
                     .parts = stage.parts};
    if (stage.release != "mean" && stage.release != "moments")
      asked.input = RandomDictionary(facts.features, 3, round);
    if (stage.release == "moments" && some_rows) {
      asked.input.rows = {0, 2, 3};
      asked.kind->narrow(asked.input, &asked.parts);
    }
    run.rounds.push_back(std::move(asked));
  }
  return run;
}

// Computes a round, with H of the rounds before it.
using ComputeRound = std::function<absl::StatusOr<RoundSums>(
    const AskedRun& run, const AskedRound& round)>;

inline ComputeRound InOneProcess(const Dataset& data) {
  auto h = std::make_shared<std::unique_ptr<Coefficients>>();
  return [&data, h](const AskedRun& run, const AskedRound& round) {
    return round.kind->sums(round.input, {.data = data,
                                          .parameters = run.parameters,
                                          .plan = run.plan,
                                          .execution = {.threads = 2},
                                          .coefficients = h.get()});
  };
}

// Rounds that are compared below.
inline constexpr int kRounds = 16;

// Every kind of round gives the sums of one process, bit for bit; H goes on
// from round to round in both. The number of rounds compared.
inline int ExpectTheBitsOfOneProcess(
    const Dataset& data, const std::function<ComputeRound()>& begin_run) {
  int compared = 0;
  for (const auto& [mechanism, outliers] :
       {std::pair("statistics", false), std::pair("statistics", true),
        std::pair("gradient", true), std::pair("moments", false),
        std::pair("moments", true), std::pair("objective", false)}) {
    const AskedRun run = RunOf(data, mechanism, outliers);
    const ComputeRound here = InOneProcess(data), there = begin_run();
    for (const AskedRound& round : run.rounds) {
      const auto expected = here(run, round);
      const auto sums = there(run, round);
      EXPECT_TRUE(expected.ok()) << expected.status();
      EXPECT_TRUE(sums.ok()) << sums.status();
      if (!expected.ok() || !sums.ok()) return 0;
      EXPECT_EQ(expected->parts, sums->parts)
          << mechanism << " " << outliers << " " << round.kind->name;
      ++compared;
    }
  }
  return compared;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_RANKS_RANK_FIXTURES_H_
