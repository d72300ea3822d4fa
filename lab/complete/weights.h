// Choice of the weights of a completion on held-out ratings. Without privacy.
#ifndef DPNMF_LAB_COMPLETE_WEIGHTS_H_
#define DPNMF_LAB_COMPLETE_WEIGHTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lab/complete/completion.h"
#include "lab/complete/measures.h"

namespace dpnmf::curator::lab {

// Told before each step: what it is, its number and how many there are.
using ExperimentProgress =
    std::function<void(const std::string& title, int number, int count)>;

// CANCELLED "cancelled" once `stop` says so.
absl::Status CheckNotStopped(const std::function<bool()>& stop);

// Grid of weights of steps of .1: 66; fewer where a side has no clusters, whose
// weight is then 0.
std::vector<AuxWeights> WeightGrid(bool people_clusters, bool item_clusters);

struct GridPoint {
  AuxWeights weights;
  double mae = kNotMeasured;
};

// Each setting from the same start and the same clusters, learned from the
// ratings less a drawn share, and judged on that share: the publication judges
// its settings on the test ratings, which then say too little about others.
// CANCELLED "cancelled".
absl::StatusOr<std::vector<GridPoint>> JudgeWeights(
    const CompletionInput& input, const CompletionOptions& options,
    double holdout, Draws* draws, const std::function<bool()>& stop,
    const ExperimentProgress& progress);
// The one of least error, the first of several.
const GridPoint& BestOf(const std::vector<GridPoint>& grid);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_WEIGHTS_H_
