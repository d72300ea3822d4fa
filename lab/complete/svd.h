// Truncated SVD of ratings whose missing entries are item means, and its update
// by new rows: the publication's baseline (SVDU). Without privacy.
#ifndef DPNMF_LAB_COMPLETE_SVD_H_
#define DPNMF_LAB_COMPLETE_SVD_H_

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "lab/complete/measures.h"
#include "lab/complete/sparse_ratings.h"

namespace dpnmf::curator::lab {

// A ~ U diag(s) V', s falling.
struct TruncatedSvd {
  Eigen::MatrixXd u;  // rows x rank, columns of length 1
  Eigen::VectorXd s;  // rank
  Eigen::MatrixXd v;  // columns x rank

  TruncatedSvd Transposed() const { return {v, s, u}; }
};

// Row i of U diag(s) V'.
CompletedRow SvdRow(const TruncatedSvd& svd);

// Truncated SVD of the matrix with `column_means` in the place of missing
// entries. This matrix is the sum of 1 mu' and a sparse matrix, so a product
// with it costs O(ratings): Golub, Kahan and Lanczos's process with full
// reorthogonalisation, until each of the `rank` triplets has a residual below
// 1e-6 of its singular value. A function of the ratings. INVALID_ARGUMENT
// "complete-rank" unless rank is 1 to min(rows, columns).
absl::StatusOr<TruncatedSvd> MeanImputedSvd(const SparseRatings& ratings,
                                            const Eigen::VectorXd& column_means,
                                            int rank);

// Truncated SVD of [U diag(s) V'; T], of the rank that `svd` has. rows T: p x
// columns. The publication takes P = T V, QR of (T - P V')' = Q L and the SVD
// of [[S, 0], [P, L']], which is the SVD of M = [S V'; T] in the basis [V, Q];
// here it comes from M M' = [[S^2, S P'], [P S, T T']], which is (rank + p)
// square.
TruncatedSvd UpdatedByRows(const TruncatedSvd& svd,
                           const Eigen::MatrixXd& rows);

// The rows with `column_means` in the place of what is missing.
Eigen::MatrixXd Imputed(const SparseRatings& rows,
                        const Eigen::VectorXd& column_means);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_SVD_H_
