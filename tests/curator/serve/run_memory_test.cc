// What the quota counts for a run against what the run takes.
//
// malloc is replaced in this program: it counts, for Eigen and SQLite too.
#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "common/nmf/dictionary.h"
#include "curator/serve/session.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"

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

constexpr int kFeatures = 10'000, kUsers = 40, kRank = 40;
// SQLite's cache, the ledger's book, OpenSSL.
constexpr std::uint64_t kBeside = 500'000;
constexpr char kRun[] = "0123456789abcdef0123456789abcdef";

// One analyst's run on `kFeatures` features.
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

  void Put(bool sparse) {
    DatasetDescription description;
    description.name = "data";
    description.population = "people";
    description.epsilon = 4;
    description.delta = 1e-5;
    const Eigen::MatrixXf v = RandomColumns(kFeatures, kUsers, 3, 0.05);
    std::vector<std::unique_ptr<Dataset>> datasets;
    datasets.push_back(sparse ? SparseOf(v, description)
                              : DenseOf(v, description));
    catalog_ = Catalog::FromDatasets(std::move(datasets));
    const PopulationPolicy policy = {"people", description.adjacency,
                                     description.conversion, 4, 1e-5};
    ASSERT_TRUE(ledger_->DeclarePopulation(policy).ok());
  }

  static RunParameters Parameters() {
    RunParameters parameters;
    parameters.dataset = "data";
    parameters.mechanism = GetParam();
    parameters.epsilon = 1;
    parameters.delta = 1e-5;
    parameters.rank = kRank;
    parameters.rounds = 1;
    if (GetParam() == "moments") {
      parameters.rank = 2;
      parameters.moment_rows = 400;
      parameters.rounds = 2;
    }
    return parameters;
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
      RoundInput input;
      if (GetParam() != "moments") {
        input.w = RandomDictionary(kFeatures, kRank, 1);
      } else if (round == 2) {
        for (std::uint32_t row = 0; row < parameters.moment_rows; ++row)
          input.rows.push_back(row);
      }
      const auto released = session.Round(round, input);
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
                         testing::Values("statistics", "gradient", "moments"));

TEST_P(RunMemory, IsAtMostWhatTheQuotaCountsAndAtLeastTwoThirdsOfIt) {
  Put(/*sparse=*/true);
  const RunParameters parameters = Parameters();
  const std::uint64_t before = most_held = held.load();
  Train(parameters);
  const std::uint64_t most = most_held - before;
  const std::uint64_t counted = MemoryOfRun(
      plan_, parameters, catalog_.Find("data")->description(), /*threads=*/1);
  EXPECT_LE(most, counted + kBeside);
  EXPECT_GE(3 * most, 2 * counted)
      << "a bound that is far too large refuses runs that there is room for";
}

}  // namespace
}  // namespace dpnmf::curator
