#include "common/privacy/noise_shares.h"

#include <algorithm>
#include <optional>

#include "common/base/error.h"
#include "common/privacy/integer_root.h"

namespace dpnmf {
namespace {

constexpr std::uint64_t kLargestShareSteps = std::uint64_t{1} << 50;

// Deviation on the diagonal, as PlanRun computes it: the smallest that is at
// least sqrt(2) times the other; 0 if the part is not symmetric.
std::uint64_t DiagonalOf(const PartPlan& part) {
  return part.symmetric ? CeilRoot(2 * SquareOf(part.stddev_steps)) : 0;
}

bool IsCount(std::uint32_t count) { return 1 <= count && count <= kMostShares; }

absl::Status SharesInvalid() {
  return Refusal(absl::StatusCode::kInternal, "plan-invalid",
                 "The shares of the noise are out of range; this is a fault of "
                 "the program.");
}

absl::Status SetCosts(Adjacency adjacency, NoiseShares shares, RunPlan* plan) {
  plan->cost = MuSquared();
  for (StagePlan& stage : plan->stages) {
    DPNMF_ASSIGN_OR_RETURN(const std::vector<PartPlan> priced,
                           PricedParts(stage.parts, shares));
    DPNMF_ASSIGN_OR_RETURN(stage.cost_per_round,
                           CostOfDrawing(priced, adjacency));
    const auto all = MuSquared::Multiply(stage.cost_per_round, stage.rounds);
    const auto sum =
        all.has_value() ? MuSquared::Add(plan->cost, *all) : std::nullopt;
    if (!sum.has_value()) return SharesInvalid();
    plan->cost = *sum;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<PartPlan>> PricedParts(std::vector<PartPlan> parts,
                                                  NoiseShares shares) {
  if (shares == NoiseShares{}) return parts;
  if (!IsCount(shares.honest) || !IsCount(shares.copies))
    return SharesInvalid();
  const std::uint64_t copies_squared =
      std::uint64_t{shares.copies} * shares.copies;
  for (PartPlan& part : parts) {
    const bool in_range =
        kLeastShareSteps <= part.stddev_steps &&
        part.stddev_steps <= kLargestShareSteps &&
        (!part.symmetric || SquareOf(part.diagonal_stddev_steps) >=
                                2 * SquareOf(part.stddev_steps));
    if (!in_range ||
        __builtin_mul_overflow(part.left_norm_steps, copies_squared,
                               &part.left_norm_steps)) {
      return SharesInvalid();
    }
    part.stddev_steps = FloorRoot(shares.honest * SquareOf(part.stddev_steps));
    part.diagonal_stddev_steps = DiagonalOf(part);
  }
  return parts;
}

absl::StatusOr<RunPlan> ShareOfPlan(RunPlan plan, Adjacency adjacency,
                                    NoiseShares shares) {
  if (!IsCount(shares.honest) || !IsCount(shares.copies))
    return SharesInvalid();
  for (StagePlan& stage : plan.stages) {
    for (PartPlan& part : stage.parts) {
      // (s sigma)^2 <= h sigma_i^2: sigma_i^2 is at least the quotient, rounded
      // up. sigma <= 2^50 and s <= 2^6, so the square is below 2^113.
      const Uint128 wanted = SquareOf(part.stddev_steps * shares.copies);
      const Uint128 quotient = (wanted + shares.honest - 1) / shares.honest;
      part.stddev_steps = std::max(kLeastShareSteps, CeilRoot(quotient));
      part.diagonal_stddev_steps = DiagonalOf(part);
      if (std::max(part.stddev_steps, part.diagonal_stddev_steps) >
          kLargestShareSteps) {
        return Refusal(absl::StatusCode::kInvalidArgument, "noise-out-of-range",
                       "The noise would exceed what the sums can hold: raise "
                       "`epsilon` or `delta`, or lower `rounds`.");
      }
    }
  }
  DPNMF_RETURN_IF_ERROR(SetCosts(adjacency, shares, &plan));
  return plan;
}

RunPlan SumOfShares(RunPlan share, std::uint32_t members) {
  for (StagePlan& stage : share.stages) {
    for (PartPlan& part : stage.parts) {
      part.stddev_steps = FloorRoot(members * SquareOf(part.stddev_steps));
      part.diagonal_stddev_steps =
          FloorRoot(members * SquareOf(part.diagonal_stddev_steps));
    }
  }
  return share;
}

}  // namespace dpnmf
