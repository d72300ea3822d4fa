// The noise of a sum that several curators release together: each draws a share
// of it, and what is priced is the noise of those who are honest.
//
// With m curators, at most t of them on the analyst's side and h = m - t, each
// draws noise of deviation sigma_i with h sigma_i^2 >= (s sigma)^2, where sigma
// is that of one curator with everybody's data and s the number of curators in
// whose data a person may be. The masked sum then costs
//   mu^2 = s^2 Delta^2 / (h sigma_i^2) <= Delta^2 / sigma^2
// against an analyst with at most t curators on its side
// (docs/reference/federation.md, "Theorem").
#ifndef DPNMF_COMMON_PRIVACY_NOISE_SHARES_H_
#define DPNMF_COMMON_PRIVACY_NOISE_SHARES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"

namespace dpnmf {

// A share is at least so many steps: the rounding of h shares is then uniform
// but for h 10^-273 (docs/reference/federation.md, "Theorem").
inline constexpr std::uint64_t kLeastShareSteps = 8;
// Largest number of honest curators, of members and of copies.
inline constexpr std::uint32_t kMostShares = 64;

// Who else draws what a round draws. {1, 1}: one curator, no other.
struct NoiseShares {
  std::uint32_t honest = 1;  // h; 1 to kMostShares
  std::uint32_t copies = 1;  // s; 1 to kMostShares

  friend bool operator==(const NoiseShares&, const NoiseShares&) = default;
};

// The parts as CostOfDrawing must see them for the price of `shares`:
// deviations floor(sqrt(h) sigma_i), so that the price is rounded up, and norms
// times s^2. {1, 1} gives the parts as they are. INTERNAL "plan-invalid" if a
// share is above 2^50 steps, or below kLeastShareSteps where h > 1.
absl::StatusOr<std::vector<PartPlan>> PricedParts(std::vector<PartPlan> parts,
                                                  NoiseShares shares);

// Returns the plan of one curator's draws, from the plan of one curator with
// everything: the smallest sigma_i, at least kLeastShareSteps; costs by
// PricedParts. INVALID_ARGUMENT "noise-out-of-range" if a deviation is above
// 2^50 steps; INTERNAL "plan-invalid" if a count is out of range.
absl::StatusOr<RunPlan> ShareOfPlan(RunPlan plan, Adjacency adjacency,
                                    NoiseShares shares);

// A share's plan with the noise that the sum of `members` of them has, for
// whoever learns from it: floor(sqrt(members) sigma_i). The costs stay.
RunPlan SumOfShares(RunPlan share, std::uint32_t members);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_NOISE_SHARES_H_
