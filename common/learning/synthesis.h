// Synthetic people from what a run has released: post-processing, free, as
// often as asked for.
#ifndef DPNMF_COMMON_LEARNING_SYNTHESIS_H_
#define DPNMF_COMMON_LEARNING_SYNTHESIS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "common/learning/mechanism.h"
#include "common/threads/stop.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// Gives `emit` the replies of AnalystService.Synthesise in order: a header,
// then batches of people, each after its labels if there are classes. The same
// request of the same run gives the same people. Ends with OK once `emit`
// returns false.
//
// From a release of classes: a Gaussian for each class
// (common/moments/class_model.h), people shared among the classes by their
// sizes in every batch, in random order. From a second moment:
// common/moments/people_model.h; features without a second moment (M < D) are
// the posterior mean of their released mean, in the proportion of the person's
// other features to theirs. People are bounded as the data set's columns are,
// and within its declared range, rounded where that declares whole numbers.
//
// INVALID_ARGUMENT "count-out-of-range"; FAILED_PRECONDITION "release-missing";
// DATA_LOSS "state-damaged"; CANCELLED "cancelled" once `stop` says so.
absl::Status SynthesisePeople(
    const v1::SynthesiseRequest& request, const v1::Run& run,
    const LearnerState& state, const v1::Dataset& dataset, const Stop& stop,
    const std::function<bool(const v1::SynthesiseReply&)>& emit);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_SYNTHESIS_H_
