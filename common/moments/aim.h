// A second release of moments, aimed by the first: directions U that the first
// determines well are removed from every column, and the rest is scaled up,
//   z = s (v - U U'v) = s (I - P) v,    P = sum_k (1 - b_k) q_k q_k',
// with orthonormal q_k, and the second moment of z is released with the noise
// that one of v would have. Undone, its noise is smaller by s^2 where no q_k is
// (docs/research/utility.md). Iterative preconditioning: Biswas, Dong, Kamath
// and Ullman 2020.
//
// Post-processing of released values; the same bits for any thread count.
#ifndef DPNMF_COMMON_MOMENTS_AIM_H_
#define DPNMF_COMMON_MOMENTS_AIM_H_

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/moments/moments.h"

namespace dpnmf {

struct Aim {
  Eigen::MatrixXd directions;  // U: M x L, columns sqrt(1 - b_k) q_k
  double scale = 1;            // s, in the limits of common/privacy/aim.h
  // Squared length of columns outside the q_k: an estimate of the mean
  // |(I - qq')v|^2. 0: not known.
  double rest = 0;
};

// Returns the request that follows `first`, whose columns have length at most
// column_bound: at most `most` directions (at least 1; one that is 0, with
// scale 1, if `first` knows none), and a scale at which z is longer than
// column_bound on average. The curator cuts z to column_bound: people who have
// much beside U count for less than without a cut, and the noise is lower.
// Errors of DenoiseMoments.
absl::StatusOr<Aim> AimOf(const NoisedMoments& first, double column_bound,
                          int most, const Stop& stop = {}, int threads = 1);

// The two releases as one: in the basis of the q_k and what is orthogonal to
// them each entry of either has a noise of known variance, and their mean with
// inverse variances is taken. What z has lost by being cut is made up for:
// where it has less of trace in the rest than aim.rest, the rest is multiplied
// (with its noise). The deviations are those of an entry where no q_k is; on
// the others the noise is larger (NoisedMoments::wider). z: the second
// release, M x M, of deviation second_stddev. INVALID_ARGUMENT
// "moments-shape-invalid".
absl::StatusOr<NoisedMoments> WithAimed(const NoisedMoments& first,
                                        const Aim& aim,
                                        const Eigen::MatrixXd& z,
                                        double second_stddev);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_AIM_H_
