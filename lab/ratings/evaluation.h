// All trials of an evaluation of ratings, and what came of them.
#ifndef DPNMF_LAB_RATINGS_EVALUATION_H_
#define DPNMF_LAB_RATINGS_EVALUATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"
#include "lab/ratings/metrics.h"
#include "lab/ratings/options.h"
#include "lab/ratings/published.h"
#include "lab/ratings/rating_table.h"

namespace dpnmf::curator::lab {

struct RatingsResult {
  RatingsMethod method = RatingsMethod::kMean;
  double epsilon = std::numeric_limits<double>::quiet_NaN();  // NaN: none
  std::uint32_t repeat = 1;
  Metrics metrics;
  double seconds = 0;  // of learning; people's own solves are not among them
  double epsilon_per_round = 0;  // of the published algorithm
};

// One run of the published algorithm's study.
struct StudyRun {
  std::string study;  // "rounds", "epsilon", "n", "step"
  PublishedOptions options;
  PublishedRun run;  // without its profiles
};

// Plan of the mechanism for one epsilon, from public numbers.
struct PlanOfEpsilon {
  double epsilon = 0;
  RunParameters parameters;
  RunPlan plan;
};

struct RatingsEvaluation {
  std::string name;  // of the ratings' file, without its folder
  std::uint64_t items = 0, features = 0, people = 0, users = 0, ratings = 0;
  std::uint64_t replaced = 0, unlisted = 0;  // lines, as import says them
  std::vector<RatingsResult> results;
  std::vector<PlanOfEpsilon> plans;
  std::vector<StudyRun> study;
  std::size_t planned = 0;  // trials and runs of the study
  bool complete() const { return results.size() + study.size() == planned; }
};

struct RatingsHooks {
  // Before each trial, with its number from 1 and what it is.
  std::function<void(std::size_t number, std::size_t planned,
                     const std::string& title)>
      before_trial;
  // After each; what it returns ends the evaluation.
  std::function<absl::Status(const RatingsEvaluation&)> after_trial;
  std::function<bool()> stop;  // asked now and then
};

// Ratings and what is public about the items.
struct RatingsData {
  RatingTable table;  // a row for each person, also for those without ratings
  Eigen::MatrixXd item_features;  // D x p
  std::uint64_t users = 0;        // N
};

// Loads the files and runs everything. Each trial has a seed of its own, made
// of the seed, the repeat and the method: a figure does not depend on what else
// is run. Repeats have splits of their own, the same for all methods. Errors of
// CheckEvaluateRatingsOptions, of the readers, of HoldOut and of the methods.
// If hooks.stop said so, what was done until then.
absl::StatusOr<RatingsEvaluation> EvaluateRatings(
    const EvaluateRatingsOptions& options, const RatingsHooks& hooks);
// The same with data that are loaded already.
absl::Status EvaluateRatings(const EvaluateRatingsOptions& options,
                             const RatingsHooks& hooks, const RatingsData& data,
                             RatingsEvaluation* evaluation);

// Over the repeats of a method and an epsilon: medians.
struct RatingsSummary {
  RatingsMethod method = RatingsMethod::kMean;
  double epsilon = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t repeats = 0;
  Metrics median, least, largest;  // without groups, but for `median`
  double seconds = 0;
};
std::vector<RatingsSummary> Summarise(const RatingsEvaluation& evaluation);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_EVALUATION_H_
