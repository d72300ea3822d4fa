// Model of the items that a run of `ratings` learns. The model is a
// function of released values and public facts only, so it may be published.
#ifndef DPNMF_COMMON_RATINGS_ITEM_MODEL_H_
#define DPNMF_COMMON_RATINGS_ITEM_MODEL_H_

#include "Eigen/Core"

namespace dpnmf {

// D items. A person's rating of item i is
//   base(i) + loadings.row(i) . h + e,   h ~ N(0, I),   e ~ N(0, s^2),
// in units of ratings; h is solved for each person from the own ratings alone
// (common/ratings/person.h).
//
// Non-negative models (level > 0, common/ratings/parts.h): loadings >= 0, and
// h_k >= -level after the bias. H_k = h_k + level >= 0 is how much of part k a
// person has; most people have about `level` of each.
struct ItemModel {
  double low = 0, high = 0;     // the declared range of ratings
  double residual_stddev = 1;   // s > 0
  Eigen::VectorXd base;         // D: global mean and item effect
  Eigen::VectorXd base_stddev;  // D: standard error of the item effect
  Eigen::MatrixXd loadings;     // D x q; the first column: the person's bias
  Eigen::MatrixXd ranking;      // D x k: loadings of what is rated; k >= 0
  Eigen::VectorXd popularity;   // D: at least 0; counts, denoised
  Eigen::VectorXd counts;       // D: as released, sum of 1 / sqrt(n), any sign
  Eigen::VectorXd counts_stddev;  // D: standard error of the release
  double level = 0;               // 0: h may have any sign
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_ITEM_MODEL_H_
