#include "common/base/error.h"
#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {
namespace {

absl::StatusOr<RoundSums> SumOfLosses(const RoundInput& input,
                                      const RoundContext& context) {
  DPNMF_ASSIGN_OR_RETURN(
      const std::int64_t sum,
      ComputeObjective(context.data, StatisticsRequestOf(input, context),
                       context.execution));
  RoundSums sums;
  sums.parts = {{sum}};
  return sums;
}

RoundMemory MemoryOfObjective(const RunParameters& parameters,
                              const DatasetDescription& data, int threads) {
  return MemoryOfHStep(parameters, data, /*outliers=*/false,
                       /*objective=*/true, threads);
}

constexpr ReleaseKind kReleases[] = {{.name = "objective",
                                      .check = CheckTakesDictionary,
                                      .sums = SumOfLosses,
                                      .publish = PublishAll,
                                      .memory = MemoryOfObjective,
                                      .by_ranges = true}};

}  // namespace

extern const Mechanism kObjectiveMechanism = {"objective", kReleases};

}  // namespace dpnmf::curator
