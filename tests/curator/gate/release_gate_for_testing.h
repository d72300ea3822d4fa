// A gate whose noise the test chooses. NOT DIFFERENTIALLY PRIVATE: it stands in
// tests/ alone, and nothing that is shipped can reach it.
#ifndef DPNMF_TESTS_CURATOR_GATE_RELEASE_GATE_FOR_TESTING_H_
#define DPNMF_TESTS_CURATOR_GATE_RELEASE_GATE_FOR_TESTING_H_

#include <memory>
#include <string>
#include <vector>

#include "curator/gate/release_gate.h"

namespace dpnmf::curator {

struct ReleaseGateForTesting {
  using DrawNoise = ReleaseGate::DrawNoise;

  static absl::StatusOr<std::unique_ptr<ReleaseGate>> Create(
      Ledger* ledger, const std::string& store_directory,
      DrawNoise draw_noise) {
    return ReleaseGate::CreateWith(ledger, store_directory, /*threads=*/1,
                                   std::move(draw_noise));
  }

  // Noise off.
  static std::vector<std::vector<std::int64_t>> Zeros(
      const std::vector<PartPlan>& parts, int /*threads*/) {
    std::vector<std::vector<std::int64_t>> noise;
    for (const PartPlan& part : parts)
      noise.emplace_back(EntryCount(part.rows, part.columns, part.symmetric));
    return noise;
  }
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_GATE_RELEASE_GATE_FOR_TESTING_H_
