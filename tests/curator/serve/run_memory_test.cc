// What the quota counts for a run against what the run takes.
//
// malloc is replaced in this program: it counts, for Eigen and SQLite too.
#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "curator/serve/session.h"
#include "gtest/gtest.h"
#include "tests/curator/each_mechanism.h"

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

}  // namespace
}  // namespace dpnmf::curator
