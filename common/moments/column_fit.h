// The two halves of FitDictionary (common/moments/moments.h), for who fits
// several models to one estimate: synthetic columns, and their factorisation.
#ifndef DPNMF_COMMON_MOMENTS_COLUMN_FIT_H_
#define DPNMF_COMMON_MOMENTS_COLUMN_FIT_H_

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/moments/moments.h"

namespace dpnmf {

// X, >= 0, mean squared length 1: `count` columns (M x count), and the public
// ones of a prior, drawn and matched as FitDictionary does (its steps 1 and 2).
// Of `options` the rank and the start
// are not read. CANCELLED "cancelled".
absl::StatusOr<Eigen::MatrixXf> DrawMatchedColumns(
    const DenoisedMoments& moments, Eigen::Index count,
    const FitOptions& options);

struct ColumnFit {
  Eigen::MatrixXf w;  // M x K, columns of length 1
  Eigen::MatrixXf h;  // K x n
  double value = 0;   // |X - W H|^2
};

// Step 3 from options.start (M x K), or one random start, and at most
// `iterations`, which end early where little is gained. After options.stop the
// result is not to be used.
ColumnFit FitColumns(const Eigen::MatrixXf& x, int iterations,
                     const FitOptions& options);

// Share of |X|^2 that each part explains, with the best H >= 0:
// sum_j (HH')_kj (W'W)_kj / |X|^2. They are >= 0 and their sum is what all
// explain together, 1 - |X - WH|^2 / |X|^2.
Eigen::VectorXd ExplainedBy(const Eigen::MatrixXf& w, const Eigen::MatrixXf& x,
                            const FitOptions& options);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_COLUMN_FIT_H_
