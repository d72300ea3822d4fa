// Methods without privacy, for comparison. Exact functions of the ratings:
// nothing here may be released.
#ifndef DPNMF_LAB_RATINGS_BASELINES_H_
#define DPNMF_LAB_RATINGS_BASELINES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "curator/factor/statistics.h"
#include "lab/ratings/metrics.h"
#include "lab/ratings/rating_table.h"

namespace dpnmf::curator::lab {

// Every rating is the mean of all; no lists.
Recommender MeanOfAll(const RatingTable& train);

// Lists by the number of ratings; no ratings.
Recommender Popularity(const RatingTable& train);

// mean + b_i + x_u, the least squares with ridges of 3 ratings for an item and
// 2 for a person, in turn until nothing changes; the person's x_u from its own
// ratings. Lists by the predicted rating.
Recommender Biases(const RatingTable& train);

// Biased matrix factorisation by alternating least squares with weighted
// regularisation (Zhou, Wilkinson, Schreiber and Pan 2008):
//   sum (r - mean - b_i - x_u - f_i h_u)^2
//     + l sum_i n_i |f_i|^2 + l sum_u n_u |h_u|^2 + ridges of b and x as above.
// The person's x and h from its own ratings. Lists by the predicted rating.
// CANCELLED "cancelled".
struct AlsOptions {
  int factors = 16;
  // l; 0: the one of .06, .09 and .13 that predicts a tenth of the ratings best
  // from the others, with half the rounds.
  double regularisation = 0;
  int rounds = 15;
  std::uint64_t seed = 1;
};
absl::StatusOr<Recommender> Als(const RatingTable& train,
                                const AlsOptions& options,
                                const Execution& execution);

// EASE (Steck 2019): G = X'X over the people's masks, P = (G + l I)^-1,
// score_j = sum over own items i of -P_ij / P_jj, i != j. Lists alone.
// INVALID_ARGUMENT "evaluate-too-many-items" above kMostEaseItems: it works on
// a matrix of D x D.
inline constexpr std::uint64_t kMostEaseItems = 4096;
inline constexpr double kEaseRegularisation = 300;
absl::StatusOr<Recommender> Ease(const RatingTable& train,
                                 double regularisation,
                                 const Execution& execution);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_BASELINES_H_
