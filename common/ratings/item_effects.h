// Counts and effects of items from the noised sums of `items`. Post-processing.
#ifndef DPNMF_COMMON_RATINGS_ITEM_EFFECTS_H_
#define DPNMF_COMMON_RATINGS_ITEM_EFFECTS_H_

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// Evidence about D items. c_i: the item's count (a sum of weights w over its
// ratings), b_i: its effect, in units of ratings.
//   counts_i = c_i + N(0, counts_stddev^2)
//   sums_i   = b_i c_i + N(0, sums_stddev^2 + sampling c_i)
//   second_i = c_i + N(0, second_stddev_i^2 + (second_error c_i)^2)
struct ItemEvidence {
  Eigen::VectorXd counts, sums;  // D
  double counts_stddev = 1, sums_stddev = 1;
  double sampling = 0;  // variance of a rating about its item times the weight
  Eigen::VectorXd second, second_stddev;  // D, or empty; an infinite deviation
                                          // where nothing is known
  double second_error = 0.15;
  Eigen::MatrixXd features;  // D x p, entries of size about 1; p >= 0
  double unit = 1;           // effects are of this size at most
};

// Posterior moments; all D.
struct ItemEffects {
  Eigen::VectorXd counts;      // E(c_i) > 0
  Eigen::VectorXd log_counts;  // E(log c_i)
  Eigen::VectorXd effects;     // E(b_i)
  Eigen::VectorXd variances;   // Var(b_i)
};

// Empirical Bayes with the features as covariates of both:
//   log c_i = m_i + z_i,  m_i = (1, features_i)' eta,  z_i ~ a density fitted
//             without a form (Kiefer and Wolfowitz 1956) on a grid;
//   b_i ~ N((1, features_i)' beta + gamma log c_i, v_b).
// The posterior is exact over a grid of 60 counts; eta, beta, gamma, v_b and
// the density are fitted by EM on at most 16,384 items, evenly spaced.
// Deviations are at least 0; D >= 1.
ItemEffects EstimateItems(const ItemEvidence& evidence, const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_ITEM_EFFECTS_H_
