// The inner loops over one user's nonzeros
// (curator/factor/kernels/sparse_kernels.h).
#ifndef DPNMF_CURATOR_FACTOR_ISA_SPARSE_H_
#define DPNMF_CURATOR_FACTOR_ISA_SPARSE_H_

#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/lanes.h"
#include "curator/factor/isa/products.h"

namespace dpnmf::curator::DPNMF_ISA {
namespace {

template <int kVectors>
DPNMF_INLINE void ProductOfVectors(const double* w, int stride,
                                   const std::int32_t* rows,
                                   const float* values, std::size_t count,
                                   double* c) {
  Lanes sum[kVectors] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const double* const row = w + static_cast<std::int64_t>(rows[i]) * stride;
    const Lanes value = Broadcast(values[i]);
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      sum[j] = MultiplyAdd(Load(row + j * kLaneCount), value, sum[j]);
  }
  for (int j = 0; j < kVectors; ++j) Store(sum[j], c + j * kLaneCount);
}

DPNMF_INLINE Quad MultiplyAddQuad(Quad a, double b, Quad c) {
#if defined(__AVX__) && defined(__FMA__)
  return _mm256_fmadd_pd(a, Quad{b, b, b, b}, c);
#else
  for (int i = 0; i < 4; ++i) c[i] = MultiplyAdd(a[i], b, c[i]);
  return c;
#endif
}

// sum[i] += (W h) of rows[i] for 16 rows over four k: a transposed block of 4 x
// 4 gives each row its lane, so that every sum is one chain over k ascending.
DPNMF_INLINE void AddFourColumns(const double* const (&row)[kGatherRows], int k,
                                 const double* h, Quad (&sum)[4]) {
#pragma GCC unroll 4
  for (int group = 0; group < 4; ++group) {
    Quad columns[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) columns[r] = LoadQuad(row[4 * group + r] + k);
    Transpose(columns);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j)
      sum[group] = MultiplyAddQuad(columns[j], h[k + j], sum[group]);
  }
}

// c += sum over the 16 rows of row u, rows ascending.
template <int kVectors>
DPNMF_INLINE void AddRows(const double* const (&row)[kGatherRows],
                          const double* u, int first, double* c) {
  Lanes sum[kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) sum[j] = Load(c + first + j * kLaneCount);
#pragma GCC unroll 16
  for (int r = 0; r < kGatherRows; ++r) {
    const Lanes factor = Broadcast(u[r]);
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      sum[j] =
          MultiplyAdd(Load(row[r] + first + j * kLaneCount), factor, sum[j]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) Store(sum[j], c + first + j * kLaneCount);
}

void GatherInliers(RowView w, const std::int32_t* rows, int count,
                   const double* v, OutlierRule rule, const double* h,
                   double* u, double* c) {
  static_assert(kGatherRows % kLaneCount == 0 && kLaneCount % 4 == 0);
  const int stride = w.stride;
  const Lanes lambda = Broadcast(rule.lambda);
  const Lanes bound = Broadcast(rule.bound);
  for (int first = 0; first < count; first += kGatherRows) {
    const double* row[kGatherRows];
    for (int r = 0; r < kGatherRows; ++r)
      row[r] = w.values + static_cast<std::int64_t>(rows[first + r]) * w.stride;
    Quad sum[4] = {};
    for (int k = 0; k < stride; k += 4) AddFourColumns(row, k, h, sum);
    double product[kGatherRows];
    std::memcpy(product, sum, sizeof product);
    for (int r = 0; r < kGatherRows; r += kLaneCount) {
      Store(Inlier(Load(v + first + r), Load(product + r), lambda, bound),
            u + first + r);
    }
    for (int r = count - first; r < kGatherRows; ++r) u[first + r] = 0;
    int j = 0;
    for (; j + 4 * kLaneCount <= stride; j += 4 * kLaneCount)
      AddRows<4>(row, u + first, j, c);
    for (; j < stride; j += kLaneCount) AddRows<1>(row, u + first, j, c);
  }
}

void SparseProduct(RowView w, const std::int32_t* rows, const float* values,
                   std::size_t count, double* c) {
  constexpr int kGroup = 4;
  const int vectors = w.stride / kLaneCount;
  for (int first = 0; first < vectors; first += kGroup) {
    const double* const from = w.values + first * kLaneCount;
    double* const to = c + first * kLaneCount;
    switch (vectors - first) {
      case 1:
        ProductOfVectors<1>(from, w.stride, rows, values, count, to);
        break;
      case 2:
        ProductOfVectors<2>(from, w.stride, rows, values, count, to);
        break;
      case 3:
        ProductOfVectors<3>(from, w.stride, rows, values, count, to);
        break;
      default:
        ProductOfVectors<4>(from, w.stride, rows, values, count, to);
    }
  }
}

// kVectors vectors of columns, which stay in registers.
template <int kVectors>
DPNMF_INLINE void AddExactRows(const std::int32_t* rows, const double* l,
                               std::size_t count, const std::uint32_t* y,
                               std::size_t columns, std::uint64_t* sums) {
  Words factor[kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    for (int lane = 0; lane < kLaneCount; ++lane)
      factor[j][lane] = y[j * kLaneCount + lane];
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t* const to =
        sums + static_cast<std::size_t>(rows[i]) * columns;
    const Words entry =
        Words{} + static_cast<std::uint64_t>(static_cast<std::int64_t>(l[i]));
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      Words sum;
      std::memcpy(&sum, to + j * kLaneCount, sizeof sum);
      sum += MultiplyLow(entry, factor[j]);
      std::memcpy(to + j * kLaneCount, &sum, sizeof sum);
    }
  }
}

void AddExactOuterProduct(const std::int32_t* rows, const double* l,
                          std::size_t count, const std::uint32_t* y,
                          std::size_t columns, std::uint64_t* sums) {
  std::size_t j = 0;
  for (; j + 4 * kLaneCount <= columns; j += 4 * kLaneCount)
    AddExactRows<4>(rows, l, count, y + j, columns, sums + j);
  for (; j + kLaneCount <= columns; j += kLaneCount)
    AddExactRows<1>(rows, l, count, y + j, columns, sums + j);
  for (; j < columns; ++j) {
    for (std::size_t i = 0; i < count; ++i) {
      sums[static_cast<std::size_t>(rows[i]) * columns + j] +=
          static_cast<std::uint64_t>(l[i]) * y[j];
    }
  }
}

// kVectors vectors of columns, which stay in registers. Rows lie far apart:
// those of later nonzeros are asked for early.
template <int kVectors>
DPNMF_INLINE void AddToRows(const std::int32_t* rows, const float* values,
                            std::size_t count, const double* y,
                            std::size_t columns, double* sums) {
  constexpr std::size_t kAhead = 8;
  Lanes factor[kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) factor[j] = Load(y + j * kLaneCount);
  for (std::size_t i = 0; i < count; ++i) {
    const double* const later =
        sums +
        static_cast<std::size_t>(rows[i + kAhead < count ? i + kAhead : i]) *
            columns;
    double* const to = sums + static_cast<std::size_t>(rows[i]) * columns;
    const Lanes value = Broadcast(values[i]);
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      __builtin_prefetch(later + j * kLaneCount, 1);
      Store(MultiplyAdd(value, factor[j], Load(to + j * kLaneCount)),
            to + j * kLaneCount);
    }
  }
}

void AddOuterProduct(const std::int32_t* rows, const float* values,
                     std::size_t count, const double* y, std::size_t columns,
                     double* sums) {
  std::size_t j = 0;
  for (; j + 4 * kLaneCount <= columns; j += 4 * kLaneCount)
    AddToRows<4>(rows, values, count, y + j, columns, sums + j);
  for (; j + kLaneCount <= columns; j += kLaneCount)
    AddToRows<1>(rows, values, count, y + j, columns, sums + j);
  for (; j < columns; ++j) {
    for (std::size_t i = 0; i < count; ++i) {
      double* const to = sums + static_cast<std::size_t>(rows[i]) * columns + j;
      *to = MultiplyAdd(static_cast<double>(values[i]), y[j], *to);
    }
  }
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_SPARSE_H_
