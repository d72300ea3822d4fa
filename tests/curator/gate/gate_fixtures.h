// A small run at the gate.
#ifndef DPNMF_TESTS_CURATOR_GATE_GATE_FIXTURES_H_
#define DPNMF_TESTS_CURATOR_GATE_GATE_FIXTURES_H_

#include <numeric>
#include <utility>
#include <vector>

#include "curator/gate/release_gate.h"
#include "tests/curator/gate/release_gate_for_testing.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {

inline constexpr std::uint64_t kSmallFeatures = 5, kSmallRank = 3;

// Sigmas large against the sums, so that a round costs a small part of the cap.
inline std::vector<PartPlan> SmallParts() {
  PartPlan a{"A",     kSmallRank, kSmallRank, true,   -20,
             1 << 26, 1 << 27,    1 << 20,    1 << 20};
  PartPlan b{"B", kSmallFeatures, kSmallRank, false, -20, 1 << 26,
             0,   1 << 20,        1 << 20};
  return {a, b};
}

inline ExactSums SmallSums() {
  ExactSums sums;
  sums.a.resize(kSmallRank * (kSmallRank + 1) / 2);
  sums.b.resize(kSmallFeatures * kSmallRank);
  std::iota(sums.a.begin(), sums.a.end(), 100);
  std::iota(sums.b.begin(), sums.b.end(), -7);
  return sums;
}

inline RunOpening SmallRun(const std::string& run_id) {
  RunOpening opening = OpeningFor(run_id, 4);
  PriceRounds(&opening,
              CostOfDrawing(SmallParts(), Adjacency::kReplaceOne).value());
  return opening;
}

inline RoundRequest RequestFor(const RunOpening& opening, std::uint32_t round) {
  return {opening.identity,
          opening.run_id,
          round,
          DigestOfNumber(1000 + round),
          SmallParts(),
          Adjacency::kReplaceOne};
}

inline std::vector<NoisedMatrix> Unchanged(std::vector<NoisedMatrix> noised) {
  return noised;
}

// A ledger with an open run of four rounds, and a gate.
class GateHome {
 public:
  GateHome() { Reopen(); }
  explicit GateHome(ReleaseGateForTesting::DrawNoise draw) : draw_(draw) {
    Reopen();
  }

  void Reopen() {
    gate.reset();
    ledger.reset();
    ledger = home.OpenWithPeople();
    EXPECT_TRUE(ledger->OpenRun(run).ok());
    auto made =
        draw_ ? ReleaseGateForTesting::Create(ledger.get(), Store(), draw_)
              : ReleaseGate::Create(ledger.get(), Store(), 2);
    EXPECT_TRUE(made.ok()) << made.status();
    gate = *std::move(made);
  }
  std::string Store() const { return home.directory / "releases"; }
  absl::StatusOr<Released<ReleasedRound>> Release(std::uint32_t round) {
    return gate->Release(RequestFor(run, round), SmallSums(), Unchanged);
  }
  MuSquared Charged() const { return ledger->PositionOf("people")->charged; }

  const LedgerHome home;
  const RunOpening run = SmallRun("run");
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<ReleaseGate> gate;

 private:
  ReleaseGateForTesting::DrawNoise draw_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_GATE_GATE_FIXTURES_H_
