#include "lab/complete/weights.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "common/base/error.h"

namespace dpnmf::curator::lab {

absl::Status CheckNotStopped(const std::function<bool()>& stop) {
  if (!stop || !stop()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "The experiment was interrupted; nothing was written.");
}

std::vector<AuxWeights> WeightGrid(bool people_clusters, bool item_clusters) {
  std::vector<AuxWeights> grid;
  for (int alpha = 0; alpha <= 10; ++alpha) {
    for (int beta = 0; alpha + beta <= 10; ++beta) {
      const int gamma = 10 - alpha - beta;
      if ((beta > 0 && !people_clusters) || (gamma > 0 && !item_clusters))
        continue;
      grid.push_back({alpha / 10.0, beta / 10.0, gamma / 10.0});
    }
  }
  return grid;
}

absl::StatusOr<std::vector<GridPoint>> JudgeWeights(
    const CompletionInput& input, const CompletionOptions& options,
    double holdout, Draws* draws, const std::function<bool()>& stop,
    const ExperimentProgress& progress) {
  CompletionInput learned = input;
  learned.ratings = SparseRatings{.columns = input.ratings.columns};
  SparseRatings held{.columns = input.ratings.columns};
  for (Eigen::Index row = 0; row < input.ratings.rows(); ++row) {
    for (std::size_t at = input.ratings.Begin(row);
         at < input.ratings.Begin(row + 1); ++at) {
      SparseRatings& to = draws->Uniform() < holdout ? held : learned.ratings;
      to.indices.push_back(input.ratings.indices[at]);
      to.values.push_back(input.ratings.values[at]);
    }
    held.EndRow();
    learned.ratings.EndRow();
  }
  if (held.size() == 0 || learned.ratings.size() == 0) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "complete-nothing-held-out",
                   "The held-out share leaves nothing to learn from or "
                   "nothing to judge by: give more ratings, or another "
                   "--holdout.");
  }
  const std::vector<AuxWeights> settings =
      WeightGrid(input.of_people.has_clusters(), input.of_items.has_clusters());
  const std::uint64_t seed = draws->Bits();
  std::vector<GridPoint> grid;
  for (const AuxWeights& weights : settings) {
    DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
    progress(absl::StrFormat("%g, %g, %g", weights.ratings, weights.people,
                             weights.items),
             static_cast<int>(grid.size()) + 1,
             static_cast<int>(settings.size()));
    CompletionOptions setting = options;
    setting.weights = weights;
    Draws same(seed);
    DPNMF_ASSIGN_OR_RETURN(const FitOutcome fit,
                           FitCompletion(learned, setting, &same));
    const std::vector<double> errors =
        AbsoluteErrors(held, fit.completion.Rows());
    double sum = 0;
    for (const double error : errors) sum += error;
    grid.push_back({weights, sum / static_cast<double>(errors.size())});
  }
  return grid;
}

const GridPoint& BestOf(const std::vector<GridPoint>& grid) {
  return *std::min_element(
      grid.begin(), grid.end(),
      [](const GridPoint& a, const GridPoint& b) { return a.mae < b.mae; });
}

}  // namespace dpnmf::curator::lab
