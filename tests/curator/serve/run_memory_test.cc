// Memory that the quota counts for a run against the memory that the run takes.
//
// malloc is replaced in this program: it counts, for Eigen and SQLite too.
#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "curator/session/session.h"
#include "gtest/gtest.h"
#include "tests/curator/each_mechanism.h"
#include "tests/curator/ranks/in_shares.h"

namespace {

std::atomic<std::uint64_t> held, most_held;

void* Counted(void* given) {
  const std::uint64_t now = held += malloc_usable_size(given);
  for (std::uint64_t most = most_held;
       most < now && !most_held.compare_exchange_weak(most, now);) {
  }
  return given;
}

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the names of glibc.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* given, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* given);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(std::size_t size) noexcept { return Counted(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) noexcept {
  return Counted(__libc_calloc(count, size));
}
void* realloc(void* given, std::size_t size) noexcept {
  held -= malloc_usable_size(given);
  return Counted(__libc_realloc(given, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return Counted(__libc_memalign(alignment, size));
}
void free(void* given) noexcept {
  held -= malloc_usable_size(given);
  __libc_free(given);
}
}

namespace dpnmf::curator {
namespace {

constexpr int kUsers = 40;
// SQLite's cache, the ledger's book, OpenSSL.
constexpr std::uint64_t kBeside = 500'000;
constexpr char kRun[] = "0123456789abcdef0123456789abcdef";

// One analyst's run of each mechanism of the table.
class RunMemory : public testing::TestWithParam<std::string> {
 protected:
  RunMemory() {
    std::string pattern = testing::TempDir() + "memoryXXXXXX";
    directory_ = mkdtemp(pattern.data());
    Ledger::Options options;
    options.directory = directory_ + "/ledger";
    ledger_ = Ledger::Open(options).value();
    gate_ =
        ReleaseGate::Create(ledger_.get(), directory_ + "/releases", 1).value();
    access_ = AccessControl::FromGrants(
        {{"dns:analyst", {Role::kAnalyst}, {"data"}, false, {}}});
  }
  ~RunMemory() override { std::filesystem::remove_all(directory_); }

  // Sizes at which a round takes far more than what is beside it.
  static bool OfClasses() { return DataFor(GetParam()) == Holds::kClasses; }
  static int Features() { return OfClasses() ? 250 : 10'000; }

  void Put() {
    DatasetDescription description;
    description.name = "data";
    description.population = "people";
    description.epsilon = 4;
    description.delta = 1e-5;
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(PeopleWith(DataFor(GetParam()), Person::kFull,
                                  Features(), kUsers, description,
                                  /*sparse=*/true));
    catalog_ = Catalog::FromDatasets(std::move(datasets));
    const PopulationPolicy policy = {"people", description.adjacency,
                                     description.conversion, 4, 1e-5};
    ASSERT_TRUE(ledger_->DeclarePopulation(policy).ok());
  }

  RunParameters Parameters() const {
    const DatasetFacts facts = FactsOf(catalog_.Find("data")->description());
    const RunParameters rows = RunOfEach(GetParam(), facts, 2, 400);
    return rows.moment_rows > 0 ? rows : RunOfEach(GetParam(), facts, 40, 0);
  }

  // Every round, as the service drives them.
  void Train(const RunParameters& parameters) {
    Session session({ledger_.get(), gate_.get(), &catalog_, access_.get(),
                     &locks_, 1, nullptr},
                    {"dns:analyst"});
    const auto opened = session.Open(kRun, parameters);
    ASSERT_TRUE(opened.ok()) << opened.status();
    plan_ = opened->plan;
    for (std::uint32_t round = 1; round <= parameters.rounds; ++round) {
      const auto released = session.Round(
          round, InputOf(plan_.StageOf(round).release, parameters,
                         FactsOf(catalog_.Find("data")->description())));
      ASSERT_TRUE(released.ok()) << released.status();
    }
  }

  std::string directory_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<ReleaseGate> gate_;
  std::unique_ptr<AccessControl> access_;
  Catalog catalog_;
  RunLocks locks_;
  RunPlan plan_;
};
INSTANTIATE_TEST_SUITE_P(Mechanisms, RunMemory,
                         testing::ValuesIn(MechanismNames()));

TEST_P(RunMemory, IsAtMostWhatTheQuotaCountsAndMostOfIt) {
  Put();
  const RunParameters parameters = Parameters();
  const std::uint64_t before = most_held = held.load();
  Train(parameters);
  const std::uint64_t most = most_held - before;
  const std::uint64_t counted = MemoryOfRun(
      plan_, parameters, catalog_.Find("data")->description(), /*threads=*/1);
  EXPECT_LE(most, counted + kBeside);
  // The objective is one number: beside W nothing large is released.
  const std::uint64_t least =
      GetParam() == "objective" ? counted / 10 * 6 : counted / 3 * 2;
  EXPECT_GE(most, least)
      << "a bound that is far too large refuses runs that there is room for";
}

TEST(RunMemoryOfShares, HoldHOnceInAll) {
  const Scratch scratch;
  const std::string data_dir = scratch.path() + "/data";
  constexpr int kManyUsers = 60000;
  ImportPeopleOf(scratch, data_dir, "d", kManyUsers, 4, /*sparse=*/false,
                 std::nullopt);
  const auto data = Dataset::Open(DatasetDirectory(data_dir, "d"));
  ASSERT_TRUE(data.ok()) << data.status();
  const RunParameters parameters =
      RunOfEach("statistics", FactsOf((*data)->description()), 4, 0);
  const RunPlan plan =
      PlanRun(parameters, FactsOf((*data)->description())).value();
  const std::uint64_t h = 8 * 4 * kManyUsers;
  const auto counted = [&](RankProcesses processes) {
    return MemoryOfRun(plan, parameters, (*data)->description(), 1, processes);
  };
  // Memory of three more ranks, without their shares of H, is less than H.
  EXPECT_LT(counted({.ranks = 6}), counted({.ranks = 3}) + h);
}

// Memory of three ranks, each in a process of its own, and of the curator for
// them: each is measured by itself, and the most of each counts.
class RunMemoryOfRanks : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int kRanks = 3;

  template <typename Work>
  static std::uint64_t MostOf(const Work& work) {
    const std::uint64_t before = most_held = held.load();
    work();
    return most_held - before;
  }

  // One rank, as it serves one command after another.
  static std::uint64_t MostOfRank(const std::string& data_dir,
                                  const std::vector<RankCommand>& commands,
                                  std::uint64_t index) {
    std::vector<std::string> sent;
    for (const RankCommand& command : commands)
      sent.push_back(BytesOf(command));
    return MostOf([&] {
      ShareSums share(data_dir, Share{index, kRanks}, 1);
      std::vector<std::uint64_t> room;
      std::string bytes;
      for (const std::string& command_bytes : sent) {
        bytes.resize(command_bytes.size());
        std::copy(command_bytes.begin(), command_bytes.end(), bytes.begin());
        const auto command = CommandOf(bytes);
        ASSERT_TRUE(command.has_value());
        const std::vector<std::uint64_t> words = share.Words(*command);
        EXPECT_EQ(words[0], 0U);
        room.resize(words.size());
        EXPECT_FALSE(AnswerOf(command->number, words).empty());
      }
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Mechanisms, RunMemoryOfRanks,
                         testing::ValuesIn(MechanismNames()));

TEST_P(RunMemoryOfRanks, IsAtMostWhatTheQuotaCounts) {
  constexpr int kFeatures = 4000;
  if (DataFor(GetParam()) != Holds::kColumns) {
    // The curator computes everything by itself for such data sets.
    const auto data =
        PeopleWith(DataFor(GetParam()), Person::kFull, 20, kUsers);
    const RunParameters parameters =
        RunOfEach(GetParam(), FactsOf(data->description()), 3, 4);
    const RunPlan plan =
        PlanRun(parameters, FactsOf(data->description())).value();
    EXPECT_EQ(MemoryOfRun(plan, parameters, data->description(), 1),
              MemoryOfRun(plan, parameters, data->description(), 1,
                          {.ranks = kRanks}));
    return;
  }
  const Scratch scratch;
  for (const std::string name : {"dense", "sparse", "parts"}) {
    const std::string data_dir = scratch.path() + "/" + name;
    if (name == "parts") {
      ImportPartsOf(scratch, data_dir, name, {70, 15, 5}, kFeatures,
                    /*sparse=*/false, /*private_count=*/30'000);
    } else {
      ImportPeopleOf(scratch, data_dir, name, 90, kFeatures, name == "sparse",
                     std::nullopt);
    }
    const auto data = Dataset::Open(DatasetDirectory(data_dir, name));
    ASSERT_TRUE(data.ok()) << data.status();
    const DatasetFacts facts = FactsOf((*data)->description());
    const RunParameters some = RunOfEach(GetParam(), facts, 2, 300);
    AskedRun run;
    run.parameters =
        some.moment_rows > 0 ? some : RunOfEach(GetParam(), facts, 40, 0);
    run.plan = PlanRun(run.parameters, facts).value();
    std::vector<RankCommand> commands;
    for (std::uint32_t round = 1; round <= run.parameters.rounds; ++round) {
      const StagePlan& stage = run.plan.StageOf(round);
      const ReleaseKind& kind = ReleaseKindOf(stage.release);
      if (!RankJob::Computes(kind, (*data)->description())) continue;
      const AskedRound asked{
          &kind, InputOf(stage.release, run.parameters, facts), stage.parts};
      commands.push_back(CommandFor(data_dir, **data, run, asked));
    }
    ASSERT_FALSE(commands.empty());
    std::uint64_t most = MostOf([&] {
      const RankCommand command = commands.back();
      EXPECT_FALSE(BytesOf(command).empty());
    });
    for (std::uint64_t index = 0; index < kRanks; ++index)
      most += MostOfRank(data_dir, commands, index);
    const std::uint64_t counted =
        MemoryOfRun(run.plan, run.parameters, (*data)->description(), 1,
                    {.ranks = kRanks, .in_parts = (*data)->in_parts()});
    EXPECT_LE(most, counted) << name;
    EXPECT_GE(3 * most, counted)
        << name
        << ": a bound that is far too large refuses runs that there is room "
           "for";
  }
}

}  // namespace
}  // namespace dpnmf::curator
