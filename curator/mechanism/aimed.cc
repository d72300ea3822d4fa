// "aimed": after "mean" and "moments", the second moment of what the request
// names of them. The gate bounds z whatever the request says.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/privacy/aim.h"
#include "curator/factor/aimed_moments.h"
#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {
namespace {

// Rows: 1 to M, always named, also if M = D. U: D x L with L from 1 to
// kMostAimDirections and at most the rank, entries in [-kLargestAimEntry,
// kLargestAimEntry]. Numbers: one, the scale.
absl::Status CheckAim(const RoundInput& input, const RunParameters& parameters,
                      const DatasetFacts& facts) {
  DPNMF_RETURN_IF_ERROR(CheckRows(input.rows, parameters, facts));
  const Eigen::MatrixXd& u = input.w;
  const std::uint64_t most =
      std::min<std::uint64_t>(kMostAimDirections, parameters.rank);
  if (static_cast<std::uint64_t>(u.rows()) != facts.features || u.cols() < 1 ||
      static_cast<std::uint64_t>(u.cols()) > most) {
    return Refusal(absl::StatusCode::kInvalidArgument, "matrix-shape",
                   absl::StrCat("The directions must have ", facts.features,
                                " rows and 1 to ", most, " columns."));
  }
  for (const double entry : u.reshaped()) {
    if (std::fabs(entry) <= kLargestAimEntry) continue;
    return Refusal(
        absl::StatusCode::kInvalidArgument, "model-out-of-range",
        absl::StrCat("Entries of the directions must be from -",
                     kLargestAimEntry, " to ", kLargestAimEntry, "."));
  }
  const bool numbers = input.numbers.size() == 1 &&
                       input.numbers[0] >= kLeastAimScale &&
                       input.numbers[0] <= kLargestAimScale;
  if (numbers) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "numbers-malformed",
      absl::StrCat("`numbers` must be one number from ", kLeastAimScale, " to ",
                   kLargestAimScale, ", the scale of what is left."));
}

absl::StatusOr<RoundSums> SumsOfAimed(const RoundInput& input,
                                      const RoundContext& context) {
  RoundSums sums;
  DPNMF_ASSIGN_OR_RETURN(
      std::vector<std::int64_t> moments,
      ComputeAimedMoments(
          context.data, {&input.w, input.numbers.at(0), input.rows},
          context.plan.data_bound, context.plan.data_bits, context.execution));
  sums.parts.push_back(std::move(moments));
  return sums;
}

RoundMemory MemoryOfAimed(const RunParameters& parameters,
                          const DatasetDescription& data, int threads) {
  return {.computing = AimedMomentsBytes(
              parameters.moment_rows, data.features, kMostAimDirections,
              LargestUserCount(FactsOf(data)), threads)};
}

void NarrowToAimedRows(const RoundInput& input, std::vector<PartPlan>* parts) {
  if (!input.rows.empty())
    parts->at(0).rows = parts->at(0).columns = input.rows.size();
}

constexpr ReleaseKind kReleases[] = {{.name = "aimed",
                                      .check = CheckAim,
                                      .sums = SumsOfAimed,
                                      .publish = PublishAll,
                                      .memory = MemoryOfAimed,
                                      .narrow = NarrowToAimedRows}};

}  // namespace

extern const Mechanism kAimedMechanism = {"aimed", kReleases};

}  // namespace dpnmf::curator
