// The experiments of Aux-NMF's publication on any ratings: a table that grows
// row by row or column by column. Without privacy.
#ifndef DPNMF_LAB_PAPERS_AUX_NMF_H_
#define DPNMF_LAB_PAPERS_AUX_NMF_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lab/complete/completion.h"
#include "lab/complete/measures.h"
#include "lab/complete/svd.h"
#include "lab/complete/weights.h"

namespace dpnmf::curator::lab {

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

#endif  // DPNMF_LAB_PAPERS_AUX_NMF_H_
