#include "lab/complete/private_rows.h"

#include <array>
#include <utility>

#include "common/base/error.h"
#include "common/base/stopwatch.h"
#include "lab/ratings/private_run.h"

namespace dpnmf::curator::lab {
absl::StatusOr<std::vector<CompletionResult>> PrivateResults(
    const LoadedCompletion& loaded, const PrivateRowsOptions& options,
    Draws* draws, const std::function<bool()>& stop) {
  std::vector<CompletionResult> results;
  if (options.epsilon.empty()) return results;
  if (!loaded.scale_declared) {
    return Refusal(absl::StatusCode::kInvalidArgument, "complete-range-missing",
                   "`--epsilon` needs --rating-range: a private release may "
                   "not take the range from the ratings.");
  }
  RatingScale scale = loaded.scale;
  const Eigen::MatrixXd features =
      loaded.input.of_items.has_features()
          ? loaded.input.of_items.features
          : Eigen::MatrixXd(loaded.input.ratings.columns, 0);
  scale.item_features = static_cast<std::uint32_t>(features.cols());
  const RatingTable table = ToRatingTable(loaded.input.ratings, scale);
  Execution execution;
  execution.threads = options.threads;
  execution.stop = stop;
  for (const double epsilon : options.epsilon) {
    for (const bool whole : {false, true}) {
      const Stopwatch watch;
      PrivateRunOptions run;
      run.epsilon = epsilon;
      run.delta = options.delta;
      run.users = table.people();
      if (!whole) run.shares = {1, 0, 0, 0, 0};
      run.seed = draws->Bits();
      const std::array<WeightedPeople, 1> everybody = {{{&table, 1}}};
      DPNMF_ASSIGN_OR_RETURN(PrivateRun learned,
                             RunPrivately(everybody, features, run, execution));
      const Recommender recommender = RecommenderOf(std::move(learned.model));
      CompletionResult result;
      result.method = whole ? "dp-ratings" : "dp-item-effects";
      result.epsilon = epsilon;
      result.measures =
          Measure(loaded.input.ratings, loaded.test, [&](Eigen::Index row) {
            const auto person = static_cast<std::size_t>(row);
            return recommender(person, table.Of(person)).ratings;
          });
      result.seconds = watch.Seconds();
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace dpnmf::curator::lab
