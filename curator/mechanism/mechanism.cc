#include "curator/mechanism/mechanism.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/dictionary.h"

namespace dpnmf::curator {

const Mechanism& MechanismOf(ReleaseKind kind) {
  switch (kind) {
    case ReleaseKind::kMean:
      return kMeanMechanism;
    case ReleaseKind::kMoments:
      return kMomentsMechanism;
    case ReleaseKind::kStatistics:
      return kStatisticsMechanism;
    case ReleaseKind::kGradient:
      return kGradientMechanism;
    case ReleaseKind::kObjective:
      return kObjectiveMechanism;
  }
  return kStatisticsMechanism;
}

absl::Status CheckTakesDictionary(const RoundInput& input,
                                  const RunParameters& parameters,
                                  const DatasetFacts& facts) {
  if (!input.rows.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "rows-malformed",
                   "this round takes no `rows`.");
  }
  if (static_cast<std::uint64_t>(input.w.rows()) != facts.features ||
      static_cast<std::uint64_t>(input.w.cols()) != parameters.rank) {
    return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                   absl::StrCat("the dictionary must be ", facts.features,
                                " x ", parameters.rank, "."));
  }
  return CheckDictionary(input.w);
}

absl::Status CheckTakesNothing(const RoundInput& input, const RunParameters&,
                               const DatasetFacts&) {
  if (input.w.size() != 0) {
    return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                   "this round takes no dictionary.");
  }
  if (input.rows.empty()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "rows-malformed",
                 "this round takes no `rows`.");
}

StatisticsRequest StatisticsRequestOf(const RoundInput& input,
                                      const RoundContext& context) {
  const RunParameters& parameters = context.parameters;
  StatisticsRequest request;
  request.w = &input.w;
  request.outliers = parameters.outliers;
  request.lambda = parameters.lambda;
  request.outlier_bound = parameters.outlier_bound;
  request.inner_iterations = static_cast<int>(parameters.inner_iterations);
  request.coefficient_bound = context.plan.coefficient_bound;
  request.data_bound = context.plan.data_bound;
  request.coefficient_bits = context.plan.coefficient_bits;
  request.data_bits = context.plan.data_bits;
  return request;
}

PostProcess PublishAll(const RoundInput&) {
  return [](std::vector<NoisedMatrix> noised) { return noised; };
}

}  // namespace dpnmf::curator
