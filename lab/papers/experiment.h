// The publication's experiments on any ratings: the grid of weights, and a
// table that grows row by row or column by column. Without privacy.
#ifndef DPNMF_LAB_PAPERS_EXPERIMENT_H_
#define DPNMF_LAB_PAPERS_EXPERIMENT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/complete/completion.h"
#include "lab/complete/measures.h"
#include "lab/complete/svd.h"

namespace dpnmf::curator::lab {

// Told before each step: what it is, its number and how many there are.
using ExperimentProgress =
    std::function<void(const std::string& title, int number, int count)>;

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

struct ExperimentOptions {
  CompletionOptions completion;
  int svd_rank = 13;
  std::vector<int> splits;  // per cent that are there at first, each 1 to 99
  int step = 100;           // rows or columns of each update
};

struct ExperimentPoint {
  std::string part;       // "whole", "split" or "weights"
  std::string direction;  // "rows", "columns"; "" of "whole"
  std::string method;     // "aux-nmf", "svd"
  int split = 100;
  AuxWeights weights;  // of aux-nmf
  double fit_seconds = 0;
  double update_seconds = 0;
  CompletionMeasures measures;
};

// "whole": table III. "split": figures 3 to 5, at each split. "weights": tables
// IV to VI, at 40 %. Each from one start. INVALID_ARGUMENT of FitCompletion and
// MeanImputedSvd; CANCELLED "cancelled".
absl::StatusOr<std::vector<ExperimentPoint>> RunExperiment(
    const CompletionInput& input, const SparseRatings& test,
    const ExperimentOptions& options, Draws* draws,
    const std::function<bool()>& stop, const ExperimentProgress& progress);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_PAPERS_EXPERIMENT_H_
