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

}  // namespace

const Mechanism kObjectiveMechanism = {
    ReleaseKind::kObjective, CheckTakesDictionary, SumOfLosses, PublishAll};

}  // namespace dpnmf::curator
