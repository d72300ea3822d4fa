// By what W is fitted to columns, where that is not least squares alone: the
// divergence of counts, and parts that are sparse. Post-processing: what was
// released, its noise and its price are the same (docs/reference/refit.md).
//
// Pure functions; the same bits for any thread count; any thread may call.
#ifndef DPNMF_COMMON_MOMENTS_FIT_LAW_H_
#define DPNMF_COMMON_MOMENTS_FIT_LAW_H_

#include <string_view>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/threads/stop.h"

namespace dpnmf {

enum class Loss {
  kSquared,  // 1/2 |X - W H|^2
  // sum x log(x / (WH)) - x + WH, the divergence of Kullback and Leibler: the
  // likelihood of counts that are Poisson of mean W H (Lee and Seung 2001).
  kKullbackLeibler
};
// "squared", "kl".
std::string_view NameOf(Loss loss);
// INVALID_ARGUMENT "loss-unknown".
absl::StatusOr<Loss> LossOfName(std::string_view name);

struct FitLaw {
  Loss loss = Loss::kSquared;
  // Least sparseness of each column of W (SparsenessOf), [0, 1); 0: any.
  double sparseness = 0;
  bool is_plain() const { return loss == Loss::kSquared && sparseness == 0; }
};

// INVALID_ARGUMENT "sparseness-out-of-range" (not in [0, 1)); "loss-sparse"
// (both: under the divergence a feature that no part has costs without bound).
absl::Status CheckFitLaw(const FitLaw& law);

// Hoyer 2004: (sqrt(M) - |w|_1 / |w|_2) / (sqrt(M) - 1), 1 of one entry that is
// not 0, 0 of M equal ones. 1 if M = 1 or w = 0.
double SparsenessOf(const Eigen::VectorXd& w);

// The unit vector w >= 0 of sparseness >= s that has the largest inner product
// with c: max(0, c - t) at the least t >= 0 that is sparse enough, divided by
// its length (Witten, Tibshirani and Hastie 2009, Lemma 2.2). Without a
// positive entry in c: its largest one.
Eigen::VectorXf SparseDirection(const Eigen::VectorXf& c, double sparseness);

// No entry of a W that is fitted under the divergence is less, before columns
// are scaled to length 1.
inline constexpr float kLeastDivergentEntry = 1e-4f;

// Moves *w (M x K, >= 0, columns of length 1, the least squares fit) and *h
// (K x n, any) to min over W, H >= 0 of `law` on x (M x n, >= 0), until little
// is gained or after `iterations`; columns of *w have length 1. `law` has
// passed CheckFitLaw and is not plain. After `stop` the result is not to be
// used.
//
// Divergence: multiplicative updates (Lee and Seung 2001). Sparseness:
// coordinate descent over the columns of W, each to its exact minimum
// SparseDirection(X h - rest), and over H.
void FitByLaw(const Eigen::MatrixXf& x, const FitLaw& law, int iterations,
              int threads, const Stop& stop, Eigen::MatrixXf* w,
              Eigen::MatrixXf* h);

// 1/n of the divergence of x (M x n) from W H with the best H >= 0, to a
// relative 1e-5; entries of w below kLeastDivergentEntry count as that.
double DivergenceOf(const Eigen::MatrixXf& x, const Eigen::MatrixXd& w,
                    int threads, const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_FIT_LAW_H_
