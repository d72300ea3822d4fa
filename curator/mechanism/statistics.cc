#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {

absl::StatusOr<RoundSums> SumsOfStatistics(const RoundInput& input,
                                           const RoundContext& context) {
  if (*context.coefficients == nullptr) {
    *context.coefficients = std::make_unique<Coefficients>(
        context.parameters.rank, context.data.private_user_count());
  }
  return ComputeStatistics(context.data, StatisticsRequestOf(input, context),
                           context.execution, context.coefficients->get());
}

// The noised A and B as they are.
const Mechanism kStatisticsMechanism = {ReleaseKind::kStatistics,
                                        CheckTakesDictionary, SumsOfStatistics,
                                        PublishAll};

}  // namespace dpnmf::curator
