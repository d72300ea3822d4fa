// A run of the mechanism `ratings` in process (evaluate/product_run.h).
//
// RESEARCH ONLY: the noise is seeded (seeded_noise.h), and nothing is charged.
#ifndef DPNMF_LAB_RATINGS_PRIVATE_RUN_H_
#define DPNMF_LAB_RATINGS_PRIVATE_RUN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"
#include "common/ratings/item_model.h"
#include "curator/factor/statistics.h"
#include "lab/ratings/metrics.h"
#include "lab/ratings/rating_table.h"

namespace dpnmf::curator::lab {

struct PrivateRunOptions {
  double epsilon = 1;
  double delta = 1e-5;
  Conversion conversion = Conversion::kGaussian;
  Adjacency adjacency = Adjacency::kReplaceOne;
  std::uint64_t users = 0;  // N, or N0 under add_remove_one
  // 0 or empty: what FillRatingsDefaults chooses.
  std::uint32_t rank = 0, rounds = 0, moment_rows = 0, profile_directions = 0;
  std::vector<double> shares = {};
  bool non_negative = false;  // RatingsFacts::non_negative
  std::uint64_t seed = 1;
};

// People whose contributions are multiplied by a public weight of (0, 1] after
// the gate; all of weight 1: the mechanism as it is.
struct WeightedPeople {
  const RatingTable* ratings = nullptr;
  double weight = 1;
};

struct PrivateRun {
  RunParameters parameters;  // with what was chosen
  RunPlan plan;
  ItemModel model;
  double seconds = 0;
};

// Checks that there is a plan for the ratings of options.users people. Errors
// of PlanRun.
absl::Status CheckPrivateRun(const RatingTable& ratings,
                             const PrivateRunOptions& options);

// item_features: D x p. The noise of a release is drawn once, for the weighted
// sum over all groups. With weights below 1 the learner counts sum of weights
// people. Errors of PlanRun, RatingsInput and RatingsUpdate; CANCELLED
// "cancelled".
absl::StatusOr<PrivateRun> RunPrivately(std::span<const WeightedPeople> groups,
                                        const Eigen::MatrixXd& item_features,
                                        const PrivateRunOptions& options,
                                        const Execution& execution);

// Each person's own solve (common/ratings/person.h).
Recommender RecommenderOf(ItemModel model);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_PRIVATE_RUN_H_
