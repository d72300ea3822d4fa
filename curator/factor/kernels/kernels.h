// The inner loops of the H step, on strips of users
// (curator/factor/isa/simd_layout.h).
//
// Every sum over an inner index runs in ascending order in one accumulator per
// user, whatever the tile, so that a result is a function of the user's own
// lane and of the matrix alone. Tiles are 6 rows x 2 vectors: 12 accumulators,
// two loads and broadcasts fit the 16 registers of AVX2.
#ifndef DPNMF_CURATOR_FACTOR_KERNELS_KERNELS_H_
#define DPNMF_CURATOR_FACTOR_KERNELS_KERNELS_H_

#include "Eigen/Core"
#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/simd_layout.h"
#include "curator/factor/kernels/aligned_vector.h"

namespace dpnmf::curator {

// A matrix (rows x inner) stored in the order in which tiles read it: panel by
// panel, within a panel by inner index.
class PackedRows {
 public:
  explicit PackedRows(const Eigen::Ref<const Eigen::MatrixXd>& matrix);

  int rows() const { return rows_; }
  int inner() const { return inner_; }
  const RowCut& cut() const { return cut_; }
  PanelView view() const { return {values_.data(), rows_, inner_}; }

 private:
  int rows_, inner_;
  RowCut cut_;
  AlignedVector<double> values_;
};

// out += M[:, first .. first+count) x for one strip. x: count rows, out:
// M.rows().
void AddProduct(const PackedRows& m, int first, int count, const double* x,
                double* out);

// u = v - S_{lambda,M}(v - W h) for the rows of panels [first_panel,
// last_panel) of one strip. v and u begin at the first of these rows.
void WithoutOutliers(const PackedRows& w, int first_panel, int last_panel,
                     const OutlierRule& rule, const double* h, const float* v,
                     double* u);

// The Gram matrix G = W'W of a dictionary, ready for sweeps. Components with
// G_kk = 0, or too small to divide by, are dead: their h is 0.
class PackedGram {
 public:
  explicit PackedGram(const Eigen::Ref<const Eigen::MatrixXd>& gram);
  const PackedRows& rows() const { return rows_; }
  // 1 / G_kk, 0 if dead.
  const double* inverse_diagonal() const { return inverse_diagonal_.data(); }

 private:
  PackedRows rows_;
  AlignedVector<double> inverse_diagonal_;
};

// One sweep of cyclic coordinate descent on 1/2 h'Gh - c'h, h >= 0, for
// `strips` strips: for k ascending,
//   h_k <- max(0, h_k + (c_k - G_k. h) / G_kk).
// c and h: strips x K x kStripUsers.
void Sweep(const PackedGram& gram, int strips, const double* c, double* h);

// Rows of dead components become 0.
void ClearDead(const PackedGram& gram, int strips, double* h);

// Non-finite values become 0.
void ClearNonFinite(std::size_t count, double* values);

// columns[i]: the `rows` values of user i of the strip, or null for a padding
// user (all zero).
void LoadStrip(const float* const* columns, int rows, float* strip);
void LoadStrip(const float* const* columns, int rows, double* strip);
void LoadStrip(const double* const* columns, int rows, double* strip);
// The other way; what belongs to padding users is left out.
void StoreStrip(const double* strip, int rows, double* const* columns);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_KERNELS_KERNELS_H_
