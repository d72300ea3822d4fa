// Trials of the curator's promise (curator_trial.h). DPNMF_FAULT_TRIALS=N makes
// N of them; a failure prints the seed that repeats its trial alone.
// Nothing here is chance but the choice of calls and faults.
#include "common/log/log.h"
#include "gtest/gtest.h"
#include "tests/faults/curator_trial.h"
#include "tests/faults/trials.h"

namespace dpnmf::faults {
namespace {

constexpr int kCalls = 40;

TEST(FaultTrials, TheCuratorKeepsItsPromiseWhateverTheDiskDoes) {
  SetLogLevel("off");
  const std::uint64_t seed = TrialSeed("FaultTrials");
  const std::uint64_t trials = TrialsOr(500);
  TrialCounts counts;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    SCOPED_TRACE("repeat with DPNMF_FAULT_SEED=" +
                 std::to_string(seed + trial) + " DPNMF_FAULT_TRIALS=1");
    CuratorTrial(seed + trial, &counts).Run(kCalls);
    if (HasFailure()) break;
    if ((trial + 1) % 1000 == 0) {
      std::printf("%llu trials\n", static_cast<unsigned long long>(trial + 1));
      std::fflush(stdout);
    }
  }
  std::printf(
      "faults: %llu trials, %llu calls, %llu releases, %llu faults, %llu power "
      "cuts, %llu restarts, %llu outcomes unknown, %llu rows dead, %llu times "
      "damage, %llu refused\n",
      static_cast<unsigned long long>(counts.trials),
      static_cast<unsigned long long>(counts.calls),
      static_cast<unsigned long long>(counts.releases),
      static_cast<unsigned long long>(counts.faults),
      static_cast<unsigned long long>(counts.power_cuts),
      static_cast<unsigned long long>(counts.restarts),
      static_cast<unsigned long long>(counts.unknown),
      static_cast<unsigned long long>(counts.dead),
      static_cast<unsigned long long>(counts.damaged),
      static_cast<unsigned long long>(counts.refused));
}

}  // namespace
}  // namespace dpnmf::faults
