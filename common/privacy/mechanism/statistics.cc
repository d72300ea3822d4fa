// "statistics": T rounds of S_A = sum h h' and S_B = sum u h' for a dictionary.
#include <utility>

#include "common/privacy/mechanism.h"

namespace dpnmf {

StageDraft StageOfStatistics(std::string release, std::uint32_t rounds,
                             MuSquared allowance, int bits,
                             const RunParameters& parameters,
                             const DatasetFacts& facts) {
  const std::uint64_t rank = parameters.rank;
  const MuSquared round = MuSquared::FromUnits(allowance.units() / rounds);
  const MuSquared a = ShareOf(round, parameters.share_of_a);
  return {.release = std::move(release),
          .rounds = rounds,
          .parts = {PartOfProducts("A", rank, rank, true, bits, a, facts),
                    PartOfProducts("B", facts.features, rank, false, bits,
                                   Less(round, a), facts)}};
}

bool StatisticsUse(std::string_view field, const RunParameters&,
                   const DatasetFacts&) {
  return IsOneOf(field, {"initialisation", "rounds", "outliers", "lambda",
                         "outlier_bound", "inner_iterations", "share_of_a",
                         "step_size", "steps_per_round"});
}

namespace {

std::vector<StageDraft> Stages(MuSquared whole, int bits,
                               const RunParameters& parameters,
                               const DatasetFacts& facts) {
  return {StageOfStatistics("statistics", parameters.rounds, whole, bits,
                            parameters, facts)};
}

}  // namespace

extern const Mechanism kStatisticsMechanism = {
    .name = "statistics",
    .summary = "rounds of noised A and B",
    .may_be_federated = true,
    .rounds = AnyRounds,
    .check = CheckNothing,
    .stages = Stages,
    .uses = StatisticsUse,
    .forecast_by = ForecastBy::kAveragedProducts,
    .forecast_part = "B",
};

}  // namespace dpnmf
