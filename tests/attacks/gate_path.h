// The one place where the attacks touch the release gate and the layout of the
// exact sums. Everywhere else a round is a flat list of integers: A's upper
// triangle by columns, then B by columns.
#ifndef DPNMF_TESTS_ATTACKS_GATE_PATH_H_
#define DPNMF_TESTS_ATTACKS_GATE_PATH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/privacy/run_plan.h"
#include "curator/factor/statistics.h"
#include "curator/gate/release_gate.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {

std::vector<std::int64_t> Flat(const ExactSums& sums);
// The sums that flatten to this.
ExactSums Unflat(const std::vector<PartPlan>& parts,
                 std::span<const std::int64_t> flat);

// sigma of every coordinate, in steps, as the gate draws it.
std::vector<std::uint64_t> StddevsOf(const std::vector<PartPlan>& parts);

// A run of `rounds` rounds at a gate of its own.
class GatePath {
 public:
  // Gives the noise of a round, one integer a coordinate. NOT DIFFERENTIALLY
  // PRIVATE; without it the gate draws its own under keys of the operating
  // system.
  using Noise = std::function<std::vector<std::int64_t>()>;

  GatePath(const std::vector<PartPlan>& parts, std::uint32_t rounds,
           const Noise& noise = nullptr);

  // The integers that are published of the next round.
  std::vector<std::int64_t> Release(const ExactSums& sums);
  // Step exponents of all parts of the last round.
  const std::vector<int>& step_exponents() const { return step_exponents_; }

 private:
  LedgerHome home_;
  RunOpening run_;
  std::vector<PartPlan> parts_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<ReleaseGate> gate_;
  std::uint32_t round_ = 0;
  std::vector<int> step_exponents_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_GATE_PATH_H_
