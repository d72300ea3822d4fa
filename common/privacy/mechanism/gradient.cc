// "gradient": the noise of `statistics`; W S_A - S_B alone is published.
#include "common/privacy/mechanism.h"

namespace dpnmf {
namespace {

std::vector<StageDraft> Stages(MuSquared whole, int bits,
                               const RunParameters& parameters,
                               const DatasetFacts& facts) {
  return {StageOfStatistics("gradient", parameters.rounds, whole, bits,
                            parameters, facts)};
}

}  // namespace

extern const Mechanism kGradientMechanism = {
    .name = "gradient",
    .summary = "the paper's",
    .rounds = AnyRounds,
    .check = CheckNothing,
    .stages = Stages,
    .uses = StatisticsUse,
    .forecast_by = ForecastBy::kAveragedProducts,
    .forecast_part = "B",
};

}  // namespace dpnmf
