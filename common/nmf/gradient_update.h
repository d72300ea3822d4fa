// W from the noised gradients G_t = W_t A - B of successive rounds, where A and
// B themselves stay with the data.
//
// A = HH'/N and B = (V-R)H'/N change slowly, and W_t is known: the difference
// of two rounds says (W_t - W_s) A = G_t - G_s, the secant condition of
// quasi-Newton methods (Nocedal and Wright 2006, section 6.1) for a whole
// matrix. A is fitted to all rounds, B follows, and both are used as if they
// had been released.
//
// Functions of released values and public facts alone: free post-processing,
// whoever runs it. Results are not to be used once `stop` said so.
#ifndef DPNMF_COMMON_NMF_GRADIENT_UPDATE_H_
#define DPNMF_COMMON_NMF_GRADIENT_UPDATE_H_

#include <cstdint>

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// Weighted moments of the rounds so far, with the weights of AverageRounds.
// All empty before the first round.
struct GradientMemory {
  Eigen::MatrixXd w, gradient;  // D x K: means of W_t and of G_t
  Eigen::MatrixXd ww;           // K x K: of (W_t - w)'(W_t - w)
  Eigen::MatrixXd wg;           // K x K: of (W_t - w)'(G_t - gradient)
};

// Mixes in round t >= 1: `gradient` (D x K) was released at `w` (D x K). An
// empty memory takes it alone, whatever t is.
void AddGradient(std::uint32_t round, const Eigen::MatrixXd& w,
                 const Eigen::MatrixXd& gradient, GradientMemory* memory,
                 const Stop& stop = {});

// Variance of the noise in W E_A - E_B, the mean over its entries; from the
// deviations of the noise in A (off the diagonal) and in B.
double GradientNoiseVariance(double stddev_a, double stddev_b,
                             const Eigen::MatrixXd& w);

struct GradientStep {
  // GradientNoiseVariance of one G_t. 0: none.
  double variance = 0;
  // VarianceShareOfAverage at this round.
  double variance_share = 1;
  // c_h^2: no user's hh' is longer.
  double largest_a_norm = 1;
  double step_size = 1;
  std::uint32_t steps = 1;
};

// A and B at the mean of W, as the rounds tell. A is the posterior mean under
// independent normal entries, of mean (3/10) c_h^2/K (I + 11') and deviation
// (3/10) c_h^2/K; made positive semidefinite, plus the posterior's deviation in
// each direction, so that what is not known yet moves W little. B >= 0.
struct StatisticsOfGradients {
  Eigen::MatrixXd a;  // K x K
  Eigen::MatrixXd b;  // D x K
};
StatisticsOfGradients FitStatistics(const GradientMemory& memory,
                                    const GradientStep& step,
                                    const Stop& stop = {});

// `steps` projected gradient steps on 1/2 tr(W'W A) - tr(W'B) of the above.
void UpdateFromGradients(const GradientMemory& memory, const GradientStep& step,
                         Eigen::MatrixXd* w, const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_GRADIENT_UPDATE_H_
