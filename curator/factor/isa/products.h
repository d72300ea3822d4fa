// Sums of products over users (curator/factor/exact_products.h).
#ifndef DPNMF_CURATOR_FACTOR_ISA_PRODUCTS_H_
#define DPNMF_CURATOR_FACTOR_ISA_PRODUCTS_H_

#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/lanes.h"

namespace dpnmf::curator::DPNMF_ISA {
namespace {

constexpr int kTileRows = 3;  // 3 x 4 accumulators

typedef double Quad __attribute__((vector_size(32), may_alias));
typedef std::uint64_t QuadWords __attribute__((vector_size(32), may_alias));

// {sum a, sum b, sum c, sum d}
DPNMF_INLINE Quad SumsOfFour(Quad a, Quad b, Quad c, Quad d) {
  const Quad ab = __builtin_shufflevector(a, b, 0, 4, 2, 6) +
                  __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Quad cd = __builtin_shufflevector(c, d, 0, 4, 2, 6) +
                  __builtin_shufflevector(c, d, 1, 5, 3, 7);
  return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
         __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

DPNMF_INLINE Quad Fold(Lanes x) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(x, x, 0, 1, 2, 3) +
         __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
  return x;
#endif
}

// An integer below 2^52 in each lane: exact.
DPNMF_INLINE void AddQuad(Quad sum, std::uint64_t* to) {
  const Quad two52 = {kTwo52, kTwo52, kTwo52, kTwo52};
  const QuadWords integer = reinterpret_cast<QuadWords>(sum + two52) -
                            reinterpret_cast<QuadWords>(two52);
  QuadWords total;
  std::memcpy(&total, to, sizeof total);
  total += integer;
  std::memcpy(to, &total, sizeof total);
}

DPNMF_INLINE void AddQuad(Quad sum, double* to) {
  Quad total;
  std::memcpy(&total, to, sizeof total);
  total += sum;
  std::memcpy(to, &total, sizeof total);
}

// kRows rows of x against four of y; `sums` has `stride` columns.
template <int kRows, typename Sum>
void AddTile(const double* x, std::size_t x_step, const double* y,
             std::size_t y_step, int strips, std::size_t stride, Sum* sums) {
  Lanes tile[kRows][kProductColumns] = {};
  for (int strip = 0; strip < strips; ++strip) {
#pragma GCC unroll 2
    for (int half = 0; half < kStripUsers; half += kLaneCount) {
      Lanes left[kRows];
#pragma GCC unroll 3
      for (int r = 0; r < kRows; ++r)
        left[r] = Load(x + r * kStripUsers + half);
#pragma GCC unroll 4
      for (int j = 0; j < kProductColumns; ++j) {
        const Lanes right = Load(y + j * kStripUsers + half);
#pragma GCC unroll 3
        for (int r = 0; r < kRows; ++r)
          tile[r][j] = MultiplyAdd(left[r], right, tile[r][j]);
      }
    }
    x += x_step;
    y += y_step;
  }
#pragma GCC unroll 3
  for (int r = 0; r < kRows; ++r) {
    AddQuad(SumsOfFour(Fold(tile[r][0]), Fold(tile[r][1]), Fold(tile[r][2]),
                       Fold(tile[r][3])),
            sums + r * stride);
  }
}

template <typename Sum>
DPNMF_INLINE void AddAll(const StripMatrix& x, const StripMatrix& y,
                         int first_strip, int strips, bool upper, Sum* sums) {
  const std::size_t x_step =
      static_cast<std::size_t>(x.strip_rows) * kStripUsers;
  const std::size_t y_step =
      static_cast<std::size_t>(y.strip_rows) * kStripUsers;
  const double* const x_first = x.values + first_strip * x_step;
  const double* const y_first = y.values + first_strip * y_step;
  const std::size_t stride =
      (y.rows + kProductColumns - 1) / kProductColumns * kProductColumns;
  for (int row = 0; row < x.rows; row += kTileRows) {
    const int first_column =
        upper ? row / kProductColumns * kProductColumns : 0;
    for (int column = first_column; column < y.rows;
         column += kProductColumns) {
      const double* const from_x =
          x_first + static_cast<std::size_t>(row) * kStripUsers;
      const double* const from_y =
          y_first + static_cast<std::size_t>(column) * kStripUsers;
      Sum* const to = sums + row * stride + column;
      switch (x.rows - row) {
        case 1:
          AddTile<1>(from_x, x_step, from_y, y_step, strips, stride, to);
          break;
        case 2:
          AddTile<2>(from_x, x_step, from_y, y_step, strips, stride, to);
          break;
        default:
          AddTile<3>(from_x, x_step, from_y, y_step, strips, stride, to);
      }
    }
  }
}

void AddExactProducts(StripMatrix x, StripMatrix y, int first_strip, int strips,
                      bool upper, std::uint64_t* sums) {
  AddAll(x, y, first_strip, strips, upper, sums);
}

void AddProducts(StripMatrix x, StripMatrix y, int first_strip, int strips,
                 bool upper, double* sums) {
  AddAll(x, y, first_strip, strips, upper, sums);
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_PRODUCTS_H_
