// Empirical Bayes for loadings from what people's profiles say: the prior's
// covariance (`profiles`), hidden factors (`residuals`), corrections of items
// (`corrections`). Post-processing.
#ifndef DPNMF_COMMON_RATINGS_PROFILES_H_
#define DPNMF_COMMON_RATINGS_PROFILES_H_

#include <vector>

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// One step of EM for the covariance of h, whose prior is N(0, I): the mean of
// h h' + posterior covariance over people with noise (stddev off the diagonal,
// sqrt 2 of it on it), shrunk toward 1 on the diagonal and 0 beside it. For
// each group of columns one multiplier about 1; deviations of its entries from
// that, its other entries, and those that two groups share are shrunk as normal
// with the variance that they show beyond their noise. group(k) >= 0: k's
// group. Positive definite.
Eigen::MatrixXd PriorCovariance(const Eigen::MatrixXd& mean, double stddev,
                                const Eigen::VectorXi& group,
                                const Stop& stop = {});

// Factors F (M x k) with S_ij ~ C_ij F_i.F_j off the diagonal, weighted least
// squares with a prior for each column; k: directions of S above its noise, at
// most `most`; none: M x 0. c: denoised, entries >= 0; sampling: variance of
// S_ij - C_ij F_i.F_j without noise, divided by C_ij.
Eigen::MatrixXd ResidualFactors(const Eigen::MatrixXd& s, double stddev,
                                const Eigen::MatrixXd& c, double sampling,
                                Eigen::Index most, const Stop& stop = {});

// B_i = counts_i A d_i + N(0, stddev^2 I + sampling counts_i A), rows B_i of b
// (D x k). d_i ~ N(0, diag(v)), the first variance times first_scale_i; v is
// fitted to all rows by EM. A: mean of h h' over people, with noise of
// deviation a_stddev; what is within that noise is taken as 0.
struct Corrections {
  Eigen::MatrixXd mean;            // D x k: E(d_i)
  Eigen::VectorXd first_variance;  // D: Var(d_i1)
};
Corrections EstimateCorrections(const Eigen::MatrixXd& b, double stddev,
                                const Eigen::MatrixXd& a, double a_stddev,
                                const Eigen::VectorXd& counts,
                                const Eigen::VectorXd& first_scale,
                                double sampling, const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_PROFILES_H_
