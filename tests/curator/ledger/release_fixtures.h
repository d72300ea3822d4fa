// Fixtures of the tests of curator/ledger and curator/gate: directories of
// their own, and requests that differ only where a test says so.
#ifndef DPNMF_TESTS_CURATOR_LEDGER_RELEASE_FIXTURES_H_
#define DPNMF_TESTS_CURATOR_LEDGER_RELEASE_FIXTURES_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "curator/ledger/ledger.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {

// Removed with all that is in it. In memory where there is such a file system:
// these tests sync thousands of times, and no test can see whether a sync
// reached a disk.
class TempDirectory {
 public:
  TempDirectory() {
    const std::string root =
        ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : testing::TempDir();
    std::string pattern = root + "/dpnmf-release-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

inline Digest DigestOfNumber(std::uint64_t number) {
  return Sha256().AddInteger(number).Finish();
}

inline PopulationPolicy PolicyFor(const std::string& population) {
  return {population, Adjacency::kReplaceOne, Conversion::kRdp, 1.0, 1e-5};
}

inline MuSquared CapOf(const PopulationPolicy& policy) {
  return LargestCost(policy.conversion, policy.epsilon, policy.delta).value();
}

inline MuSquared Fraction(MuSquared cost, std::uint32_t count) {
  return MuSquared::Divide(cost, count);
}

// All rounds of the run cost the same.
inline void PriceRounds(RunOpening* opening, MuSquared cost) {
  opening->cost = *MuSquared::Multiply(cost, opening->rounds);
}
inline MuSquared CostOfRound(const RunOpening& opening) {
  return MuSquared::Divide(opening.cost, opening.rounds);
}

// A run of `rounds` rounds that costs a `share`-th of the cap of PolicyFor.
inline RunOpening OpeningFor(const std::string& run_id,
                             std::uint32_t rounds = 4,
                             std::uint32_t share = 2) {
  RunOpening opening;
  opening.identity = "dns:analyst";
  opening.run_id = run_id;
  opening.population = "people";
  opening.dataset = "digits";
  opening.mechanism = "statistics";
  opening.parameters_hash = DigestOfNumber(7);
  opening.rounds = rounds;
  PriceRounds(&opening, Fraction(CapOf(PolicyFor("people")), share * rounds));
  return opening;
}

inline Charge ChargeFor(const RunOpening& opening, std::uint32_t round) {
  return {opening.identity, opening.run_id, round, DigestOfNumber(1000 + round),
          CostOfRound(opening)};
}

// A data directory with a ledger and its anchor.
class LedgerHome {
 public:
  explicit LedgerHome(bool anchored = true) {
    options.directory = directory / "ledger";
    if (anchored) options.anchor_directory = directory / "anchor";
    options.unix_seconds = [] { return std::int64_t{1'700'000'000}; };
  }
  absl::StatusOr<std::unique_ptr<Ledger>> TryOpen() const {
    return Ledger::Open(options);
  }
  std::unique_ptr<Ledger> Open() const {
    auto ledger = TryOpen();
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return ledger.ok() ? *std::move(ledger) : nullptr;
  }
  std::unique_ptr<Ledger> OpenWithPeople() const {
    auto ledger = Open();
    EXPECT_TRUE(ledger->DeclarePopulation(PolicyFor("people")).ok());
    return ledger;
  }
  std::string OpenCode() const { return ReasonCode(TryOpen().status()); }
  std::string VerifyCode() const {
    return ReasonCode(Ledger::Verify(options).status());
  }

  TempDirectory directory;
  Ledger::Options options;
};

// Runs `body` in a child process and returns its wait status. The child never
// returns into the test.
inline int InChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

#define EXPECT_CODE(expression, code) \
  EXPECT_EQ(ReasonCode(StatusOfResult(expression)), code)

inline absl::Status StatusOfResult(absl::Status status) { return status; }
template <typename T>
absl::Status StatusOfResult(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_LEDGER_RELEASE_FIXTURES_H_
