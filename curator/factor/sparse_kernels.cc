#include "curator/factor/sparse_kernels.h"

#include <algorithm>

namespace dpnmf::curator {
namespace {

template <int kVectors>
void ProductOfVectors(const double* w, int stride, const SparseColumn& v,
                      double* c) {
  Lanes sum[kVectors] = {};
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    const double* const row = w + static_cast<std::int64_t>(v.rows[i]) * stride;
    const Lanes value = Broadcast(v.values[i]);
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      sum[j] = MultiplyAdd(Load(row + j * kLaneCount), value, sum[j]);
  }
  for (int j = 0; j < kVectors; ++j) Store(sum[j], c + j * kLaneCount);
}

}  // namespace

PaddedRows::PaddedRows(const Eigen::Ref<const Eigen::MatrixXd>& matrix)
    : stride_(static_cast<int>((matrix.cols() + kLaneCount - 1) / kLaneCount) *
              kLaneCount),
      values_(static_cast<std::size_t>(matrix.rows()) * stride_) {
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
      values_[row * stride_ + column] = matrix(row, column);
    }
  }
}

void SparseProduct(const PaddedRows& w, const SparseColumn& v, double* c) {
  constexpr int kGroup = 4;
  const int vectors = w.stride() / kLaneCount;
  for (int first = 0; first < vectors; first += kGroup) {
    const double* const from = w.Row(0) + first * kLaneCount;
    double* const to = c + first * kLaneCount;
    switch (std::min(kGroup, vectors - first)) {
      case 1:
        ProductOfVectors<1>(from, w.stride(), v, to);
        break;
      case 2:
        ProductOfVectors<2>(from, w.stride(), v, to);
        break;
      case 3:
        ProductOfVectors<3>(from, w.stride(), v, to);
        break;
      default:
        ProductOfVectors<4>(from, w.stride(), v, to);
    }
  }
}

void AddExactOuterProduct(std::span<const std::int32_t> rows,
                          std::span<const double> l,
                          std::span<const std::uint32_t> y,
                          std::uint64_t* sums) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::uint64_t* const to =
        sums + static_cast<std::size_t>(rows[i]) * y.size();
    const std::uint32_t factor = static_cast<std::uint32_t>(l[i]);
    for (std::size_t j = 0; j < y.size(); ++j) {
      to[j] += std::uint64_t{factor} * y[j];
    }
  }
}

void AddOuterProduct(const SparseColumn& v, std::span<const double> y,
                     double* sums) {
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    double* const to = sums + static_cast<std::size_t>(v.rows[i]) * y.size();
    const double value = v.values[i];
    for (std::size_t j = 0; j < y.size(); ++j)
      to[j] = MultiplyAdd(value, y[j], to[j]);
  }
}

}  // namespace dpnmf::curator
