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

// The noised A and B as they are.
const Mechanism kStatisticsMechanism = {ReleaseKind::kStatistics,
                                        CheckTakesDictionary, SumsOfStatistics,
                                        PublishAll};

}  // namespace dpnmf::curator
