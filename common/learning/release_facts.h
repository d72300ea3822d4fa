// Facts about the parts of a paid release and about their number. Free, as all
// post-processing; it takes seconds to minutes of all cores.
#ifndef DPNMF_COMMON_LEARNING_RELEASE_FACTS_H_
#define DPNMF_COMMON_LEARNING_RELEASE_FACTS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "common/learning/mechanism.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// One entry for each column of the stored W (PartFactsOf, 8 draws of the
// noise). FAILED_PRECONDITION "errors-unavailable" but for completed runs with
// a release of second moments; DATA_LOSS "state-damaged"; CANCELLED "cancelled"
// once `stopped` says so.
absl::StatusOr<v1::PartsReply> PartsOf(const v1::Run& run,
                                       const LearnerState& state,
                                       const std::function<bool()>& stopped);
absl::Status CheckHasParts(const v1::Run& run, const LearnerState& state);

// Calls write(reply) with the progress, then with the facts of each rank, then
// with the words of each rank if requested, then with the choice; ends early
// once it returns false. FAILED_PRECONDITION "release-missing";
// INVALID_ARGUMENT "ranks-out-of-range", "seeds-out-of-range",
// "words-out-of-range"; DATA_LOSS and CANCELLED as above.
absl::Status WriteRankChoice(
    const v1::Run& run, const LearnerState& state,
    const v1::ChooseRankRequest& request, const std::function<bool()>& stopped,
    const std::function<bool(const v1::ChooseRankReply&)>& write);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_RELEASE_FACTS_H_
