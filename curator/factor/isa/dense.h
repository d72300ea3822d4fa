// The inner loops of the dense H step (curator/factor/kernels/kernels.h).
#ifndef DPNMF_CURATOR_FACTOR_ISA_DENSE_H_
#define DPNMF_CURATOR_FACTOR_ISA_DENSE_H_

#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/lanes.h"

namespace dpnmf::curator::DPNMF_ISA {
namespace {

// tile += (or -=) sum over i of panel[i][r] * x[i], i ascending.
template <int kRows, bool kSubtract>
DPNMF_INLINE void Accumulate(int count, const double* __restrict panel,
                             const double* __restrict x,
                             Lanes (&tile)[kRows][2]) {
  for (int i = 0; i < count; ++i) {
    const Lanes left = Load(x);
    const Lanes right = Load(x + kLaneCount);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const Lanes w = Broadcast(panel[r]);
      if constexpr (kSubtract) {
        tile[r][0] = MultiplySubtract(w, left, tile[r][0]);
        tile[r][1] = MultiplySubtract(w, right, tile[r][1]);
      } else {
        tile[r][0] = MultiplyAdd(w, left, tile[r][0]);
        tile[r][1] = MultiplyAdd(w, right, tile[r][1]);
      }
    }
    panel += kRows;
    x += kStripUsers;
  }
}

template <int kRows>
DPNMF_INLINE void LoadTile(const double* from, Lanes (&tile)[kRows][2]) {
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    tile[r][0] = Load(from + r * kStripUsers);
    tile[r][1] = Load(from + r * kStripUsers + kLaneCount);
  }
}

// Calls work.template operator()<rows>() for rows in 1..6.
template <typename Work>
DPNMF_INLINE void ForPanelSize(int rows, const Work& work) {
  switch (rows) {
    case 1:
      return work.template operator()<1>();
    case 2:
      return work.template operator()<2>();
    case 3:
      return work.template operator()<3>();
    case 4:
      return work.template operator()<4>();
    case 5:
      return work.template operator()<5>();
    default:
      return work.template operator()<6>();
  }
}

template <int kRows>
void AddProductTile(const double* panel, int count, const double* x,
                    double* out) {
  Lanes tile[kRows][2];
  LoadTile<kRows>(out, tile);
  Accumulate<kRows, false>(count, panel, x, tile);
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    Store(tile[r][0], out + r * kStripUsers);
    Store(tile[r][1], out + r * kStripUsers + kLaneCount);
  }
}

template <int kRows>
void WithoutOutliersTile(const double* panel, int inner,
                         const OutlierRule& rule, const double* h,
                         const float* v, double* u) {
  Lanes tile[kRows][2] = {};
  Accumulate<kRows, false>(inner, panel, h, tile);
  const Lanes lambda = Broadcast(rule.lambda);
  const Lanes bound = Broadcast(rule.bound);
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int at = r * kStripUsers + half * kLaneCount;
      Store(Inlier(LoadFloats(v + at), tile[r][half], lambda, bound), u + at);
    }
  }
}

// The products with the h of before the panel come from the tile; within the
// panel each step corrects the ones after it, which is the cyclic order
// exactly.
template <int kRows>
void SweepTile(const double* panel, int rank, int first, const double* inverse,
               const double* c, double* h) {
  Lanes gap[kRows][2];  // c_k - G_k. h
  LoadTile<kRows>(c + first * kStripUsers, gap);
  Accumulate<kRows, true>(rank, panel, h, gap);
  const double* within = panel + static_cast<std::size_t>(first) * kRows;
  double* own = h + first * kStripUsers;
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    const Lanes scale = Broadcast(inverse[first + r]);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const Lanes old = Load(own + r * kStripUsers + half * kLaneCount);
      const Lanes next = PositivePart(MultiplyAdd(gap[r][half], scale, old));
      const Lanes step = next - old;
      Store(next, own + r * kStripUsers + half * kLaneCount);
      for (int later = r + 1; later < kRows; ++later) {
        // G is symmetric: G(first + later, first + r).
        gap[later][half] = MultiplySubtract(
            Broadcast(within[r * kRows + later]), step, gap[later][half]);
      }
    }
  }
}

DPNMF_INLINE const double* PanelOf(PanelView m, const RowCut& cut, int panel,
                                   int first) {
  return m.values + static_cast<std::size_t>(cut.First(panel)) * m.inner +
         static_cast<std::size_t>(cut.Rows(panel)) * first;
}

void AddProduct(PanelView m, int first, int count, const double* x,
                double* out) {
  const RowCut cut(m.rows);
  for (int panel = 0; panel < cut.panels(); ++panel) {
    double* const to = out + StripSize(cut.First(panel));
    const double* const from = PanelOf(m, cut, panel, first);
    ForPanelSize(cut.Rows(panel), [&]<int kRows>() {
      for (int user = 0; user < kStripUsers; user += kTileUsers)
        AddProductTile<kRows>(from, count, x + user, to + user);
    });
  }
}

void WithoutOutliers(PanelView w, int first_panel, int last_panel,
                     OutlierRule rule, const double* h, const float* v,
                     double* u) {
  const RowCut cut(w.rows);
  for (int panel = first_panel; panel < last_panel; ++panel) {
    const int rows = cut.Rows(panel);
    const double* const from = PanelOf(w, cut, panel, 0);
    ForPanelSize(rows, [&]<int kRows>() {
      for (int user = 0; user < kStripUsers; user += kTileUsers) {
        WithoutOutliersTile<kRows>(from, w.inner, rule, h + user, v + user,
                                   u + user);
      }
    });
    v += StripSize(rows);
    u += StripSize(rows);
  }
}

void Sweep(PanelView gram, const double* inverse_diagonal, int strips,
           const double* c, double* h) {
  const RowCut cut(gram.rows);
  for (int panel = 0; panel < cut.panels(); ++panel) {
    const double* const from = PanelOf(gram, cut, panel, 0);
    ForPanelSize(cut.Rows(panel), [&]<int kRows>() {
      for (int strip = 0; strip < strips; ++strip) {
        for (int user = 0; user < kStripUsers; user += kTileUsers) {
          const std::size_t at = strip * StripSize(gram.rows) + user;
          SweepTile<kRows>(from, gram.rows, cut.First(panel), inverse_diagonal,
                           c + at, h + at);
        }
      }
    });
  }
}

// Floats of one row of a strip (or of its half): as wide as Lanes.
constexpr int kFloatLanes = 2 * kLaneCount;
typedef float FloatLanes
    __attribute__((vector_size(kFloatLanes * 4), may_alias));

// In the four lanes from 4 j on: entries row .. row + 4 of column 4 j.
DPNMF_INLINE FloatLanes LoadEveryFourth(const float* const* columns, int row) {
#if defined(__AVX512F__)
  __m512 x = _mm512_castps128_ps512(_mm_loadu_ps(columns[0] + row));
  x = _mm512_insertf32x4(x, _mm_loadu_ps(columns[4] + row), 1);
  x = _mm512_insertf32x4(x, _mm_loadu_ps(columns[8] + row), 2);
  return _mm512_insertf32x4(x, _mm_loadu_ps(columns[12] + row), 3);
#elif defined(__AVX__)
  return _mm256_insertf128_ps(
      _mm256_castps128_ps256(_mm_loadu_ps(columns[0] + row)),
      _mm_loadu_ps(columns[4] + row), 1);
#else
  FloatLanes x;
  for (int lane = 0; lane < kFloatLanes; ++lane)
    x[lane] = columns[lane / 4 * 4][row + lane % 4];
  return x;
#endif
}

// Transposes every 4 x 4 block: x[i] has column i of each, then row i.
DPNMF_INLINE void TransposeBlocks(FloatLanes (&x)[4]) {
#if defined(__AVX512F__)
  const __m512 ab_low = _mm512_unpacklo_ps(x[0], x[1]);
  const __m512 ab_high = _mm512_unpackhi_ps(x[0], x[1]);
  const __m512 cd_low = _mm512_unpacklo_ps(x[2], x[3]);
  const __m512 cd_high = _mm512_unpackhi_ps(x[2], x[3]);
  const auto low = [](__m512 ab, __m512 cd) {
    return _mm512_castpd_ps(
        _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
  };
  const auto high = [](__m512 ab, __m512 cd) {
    return _mm512_castpd_ps(
        _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd)));
  };
  x[0] = low(ab_low, cd_low);
  x[1] = high(ab_low, cd_low);
  x[2] = low(ab_high, cd_high);
  x[3] = high(ab_high, cd_high);
#else
  const FloatLanes a = x[0], b = x[1], c = x[2], d = x[3];
  const FloatLanes ab_low =
      __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  const FloatLanes ab_high =
      __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  const FloatLanes cd_low =
      __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
  const FloatLanes cd_high =
      __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
  x[0] = __builtin_shufflevector(ab_low, cd_low, 0, 1, 8, 9, 4, 5, 12, 13);
  x[1] = __builtin_shufflevector(ab_low, cd_low, 2, 3, 10, 11, 6, 7, 14, 15);
  x[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 8, 9, 4, 5, 12, 13);
  x[3] = __builtin_shufflevector(ab_high, cd_high, 2, 3, 10, 11, 6, 7, 14, 15);
#endif
}

DPNMF_INLINE void StoreRow(const FloatLanes& row, float* to) {
  std::memcpy(to, &row, sizeof row);
}

DPNMF_INLINE void StoreRow(const FloatLanes& row, double* to) {
  float floats[kFloatLanes];
  std::memcpy(floats, &row, sizeof row);
  Store(LoadFloats(floats), to);
  Store(LoadFloats(floats + kLaneCount), to + kLaneCount);
}

// Returns whether no user of the strip is padding.
template <typename Column>
DPNMF_INLINE bool IsFull(Column* const* columns) {
  for (int user = 0; user < kStripUsers; ++user)
    if (columns[user] == nullptr) return false;
  return true;
}

// Four rows at a time; the last four may begin among those before.
template <typename Work>
DPNMF_INLINE void ForFourRows(int rows, const Work& work) {
  for (int row = 0; row < rows; row += 4)
    work(row + 4 <= rows ? row : rows - 4);
}

template <typename T>
void LoadStripAs(const float* const* columns, int rows, T* strip) {
  if (rows >= 4 && IsFull(columns)) {
    return ForFourRows(rows, [&](int row) {
      for (int user = 0; user < kStripUsers; user += kFloatLanes) {
        FloatLanes x[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          x[i] = LoadEveryFourth(columns + user + i, row);
        TransposeBlocks(x);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          StoreRow(x[i], strip + StripSize(row + i) + user);
      }
    });
  }
  for (int user = 0; user < kStripUsers; ++user) {
    const float* column = columns[user];
    for (int row = 0; row < rows; ++row) {
      strip[StripSize(row) + user] = column == nullptr ? T{0} : T{column[row]};
    }
  }
}

void LoadFloatStrip(const float* const* columns, int rows, float* strip) {
  LoadStripAs(columns, rows, strip);
}
void LoadDoubleStrip(const float* const* columns, int rows, double* strip) {
  LoadStripAs(columns, rows, strip);
}

typedef double Quad __attribute__((vector_size(32), may_alias));

DPNMF_INLINE Quad LoadQuad(const double* from) {
  Quad quad;
  std::memcpy(&quad, from, sizeof quad);
  return quad;
}

DPNMF_INLINE void StoreQuad(Quad quad, double* to) {
  std::memcpy(to, &quad, sizeof quad);
}

DPNMF_INLINE void Transpose(Quad (&q)[4]) {
  const Quad ab_even = __builtin_shufflevector(q[0], q[1], 0, 4, 2, 6);
  const Quad ab_odd = __builtin_shufflevector(q[0], q[1], 1, 5, 3, 7);
  const Quad cd_even = __builtin_shufflevector(q[2], q[3], 0, 4, 2, 6);
  const Quad cd_odd = __builtin_shufflevector(q[2], q[3], 1, 5, 3, 7);
  q[0] = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
  q[1] = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
  q[2] = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
  q[3] = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
}

void LoadColumns(const double* const* columns, int rows, double* strip) {
  if (rows >= 4 && IsFull(columns)) {
    return ForFourRows(rows, [&](int row) {
      for (int user = 0; user < kStripUsers; user += 4) {
        Quad quads[4];
        for (int i = 0; i < 4; ++i)
          quads[i] = LoadQuad(columns[user + i] + row);
        Transpose(quads);
        for (int i = 0; i < 4; ++i)
          StoreQuad(quads[i], strip + StripSize(row + i) + user);
      }
    });
  }
  for (int user = 0; user < kStripUsers; ++user) {
    for (int row = 0; row < rows; ++row) {
      strip[StripSize(row) + user] =
          columns[user] == nullptr ? 0.0 : columns[user][row];
    }
  }
}

void StoreColumns(const double* strip, int rows, double* const* columns) {
  if (rows >= 4 && IsFull(columns)) {
    return ForFourRows(rows, [&](int row) {
      for (int user = 0; user < kStripUsers; user += 4) {
        Quad quads[4];
        for (int i = 0; i < 4; ++i)
          quads[i] = LoadQuad(strip + StripSize(row + i) + user);
        Transpose(quads);
        for (int i = 0; i < 4; ++i)
          StoreQuad(quads[i], columns[user + i] + row);
      }
    });
  }
  for (int user = 0; user < kStripUsers; ++user) {
    for (int row = 0; row < rows && columns[user] != nullptr; ++row)
      columns[user][row] = strip[StripSize(row) + user];
  }
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_DENSE_H_
