// Kinds of release. A mechanism says what is published of the noised sums of a
// round; a further kind is one file here, one on the analyst's side and one row
// in the table below.
#ifndef DPNMF_CURATOR_MECHANISM_MECHANISM_H_
#define DPNMF_CURATOR_MECHANISM_MECHANISM_H_

#include <string_view>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "curator/release/release_gate.h"

namespace dpnmf::curator {

// Makes the post-processing of one round. w: D x K, the request's dictionary.
// The function sees noised values and the request alone.
using MechanismFactory = PostProcess (*)(const Eigen::MatrixXd& w);

// Publishes the noised A and B as they are.
PostProcess StatisticsMechanism(const Eigen::MatrixXd& w);
// Publishes W S_A - S_B of the noised sums, and nothing else.
PostProcess GradientMechanism(const Eigen::MatrixXd& w);

// INVALID_ARGUMENT "mechanism-unknown".
absl::StatusOr<MechanismFactory> FindMechanism(std::string_view name);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MECHANISM_MECHANISM_H_
