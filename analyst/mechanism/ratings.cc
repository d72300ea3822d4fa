// "ratings": what is released of ratings with masks.
#include "analyst/mechanism/mechanism.h"
#include "common/base/error.h"

namespace dpnmf::analyst {
namespace {

absl::Status Update(const std::vector<NoisedMatrix>&, const RoundFacts&,
                    LearnerState*) {
  return Refusal(absl::StatusCode::kInvalidArgument, "release-malformed",
                 "This release cannot be learnt from.");
}

constexpr ReleaseKind kReleases[] = {
    {.name = "items", .input = SendNothing, .update = Update},
    {.name = "co-ratings", .input = SendNothing, .update = Update},
    {.name = "profiles", .input = SendNothing, .update = Update},
    {.name = "residuals", .input = SendNothing, .update = Update},
    {.name = "corrections", .input = SendNothing, .update = Update}};

}  // namespace

extern const Mechanism kRatingsMechanism = {.name = "ratings",
                                            .fill_defaults = FillDefaultRounds,
                                            .releases = kReleases};

}  // namespace dpnmf::analyst
