// The published algorithm as published (Mugdho and Imtiaz, "Privacy-Preserving
// Matrix Factorization for Recommendation Systems using Gaussian Mechanism",
// arXiv 2304.09096): algorithm 1, its calibration and its accounting.
//
// RESEARCH ONLY, and no guarantee at any epsilon:
//  - the noise is seeded (seeded_noise.h);
//  - the proof of its Theorem 2 holds X (the items' profiles) fixed between
//    neighbours. Algorithm 1 updates X from the ratings without noise, so from
//    the second round on the gradient of Theta moves by more than tau C, and
//    no round charges what X carries;
//  - neighbours differ in the value of one rating. Who has rated what is
//    public, and a person with n ratings has n times the claimed epsilon.
#ifndef DPNMF_LAB_RATINGS_PUBLISHED_H_
#define DPNMF_LAB_RATINGS_PUBLISHED_H_

#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "curator/factor/statistics.h"
#include "lab/ratings/metrics.h"
#include "lab/ratings/split.h"

namespace dpnmf::curator::lab {

using ProfileMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// --- calibration and accounting, its equations (6) to (9)

// The publication's delta of a round and bound C of a profile's length.
inline constexpr double kPublishedDelta = 0.01;
inline constexpr double kPublishedClip = 1;

// sigma = (tau C / epsilon) sqrt(2 log(1.25 / delta)); tau: high - low.
double PublishedStddev(double range, double clip, double epsilon_per_round,
                       double delta);

// epsilon_opt = q + 2 sqrt(q log(1/delta_r)),
// q = J epsilon_i^2 / (4 log(1.25/delta)), J rounds.
double PublishedOverallEpsilon(double epsilon_per_round, std::uint32_t rounds,
                               double delta, double overall_delta);

// The epsilon of a round whose overall epsilon is `overall`.
double PublishedEpsilonPerRound(double overall, std::uint32_t rounds,
                                double delta, double overall_delta);

// --- the algorithm

struct PublishedOptions {
  int profile_length = 20;       // n
  double step = 5e-4;            // mu
  double regularisation = 0.01;  // lambda; the publication names none
  double clip = kPublishedClip;  // C
  double delta = kPublishedDelta;
  double overall_delta = 1e-5;   // delta_r
  double epsilon_per_round = 0;  // 0: no noise
  std::uint32_t rounds = 300;    // at most
  // The publication says "while not converged" and names no rule. This one: the
  // RMSE over what is learned from, not clipped, has not fallen by a thousandth
  // of itself within ten rounds. Off: all rounds.
  bool stop_when_converged = false;
  std::uint64_t seed = 1;
};

// The two gradients of (4) and (5), on the observed entries E = (X Theta' - V)
// o R:  E Theta_C + lambda X  and  E' X_C + lambda Theta, where the rows of
// Theta_C and X_C are shortened to length C.
struct PublishedGradients {
  ProfileMatrix x;      // D x n
  ProfileMatrix theta;  // people x n
};
PublishedGradients GradientsOf(const RatingTable& train, const ByItem& by_item,
                               const ProfileMatrix& x,
                               const ProfileMatrix& theta,
                               double regularisation, double clip, int threads);

struct PublishedRound {
  std::uint32_t round = 0;                   // 0: the random start
  double train_rmse = 0, held_out_rmse = 0;  // clipped to the range
  double claimed_epsilon = 0;                // so far; 0 without noise
};

struct PublishedRun {
  ProfileMatrix x, theta;
  std::uint32_t rounds = 0;      // done
  bool diverged = false;         // ended by numbers that are not finite
  double seconds_per_round = 0;  // of the steps alone
  std::vector<PublishedRound> curve;
};

// Algorithm 1 on split.train. `curve`: every `curve_every` rounds and the last;
// 0: none. held_out_rmse needs split.same_people(), else it is NaN. A round
// whose result is not finite is not kept. CANCELLED "cancelled".
absl::StatusOr<PublishedRun> RunPublished(const Split& split,
                                          const PublishedOptions& options,
                                          std::uint32_t curve_every,
                                          const Execution& execution);

// Ratings X theta_u; lists by them. Of people that it was trained with alone.
Recommender RecommenderOf(PublishedRun run);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_RATINGS_PUBLISHED_H_
