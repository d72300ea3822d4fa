// Posterior means of many numbers that were released with Gaussian noise.
//
// y_i = theta_i + stddev Z_i, theta_i >= 0. The prior of the thetas is not
// assumed but fitted to all y: the non-parametric maximum likelihood of Kiefer
// and Wolfowitz 1956, whose posterior means come near to those of the true
// prior, be it sparse or dense (Jiang and Zhang 2009, Theorem 1; Koenker and
// Mizera 2014). Post-processing of released values.
#ifndef DPNMF_COMMON_MOMENTS_EMPIRICAL_BAYES_H_
#define DPNMF_COMMON_MOMENTS_EMPIRICAL_BAYES_H_

#include "Eigen/Core"

namespace dpnmf {

// E(theta_i | y), each in [0, infinity). The prior lives on a grid from 0 to 13
// deviations and is fitted by 500 steps of EM from a flat one; the likelihood
// is read at y rounded to eighths of a deviation. Where y is above 10
// deviations the noise is small beside it and y stays as it is. stddev = 0: the
// positive part. stddev >= 0, y finite; any length.
Eigen::VectorXd PosteriorMeans(const Eigen::VectorXd& y, double stddev);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_EMPIRICAL_BAYES_H_
