// Sums of products over users (curator/factor/kernels/exact_products.h).
#ifndef DPNMF_CURATOR_FACTOR_ISA_PRODUCTS_H_
#define DPNMF_CURATOR_FACTOR_ISA_PRODUCTS_H_

#include "curator/factor/isa/dense.h"
#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/lanes.h"

namespace dpnmf::curator::DPNMF_ISA {
namespace {

static_assert(kProductColumns % kLaneCount == 0 && kLaneCount % 4 == 0);

// Columns of y in groups of two vectors (the last may have one), in each group
// user after user: lanes are columns here.
constexpr int kGroupVectors = 2;

DPNMF_INLINE int VectorsOf(int columns) {
  return (columns + kLaneCount - 1) / kLaneCount;
}

// Few columns past the last whole vector would leave most lanes of one more
// empty: exact sums, whose order does not matter, take users as lanes there.
DPNMF_INLINE int TailColumns(int columns) {
  const int tail = columns % kLaneCount;
  return tail <= kLaneCount / 2 ? tail : 0;
}

// Four columns of one strip of y, from `column` on (zero past y.rows), to
// to[user * step].
DPNMF_INLINE void PackFourColumns(const double* strip, int rows, int column,
                                  int step, double* to) {
  for (int user = 0; user < kStripUsers; user += 4) {
    Quad quads[4] = {};
    for (int j = 0; j < 4; ++j) {
      if (column + j < rows)
        quads[j] = LoadQuad(strip + StripSize(column + j) + user);
    }
    Transpose(quads);
    for (int j = 0; j < 4; ++j) StoreQuad(quads[j], to + (user + j) * step);
  }
}

void PackColumns(StripMatrix y, int first_strip, int strips, bool exact,
                 double* packed) {
  const int vectors = VectorsOf(exact ? y.rows - TailColumns(y.rows) : y.rows);
  for (int vector = 0; vector < vectors; vector += kGroupVectors) {
    const int width =
        (vectors - vector >= kGroupVectors ? kGroupVectors : 1) * kLaneCount;
    for (int strip = 0; strip < strips; ++strip) {
      const double* const from =
          y.values + (first_strip + strip) * StripSize(y.strip_rows);
      for (int j = 0; j < width; j += 4) {
        PackFourColumns(from, y.rows, vector * kLaneCount + j, width,
                        packed + j);
      }
      packed += kStripUsers * width;
    }
  }
}

// Columns of the sums.
DPNMF_INLINE std::size_t StrideOf(int columns) {
  return static_cast<std::size_t>((columns + kProductColumns - 1) /
                                  kProductColumns * kProductColumns);
}

// An integer below 2^52 in each lane: exact.
DPNMF_INLINE void AddLanes(Lanes sum, std::uint64_t* to) {
  const Lanes two52 = Broadcast(kTwo52);
  Words total;
  std::memcpy(&total, to, sizeof total);
  total +=
      reinterpret_cast<Words>(sum + two52) - reinterpret_cast<Words>(two52);
  std::memcpy(to, &total, sizeof total);
}

DPNMF_INLINE void AddLanes(Lanes sum, double* to) { Store(Load(to) + sum, to); }

// kRows rows of x against one group of columns; `sums` has `stride` columns.
template <int kRows, int kVectors, typename Sum>
DPNMF_INLINE void AddTile(const double* x, std::size_t x_step,
                          const double* packed, int strips, std::size_t stride,
                          Sum* sums) {
  Lanes tile[kRows][kVectors] = {};
  for (int strip = 0; strip < strips; ++strip) {
    for (int user = 0; user < kStripUsers; ++user) {
      Lanes right[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j)
        right[j] = Load(packed + j * kLaneCount);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const Lanes left = Broadcast(x[r * kStripUsers + user]);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j)
          tile[r][j] = MultiplyAdd(left, right[j], tile[r][j]);
      }
      packed += kVectors * kLaneCount;
    }
    x += x_step;
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j)
      AddLanes(tile[r][j], sums + r * stride + j * kLaneCount);
  }
}

// out[i] = sum of the lanes of x[i].
DPNMF_INLINE void SumLanes(Lanes (&x)[kLaneCount], double* out) {
#if defined(__AVX512F__)
  Lanes pairs[4];
  for (int i = 0; i < 4; ++i) {
    const Lanes a = x[2 * i], b = x[2 * i + 1];
    pairs[i] = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  }
  Lanes fours[2];
  for (int i = 0; i < 2; ++i) {
    const Lanes a = pairs[2 * i], b = pairs[2 * i + 1];
    fours[i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  }
  const Lanes a = fours[0], b = fours[1];
  Store(__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
            __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15),
        out);
#else
  Quad quads[4] = {x[0], x[1], x[2], x[3]};
  Transpose(quads);
  StoreQuad((quads[0] + quads[1]) + (quads[2] + quads[3]), out);
#endif
}

// kRows rows of x against kColumns rows of y, lanes are users.
template <int kRows, int kColumns>
DPNMF_INLINE void AddTailTile(const double* x, std::size_t x_step,
                              const double* y, std::size_t y_step, int strips,
                              std::size_t stride, std::uint64_t* sums) {
  Lanes tile[kRows][kColumns] = {};
  for (int strip = 0; strip < strips; ++strip) {
#pragma GCC unroll 4
    for (int user = 0; user < kStripUsers; user += kLaneCount) {
      Lanes right[kColumns];
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j)
        right[j] = Load(y + StripSize(j) + user);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const Lanes left = Load(x + StripSize(r) + user);
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j)
          tile[r][j] = MultiplyAdd(left, right[j], tile[r][j]);
      }
    }
    x += x_step;
    y += y_step;
  }
  constexpr int kTiles = kRows * kColumns;
#pragma GCC unroll 6
  for (int first = 0; first < kTiles; first += kLaneCount) {
    Lanes some[kLaneCount] = {};
#pragma GCC unroll 8
    for (int i = 0; i < kLaneCount; ++i) {
      if (first + i < kTiles)
        some[i] = tile[(first + i) / kColumns][(first + i) % kColumns];
    }
    double sum[kLaneCount];
    SumLanes(some, sum);
    const int count = kTiles - first < kLaneCount ? kTiles - first : kLaneCount;
    for (int i = 0; i < count; ++i) {
      sums[(first + i) / kColumns * stride + (first + i) % kColumns] +=
          static_cast<std::uint64_t>(static_cast<std::int64_t>(sum[i]));
    }
  }
}

template <int kRows>
DPNMF_INLINE void AddTail(int columns, const double* x, std::size_t x_step,
                          const double* y, std::size_t y_step, int strips,
                          std::size_t stride, std::uint64_t* sums) {
  switch (columns) {
    case 1:
      return AddTailTile<kRows, 1>(x, x_step, y, y_step, strips, stride, sums);
    case 2:
      return AddTailTile<kRows, 2>(x, x_step, y, y_step, strips, stride, sums);
    case 3:
      return AddTailTile<kRows, 3>(x, x_step, y, y_step, strips, stride, sums);
    default:
      return AddTailTile<kRows, 4>(x, x_step, y, y_step, strips, stride, sums);
  }
}

template <typename Sum>
DPNMF_INLINE void AddAll(const StripMatrix& x, int first_strip, int strips,
                         int columns, std::size_t stride, const double* packed,
                         bool upper, Sum* sums) {
  const std::size_t x_step = StripSize(x.strip_rows);
  const double* const x_first = x.values + first_strip * x_step;
  const int vectors = VectorsOf(columns);
  const RowCut cut(x.rows);
  for (int panel = 0; panel < cut.panels(); ++panel) {
    const int row = cut.First(panel);
    ForPanelSize(cut.Rows(panel), [&]<int kRows>() {
      const double* group = packed;
      for (int vector = 0; vector < vectors; vector += kGroupVectors) {
        const bool whole = vectors - vector >= kGroupVectors;
        const int width = (whole ? kGroupVectors : 1) * kLaneCount;
        const int column = vector * kLaneCount;
        Sum* const to = sums + row * stride + column;
        if (upper && column + width <= row) {
          // Below the diagonal.
        } else if (whole) {
          AddTile<kRows, kGroupVectors>(x_first + StripSize(row), x_step, group,
                                        strips, stride, to);
        } else {
          AddTile<kRows, 1>(x_first + StripSize(row), x_step, group, strips,
                            stride, to);
        }
        group += static_cast<std::size_t>(strips) * kStripUsers * width;
      }
    });
  }
}

void AddExactProducts(StripMatrix x, StripMatrix y, int first_strip, int strips,
                      const double* packed, bool upper, std::uint64_t* sums) {
  const int tail = TailColumns(y.rows), whole = y.rows - tail;
  const std::size_t stride = StrideOf(y.rows);
  AddAll(x, first_strip, strips, whole, stride, packed, upper, sums);
  if (tail == 0) return;
  const std::size_t x_step = StripSize(x.strip_rows);
  const std::size_t y_step = StripSize(y.strip_rows);
  const RowCut cut(x.rows);
  for (int panel = 0; panel < cut.panels(); ++panel) {
    const int row = cut.First(panel);
    ForPanelSize(cut.Rows(panel), [&]<int kRows>() {
      AddTail<kRows>(tail, x.values + first_strip * x_step + StripSize(row),
                     x_step, y.values + first_strip * y_step + StripSize(whole),
                     y_step, strips, stride, sums + row * stride + whole);
    });
  }
}

void AddProducts(StripMatrix x, int first_strip, int strips, int columns,
                 const double* packed, bool upper, double* sums) {
  AddAll(x, first_strip, strips, columns, StrideOf(columns), packed, upper,
         sums);
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_PRODUCTS_H_
