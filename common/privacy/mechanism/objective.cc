// "objective": one round, the sum of min(1/2 |v - W h|^2, c^2 / 2).
#include "common/privacy/mechanism.h"

namespace dpnmf {
namespace {

RoundsRange OneRound(const RunParameters&, const DatasetFacts&) {
  return {.least = 1, .most = 1};
}

// A person adds a number of [0, c^2 / 2] (docs/reference/privacy.md, theorem
// 4b).
std::vector<StageDraft> Stages(MuSquared whole, int bits, const RunParameters&,
                               const DatasetFacts& facts) {
  const std::uint64_t most = LargestLossSteps(facts.column_bound, bits);
  const PartPlan objective{.name = "objective",
                           .rows = 1,
                           .columns = 1,
                           .step_exponent = -2 * bits,
                           .left_norm_steps = most,
                           .right_norm_steps = most,
                           .whole_sensitivity = true};
  return {{.release = "objective",
           .rounds = 1,
           .parts = {{objective, whole, LargestProductSteps(bits, facts)}}}};
}

bool Uses(std::string_view field, const RunParameters&, const DatasetFacts&) {
  return FitUses(field);
}

}  // namespace

extern const Mechanism kObjectiveMechanism = {
    .name = "objective",
    .summary = "how well a given dictionary fits",
    .learns_dictionary = false,
    .rounds = OneRound,
    .check = CheckNothing,
    .stages = Stages,
    .uses = Uses,
};

}  // namespace dpnmf
