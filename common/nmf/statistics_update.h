// W from the noised means A = HH'/N and B = (V-R)H'/N of successive rounds.
//
// Functions of released values and public facts alone: free post-processing,
// whoever runs it.
#ifndef DPNMF_COMMON_NMF_STATISTICS_UPDATE_H_
#define DPNMF_COMMON_NMF_STATISTICS_UPDATE_H_

#include <cstdint>

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// Weight of round t >= 1 in the average below: 2/(t+1).
double ShareOfRound(std::uint32_t round);

// Mixes `fresh`, of round t >= 1, into the average *kept: weights proportional
// to t, that is a share of 2/(t+1) for the new one (Lacoste-Julien, Schmidt and
// Bach 2012, arXiv 1212.2002). The variance of the noise falls like 4/(3t), and
// what was learned from early, poor dictionaries is forgotten. An empty *kept
// becomes `fresh`.
void AverageRounds(std::uint32_t round, Eigen::MatrixXd fresh,
                   Eigen::MatrixXd* kept);

// sum of weights^2 / (sum of weights)^2 of that average at round t:
// (2/3) (2t+1) / (t (t+1)).
double VarianceShareOfAverage(std::uint32_t round);

struct StatisticsStep {
  // Standard deviation of the noise in `a`, off the diagonal. 0: none.
  double stddev_a = 0;
  double step_size = 1;
  std::uint32_t steps = 1;
};

// a: K x K, b: D x K, *w: D x K. Makes `a` positive definite and `b`
// non-negative, then takes `steps` projected gradient steps on
// 1/2 tr(W'W A) - tr(W'B). *w is not to be used once `stop` said so.
void UpdateFromStatistics(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b,
                          const StatisticsStep& step, Eigen::MatrixXd* w,
                          const Stop& stop = {});

// Deviations of the noise in the averages.
struct StatisticsNoise {
  double stddev_a = 0, diagonal_stddev_a = 0;  // above, and on the diagonal
  double stddev_b = 0;
};

// Standard errors of w, entry by entry (D x K), by the noise of the averaged A
// and B that it was computed from: parametric bootstrap. `replicates` draws (at
// least 2) of A + noise and of w A + noise, from each W as above, beginning at
// w. What the noise did to earlier dictionaries, and so to H, is not in it, nor
// the sampling error of the users, nor the bias.
Eigen::MatrixXd StatisticsStandardErrors(const Eigen::MatrixXd& a,
                                         const Eigen::MatrixXd& w,
                                         const StatisticsNoise& noise,
                                         const StatisticsStep& step,
                                         std::uint64_t seed, int replicates,
                                         const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_STATISTICS_UPDATE_H_
