#include "curator/factor/kernels/sparse_kernels.h"

#include <algorithm>

namespace dpnmf::curator {

PaddedRows::PaddedRows(const Eigen::Ref<const Eigen::MatrixXd>& matrix)
    : stride_(static_cast<int>((matrix.cols() + kRowUnit - 1) / kRowUnit) *
              kRowUnit),
      values_(static_cast<std::size_t>(matrix.rows()) * stride_) {
  // A few rows at a time: both orders then stay in the cache.
  constexpr Eigen::Index kRows = 64;
  for (Eigen::Index first = 0; first < matrix.rows(); first += kRows) {
    const Eigen::Index end = std::min(first + kRows, matrix.rows());
    for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
      for (Eigen::Index row = first; row < end; ++row)
        values_[row * stride_ + column] = matrix(row, column);
    }
  }
}

void SparseProduct(RowView w, const SparseColumn& v, double* c) {
  Kernels().sparse_product(w, v.rows.data(), v.values.data(), v.rows.size(), c);
}

void GatherInliers(RowView w, const std::int32_t* rows, int count,
                   const double* v, const OutlierRule& rule, const double* h,
                   double* u, double* c) {
  Kernels().gather_inliers(w, rows, count, v, rule, h, u, c);
}

void AddExactOuterProduct(std::span<const std::int32_t> rows,
                          std::span<const double> l,
                          std::span<const std::uint32_t> y,
                          std::uint64_t* sums) {
  Kernels().add_exact_outer_product(rows.data(), l.data(), rows.size(),
                                    y.data(), y.size(), sums);
}

void AddOuterProduct(const SparseColumn& v, std::span<const double> y,
                     double* sums) {
  Kernels().add_outer_product(v.rows.data(), v.values.data(), v.rows.size(),
                              y.data(), y.size(), sums);
}

}  // namespace dpnmf::curator
