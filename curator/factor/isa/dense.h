// The inner loops of the dense H step (curator/factor/kernels.h).
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

typedef float FourFloats __attribute__((vector_size(16)));
typedef double FourDoubles __attribute__((vector_size(32)));

DPNMF_INLINE FourFloats LoadFour(const float* from) {
  FourFloats four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

DPNMF_INLINE void StoreFour(FourFloats four, float* to) {
  std::memcpy(to, &four, sizeof four);
}

DPNMF_INLINE void StoreFour(FourFloats four, double* to) {
  const FourDoubles doubles = __builtin_convertvector(four, FourDoubles);
  std::memcpy(to, &doubles, sizeof doubles);
}

// Four rows of four columns, transposed.
template <typename T>
DPNMF_INLINE void LoadFourByFour(const float* const* columns, int row, T* to) {
  const FourFloats a = LoadFour(columns[0] + row),
                   b = LoadFour(columns[1] + row);
  const FourFloats c = LoadFour(columns[2] + row),
                   d = LoadFour(columns[3] + row);
  const FourFloats ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const FourFloats ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const FourFloats cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const FourFloats cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  StoreFour(__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), to);
  StoreFour(__builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
            to + kStripUsers);
  StoreFour(__builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
            to + 2 * kStripUsers);
  StoreFour(__builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7),
            to + 3 * kStripUsers);
}

template <typename T>
void LoadStripAs(const float* const* columns, int rows, T* strip) {
  bool full = true;
  for (int user = 0; user < kStripUsers; ++user)
    full = full && columns[user] != nullptr;
  int first = 0;
  for (; full && first + 4 <= rows; first += 4) {
    for (int user = 0; user < kStripUsers; user += 4) {
      LoadFourByFour(
          columns + user, first,
          strip + static_cast<std::size_t>(first) * kStripUsers + user);
    }
  }
  for (int user = 0; user < kStripUsers; ++user) {
    const float* column = columns[user];
    for (int row = first; row < rows; ++row) {
      strip[static_cast<std::size_t>(row) * kStripUsers + user] =
          column == nullptr ? T{0} : T{column[row]};
    }
  }
}

void LoadFloatStrip(const float* const* columns, int rows, float* strip) {
  LoadStripAs(columns, rows, strip);
}
void LoadDoubleStrip(const float* const* columns, int rows, double* strip) {
  LoadStripAs(columns, rows, strip);
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_DENSE_H_
