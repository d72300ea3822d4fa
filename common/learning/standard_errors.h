// How far the noise of a release may have moved W: entry by entry, from stored
// released values and public numbers. Free, as all post-processing.
#ifndef DPNMF_COMMON_LEARNING_STANDARD_ERRORS_H_
#define DPNMF_COMMON_LEARNING_STANDARD_ERRORS_H_

#include <functional>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/learning/mechanism.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// FAILED_PRECONDITION "errors-unavailable" but for completed runs that end with
// moments, aimed or statistics.
absl::Status CheckHasStandardErrors(const v1::Run& run);

// Standard errors of a completed run (D x K): 16 draws of the noise around the
// denoised release (DictionaryStandardErrors, all cores), or around the
// averages of A and B (StatisticsStandardErrors). They are themselves uncertain
// by about a fifth. Errors of CheckHasStandardErrors; "errors-unavailable" too
// if the mean was lost; DATA_LOSS "state-damaged"; CANCELLED "cancelled" once
// `stopped` says so.
absl::StatusOr<Eigen::MatrixXd> StandardErrors(
    const v1::Run& run, const LearnerState& state,
    const std::function<bool()>& stopped);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_STANDARD_ERRORS_H_
