#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {

absl::StatusOr<RoundSums> SumsOfStatistics(const RoundInput& input,
                                           const RoundContext& context) {
  if (*context.coefficients == nullptr) {
    *context.coefficients = std::make_unique<Coefficients>(
        CoefficientsFor(context.data, context.parameters.rank));
  }
  return ComputeStatistics(context.data, StatisticsRequestOf(input, context),
                           context.execution, context.coefficients->get());
}

namespace {

// The noised A and B as they are.
constexpr ReleaseKind kReleases[] = {{.name = "statistics",
                                      .check = CheckTakesDictionary,
                                      .sums = SumsOfStatistics,
                                      .publish = PublishAll,
                                      .memory = MemoryOfStatistics,
                                      .by_ranges = true}};

}  // namespace

extern const Mechanism kStatisticsMechanism = {"statistics", kReleases};

}  // namespace dpnmf::curator
