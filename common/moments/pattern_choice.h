// How many patterns of a declared order an estimate of a second moment is to
// read (EstimateInPatterns of common/moments/moment_estimates.h), from a
// release alone. docs/reference/feature_order.md has the method.
//
// Post-processing; pure functions; the same bits for any thread count.
#ifndef DPNMF_COMMON_MOMENTS_PATTERN_CHOICE_H_
#define DPNMF_COMMON_MOMENTS_PATTERN_CHOICE_H_

#include <cstddef>
#include <functional>

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// A release in two: with a fresh copy Z of its noise and c the thinning,
// Y + c Z is fitted and Y - Z/c held out; their noises are independent.
struct HeldOutSplit {
  Eigen::MatrixXd fitted, held_out;  // M x M
  double stddev = 0;                 // of the noise in `fitted`
};

// What is chosen for. The functions are called from any thread.
struct PatternQuestion {
  Eigen::MatrixXd patterns;  // M x M, orthonormal, from smooth to rough
  double stddev = 0;         // of the release, > 0
  double thinning = 1;       // c
  // The i-th split, the same at each call.
  std::function<HeldOutSplit(std::size_t i)> split;
  // The estimate (M x M) from `fitted` without an order.
  std::function<Eigen::MatrixXd(const HeldOutSplit&, const Stop&)> unordered;
};

// Returns d of M/2, M/4, ..., M/32 (at least 4): by so many patterns the
// held-out halves of several splits are estimated best. 0: the estimate without
// an order is as good.
//
// The estimate is used to find parts of people, to which a direction counts by
// its variance and not by its square. So the error Y2 - E off the diagonal is
// measured after the leading directions are damped to the level t, a quarter of
// the edge of the noise: |A (Y2 - E) A|^2, A = I - sum (1 - sqrt(t/l_k)) q_k
// q_k' over at most 16 directions of an estimate from Y1 with l_k > t. At ties
// the smaller d is taken. An estimate in d patterns loses what the others hold.
// So its leading 8 directions must have more of the trace of Y2 than those of
// the estimate without an order, by 1.5 deviations of the noise.
Eigen::Index ChoosePatterns(const PatternQuestion& question, int threads,
                            const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_PATTERN_CHOICE_H_
