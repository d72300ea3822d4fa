#include "curator/factor/sparse_kernels.h"

namespace dpnmf::curator {

PaddedRows::PaddedRows(const Eigen::Ref<const Eigen::MatrixXd>& matrix)
    : stride_(static_cast<int>((matrix.cols() + kRowUnit - 1) / kRowUnit) *
              kRowUnit),
      values_(static_cast<std::size_t>(matrix.rows()) * stride_) {
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
      values_[row * stride_ + column] = matrix(row, column);
    }
  }
}

void SparseProduct(const PaddedRows& w, const SparseColumn& v, double* c) {
  Kernels().sparse_product(w.view(), v.rows.data(), v.values.data(),
                           v.rows.size(), c);
}

void GatherInliers(const PaddedRows& w, const std::int32_t* rows, int count,
                   const double* v, const OutlierRule& rule, const double* h,
                   double* u, double* c) {
  Kernels().gather_inliers(w.view(), rows, count, v, rule, h, u, c);
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
