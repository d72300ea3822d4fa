// The inner loops over one user's nonzeros.
#ifndef DPNMF_CURATOR_FACTOR_KERNELS_SPARSE_KERNELS_H_
#define DPNMF_CURATOR_FACTOR_KERNELS_SPARSE_KERNELS_H_

#include <cstdint>
#include <span>

#include "Eigen/Core"
#include "curator/data/dataset.h"
#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/kernels/aligned_vector.h"

namespace dpnmf::curator {

// A matrix by rows, every row padded with zeros to kRowUnit.
class PaddedRows {
 public:
  explicit PaddedRows(const Eigen::Ref<const Eigen::MatrixXd>& matrix);
  int stride() const { return stride_; }
  RowView view() const { return {values_.data(), stride_}; }

 private:
  int stride_;
  AlignedVector<double> values_;
};

// c = W'v over the nonzeros of v in ascending order: the bits of the dense sum,
// to which the zeros of v add +0. c: w.stride values.
void SparseProduct(RowView w, const SparseColumn& v, double* c);

// For one user and the entries at `rows` (ascending; `count` of them, padded
// with any valid rows):
//   u = v - S_{lambda,M}(v - W h), 0 in the padding; c += W'u.
// h and c: w.stride values, h zero past the rank. Sums run in the order of
// the dense kernels: over k ascending, then over rows ascending; so that the
// rows may come in pieces, each but the last a multiple of kGatherRows long.
void GatherInliers(RowView w, const std::int32_t* rows, int count,
                   const double* v, const OutlierRule& rule, const double* h,
                   double* u, double* c);

// sums(row, j) += l y_j for the nonzeros l of one user, exactly modulo 2^64;
// row-major with y.size() columns. Entries are integers in [0, 2^32).
void AddExactOuterProduct(std::span<const std::int32_t> rows,
                          std::span<const double> l,
                          std::span<const std::uint32_t> y,
                          std::uint64_t* sums);

// The same in doubles, with rounding.
void AddOuterProduct(const SparseColumn& v, std::span<const double> y,
                     double* sums);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_KERNELS_SPARSE_KERNELS_H_
