#include "tests/attacks/gate_path.h"

#include <span>
#include <utility>

#include "gtest/gtest.h"
#include "tests/curator/gate/release_gate_for_testing.h"

namespace dpnmf::curator {
namespace {

// One round's integers, cut into the gate's parts.
std::vector<std::vector<std::int64_t>> CutIntoParts(
    const std::vector<PartPlan>& parts, std::span<const std::int64_t> flat) {
  std::vector<std::vector<std::int64_t>> cut;
  for (const PartPlan& part : parts) {
    const std::size_t size =
        EntryCount(part.rows, part.columns, part.symmetric);
    cut.emplace_back(flat.begin(), flat.begin() + size);
    flat = flat.subspan(size);
  }
  return cut;
}

// A cap that no audit reaches.
PopulationPolicy WidePolicy() {
  return {"people", Adjacency::kReplaceOne, Conversion::kGaussian, 1000, 1e-5};
}

}  // namespace

std::vector<std::int64_t> Flat(const ExactSums& sums) {
  std::vector<std::int64_t> flat = sums.a;
  flat.insert(flat.end(), sums.b.begin(), sums.b.end());
  return flat;
}

ExactSums Unflat(const std::vector<PartPlan>& parts,
                 std::span<const std::int64_t> flat) {
  auto cut = CutIntoParts(parts, flat);
  return {std::move(cut.at(0)), std::move(cut.at(1))};
}

std::vector<std::uint64_t> StddevsOf(const std::vector<PartPlan>& parts) {
  std::vector<std::uint64_t> stddevs;
  for (const PartPlan& part : parts) {
    for (std::uint64_t column = 0; column < part.columns; ++column) {
      const std::uint64_t rows = part.symmetric ? column + 1 : part.rows;
      for (std::uint64_t row = 0; row < rows; ++row) {
        stddevs.push_back(part.symmetric && row == column
                              ? part.diagonal_stddev_steps
                              : part.stddev_steps);
      }
    }
  }
  return stddevs;
}

GatePath::GatePath(const std::vector<PartPlan>& parts, std::uint32_t rounds,
                   const Noise& noise)
    : run_(OpeningFor("run", rounds)), parts_(parts), ledger_(home_.Open()) {
  PriceRounds(&run_, CostOfDrawing(parts, Adjacency::kReplaceOne).value());
  EXPECT_TRUE(ledger_->DeclarePopulation(WidePolicy()).ok());
  EXPECT_TRUE(ledger_->OpenRun(run_).ok());
  const std::string store = home_.directory / "releases";
  gate_ = noise == nullptr
              ? ReleaseGate::Create(ledger_.get(), store, 1).value()
              : ReleaseGateForTesting::Create(
                    ledger_.get(), store,
                    [noise](const std::vector<PartPlan>& of, int /*threads*/) {
                      return CutIntoParts(of, noise());
                    })
                    .value();
}

std::vector<std::int64_t> GatePath::Release(const ExactSums& sums) {
  ++round_;
  const RoundRequest request = {run_.identity, run_.run_id,
                                round_,        DigestOfNumber(round_),
                                parts_,        Adjacency::kReplaceOne};
  const auto released = gate_->Release(
      request, sums, [](std::vector<NoisedMatrix> noised) { return noised; });
  EXPECT_TRUE(released.ok() && !released->value().lost) << released.status();
  std::vector<std::int64_t> published;
  step_exponents_.clear();
  for (const NoisedMatrix& part : released->value().parts) {
    step_exponents_.push_back(part.step_exponent);
    published.insert(published.end(), part.lattice.begin(), part.lattice.end());
  }
  return published;
}

}  // namespace dpnmf::curator
