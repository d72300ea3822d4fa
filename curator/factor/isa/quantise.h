// Clipping, rounding and the gate (curator/factor/kernels/quantise.h).
#ifndef DPNMF_CURATOR_FACTOR_ISA_QUANTISE_H_
#define DPNMF_CURATOR_FACTOR_ISA_QUANTISE_H_

#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/lanes.h"

namespace dpnmf::curator::DPNMF_ISA {
namespace {

constexpr double kInfinity = __builtin_inf();

// Factor that shortens scaled lengths, so that rounding does not fail the gate.
constexpr double kShrink = 1 - 0x1p-40;

double FiniteAndPositive(double x) { return x > 0 && x < kInfinity ? x : 0; }

// s 2^q: 2^q if the vector is short enough, else 2^q c / |x|, slightly less.
double Scale(const LatticeBounds& bounds, double squared_length) {
  if (squared_length <= bounds.bound * bounds.bound)
    return bounds.steps_per_unit;
  return bounds.steps_per_unit *
         (bounds.bound / __builtin_sqrt(squared_length) * kShrink);
}

// Vectors of users that go through a column together: as many sums as hide the
// latency of an addition. Two strips of AVX-512, one of AVX2.
constexpr int kStripVectors = kStripUsers / kLaneCount;
constexpr int kColumnVectors = 4;
constexpr int kColumnStrips = kColumnVectors / kStripVectors;
static_assert(kColumnVectors % kStripVectors == 0);

DPNMF_INLINE Lanes ScaleOf(const LatticeBounds& bounds, Lanes squared_length) {
  const Lanes steps = Broadcast(bounds.steps_per_unit);
  const Mask longer = squared_length > Broadcast(bounds.bound * bounds.bound);
  if (!Any(longer)) return steps;
  const Lanes shorter =
      steps * (Broadcast(bounds.bound) / SquareRoot(squared_length) *
               Broadcast(kShrink));
  return longer ? shorter : steps;
}

// floor(x) + 2^52 for x of [0, 2^52): the integer stands in the low bits. For
// x of 2^52 and more, something of 2^53 and more.
DPNMF_INLINE Lanes ShiftedFloor(Lanes x) {
  const Lanes two52 = Broadcast(kTwo52);
#if defined(__AVX512F__)
  return _mm512_add_round_pd(x, two52, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#elif defined(__AVX__)
  return _mm256_floor_pd(x) + two52;
#else
  // Adding 2^52 rounds to an integer, the comparison corrects upward rounding.
  const Lanes nearest = x + two52;
  const Lanes zero = {};
  return nearest - (nearest - two52 > x ? Broadcast(1) : zero);
#endif
}

// The gate, what it keeps of some columns of integers x, given as x + 2^52.
// Integers of [0, 2^52) change no more than the low 52 bits of 2^52; all else
// (what is negative, larger, not a number) changes one above.
struct Gate {
  LatticeBounds bounds;
  int entry_bits;              // m < 2^entry_bits
  std::uint64_t most_squares;  // also below (m + 1)^2, so that no x is above m
  bool wide;                   // squares of entry_bits bits may sum to 2^64

  DPNMF_INLINE Gate(const LatticeBounds& of, std::size_t rows) : bounds(of) {
    const unsigned __int128 one = 1, m = bounds.largest_entry;
    entry_bits = 0;
    while (m >> entry_bits != 0) ++entry_bits;
    const unsigned __int128 above = (m + 1) * (m + 1);
    most_squares = bounds.norm_bound < above
                       ? bounds.norm_bound
                       : static_cast<std::uint64_t>(above - 1);
    wide = ((one << 2 * entry_bits) * rows) >> 64 != 0;
  }
};

template <int kVectors, bool kWide>
struct GateSums {
  Words bits[kVectors] = {};
  Words low[kVectors] = {}, high[kVectors] = {};

  DPNMF_INLINE void Take(int vector, Lanes shifted) {
    const Words word = reinterpret_cast<Words>(shifted);
    bits[vector] |= word ^ reinterpret_cast<Words>(Broadcast(kTwo52));
    const Words square = MultiplyLow(word, word);
    if constexpr (kWide) {
      low[vector] += square & (Words{} + 0xffffffffu);
      high[vector] += square >> 32;
    } else {
      low[vector] += square;
    }
  }

  // Returns whether all lanes of the first vector together pass as one column.
  DPNMF_INLINE bool SumPasses(const Gate& gate) const {
    std::uint64_t any = 0;
    unsigned __int128 sum = 0;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      any |= bits[0][lane];
      sum +=
          (static_cast<unsigned __int128>(high[0][lane]) << 32) + low[0][lane];
    }
    return any >> gate.entry_bits == 0 && sum <= gate.most_squares;
  }

  // All bits set where a column fails.
  DPNMF_INLINE Mask Failing(const Gate& gate, int vector) const {
    const Words zero = {};
    const Mask too_large = (bits[vector] >> gate.entry_bits) != zero;
    if constexpr (!kWide) {
      return too_large | (low[vector] > Words{} + gate.most_squares);
    } else {
      Mask failing = too_large;
      for (int lane = 0; lane < kLaneCount; ++lane) {
        const unsigned __int128 sum =
            (static_cast<unsigned __int128>(high[vector][lane]) << 32) +
            low[vector][lane];
        if (sum > gate.most_squares) failing[lane] = -1;
      }
      return failing;
    }
  }
};

template <int kVectors>
using Places = double* const (&)[kVectors];  // the first row of each vector

DPNMF_INLINE Lanes FiniteAndPositive(Lanes x) {
  const Lanes zero = {};
  return ((x > zero) & (x < Broadcast(kInfinity))) ? x : zero;
}

DPNMF_INLINE void ClearWhere(Mask failing, int rows, double* at) {
  if (!Any(failing)) return;
  const Lanes zero = {};
  for (int row = 0; row < rows; ++row) {
    double* const to = at + StripSize(row);
    Store(failing ? zero : Load(to), to);
  }
}

// Sums of the squares of the positive parts; false if one is not finite.
template <int kVectors>
DPNMF_INLINE bool SquaredLengths(int rows, Places<kVectors> at,
                                 Lanes (&sums)[kVectors]) {
  for (Lanes& sum : sums) sum = Lanes{};
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      const Lanes x = PositivePart(Load(at[vector] + StripSize(row)));
      sums[vector] = MultiplyAdd(x, x, sums[vector]);
    }
  }
  Mask endless = {};
  for (const Lanes& sum : sums) endless |= !(sum < Broadcast(kInfinity));
  return !Any(endless);
}

template <int kVectors, bool kWide>
DPNMF_INLINE void QuantiseVectors(const Gate& gate, int rows,
                                  Places<kVectors> at) {
  Lanes scale[kVectors];
  if (!SquaredLengths<kVectors>(rows, at, scale)) {
    for (int row = 0; row < rows; ++row) {
      for (double* const first : at) {
        double* const to = first + StripSize(row);
        Store(FiniteAndPositive(Load(to)), to);
      }
    }
    SquaredLengths<kVectors>(rows, at, scale);
  }
  for (Lanes& x : scale) x = ScaleOf(gate.bounds, x);
  const Lanes two52 = Broadcast(kTwo52);
  GateSums<kVectors, kWide> sums;
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      double* const to = at[vector] + StripSize(row);
      const Lanes shifted =
          ShiftedFloor(PositivePart(Load(to)) * scale[vector]);
      sums.Take(vector, shifted);
      Store(shifted - two52, to);
    }
  }
  for (int vector = 0; vector < kVectors; ++vector)
    ClearWhere(sums.Failing(gate, vector), rows, at[vector]);
}

template <int kVectors, bool kWide>
DPNMF_INLINE void GateVectors(const Gate& gate, int rows, Places<kVectors> at) {
  const Lanes two52 = Broadcast(kTwo52);
  GateSums<kVectors, kWide> sums;
  Words not_integer[kVectors] = {};
  for (int row = 0; row < rows; ++row) {
    for (int vector = 0; vector < kVectors; ++vector) {
      const Lanes x = Load(at[vector] + StripSize(row));
      const Lanes shifted = x + two52;
      // +0 for an integer.
      not_integer[vector] |= reinterpret_cast<Words>((shifted - two52) - x);
      sums.Take(vector, shifted);
    }
  }
  const Words zero = {};
  for (int vector = 0; vector < kVectors; ++vector) {
    ClearWhere(sums.Failing(gate, vector) | (not_integer[vector] != zero), rows,
               at[vector]);
  }
}

// Calls work.template operator()<vectors, wide>(gate, at) for the strips, some
// at a time.
template <typename Work>
DPNMF_INLINE void ForColumns(const LatticeBounds& bounds, int rows,
                             int strip_rows, int strips, double* values,
                             const Work& work) {
  const Gate gate(bounds, rows);
  const auto take = [&]<int kStrips>(double* first) {
    double* at[kStrips * kStripVectors];
    for (int i = 0; i < kStrips * kStripVectors; ++i) {
      at[i] = first + (i / kStripVectors) * StripSize(strip_rows) +
              (i % kStripVectors) * kLaneCount;
    }
    if (gate.wide) {
      work.template operator()<kStrips * kStripVectors, true>(gate, at);
    } else {
      work.template operator()<kStrips * kStripVectors, false>(gate, at);
    }
  };
  int strip = 0;
  for (; strip + kColumnStrips <= strips; strip += kColumnStrips) {
    take.template operator()<kColumnStrips>(values +
                                            strip * StripSize(strip_rows));
  }
  for (; strip < strips; ++strip)
    take.template operator()<1>(values + strip * StripSize(strip_rows));
}

void GateStrips(const LatticeBounds& bounds, int rows, int strip_rows,
                int strips, double* values) {
  ForColumns(
      bounds, rows, strip_rows, strips, values,
      [&]<int kVectors, bool kWide>(const Gate& gate, Places<kVectors> at) {
        GateVectors<kVectors, kWide>(gate, rows, at);
      });
}

void QuantiseStrips(const LatticeBounds& bounds, int rows, int strip_rows,
                    int strips, double* values) {
  ForColumns(
      bounds, rows, strip_rows, strips, values,
      [&]<int kVectors, bool kWide>(const Gate& gate, Places<kVectors> at) {
        QuantiseVectors<kVectors, kWide>(gate, rows, at);
      });
}

void GateColumn(const LatticeBounds& bounds, std::size_t count,
                double* column) {
  const double largest = static_cast<double>(bounds.largest_entry);
  bool good = true;
  unsigned __int128 sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = column[i];
    if (!(x >= 0 && x <= largest)) {
      good = false;
      break;
    }
    const std::uint64_t integer = static_cast<std::uint64_t>(x);
    good = good && static_cast<double>(integer) == x;
    sum += integer * integer;
  }
  if (good && sum <= bounds.norm_bound) return;
  for (std::size_t i = 0; i < count; ++i) column[i] = 0;
}

// Floor and the gate of one column: its entries are the lanes, as integers add
// up in any order.
template <bool kWide>
DPNMF_INLINE bool FloorColumn(const Gate& gate, std::size_t count, double scale,
                              double* column) {
  GateSums<1, kWide> sums;
  const Lanes two52 = Broadcast(kTwo52), scales = Broadcast(scale);
  const auto floor = [&](Lanes x) {
    const Lanes shifted = ShiftedFloor(x * scales);
    sums.Take(0, shifted);
    return shifted - two52;
  };
  std::size_t i = 0;
  for (; i + kLaneCount <= count; i += kLaneCount)
    Store(floor(Load(column + i)), column + i);
  if (i < count) {
    double rest[kLaneCount] = {};
    std::memcpy(rest, column + i, (count - i) * sizeof(double));
    Store(floor(Load(rest)), rest);
    std::memcpy(column + i, rest, (count - i) * sizeof(double));
  }
  return sums.SumPasses(gate);
}

void QuantiseColumn(const LatticeBounds& bounds, std::size_t count,
                    double* column) {
  double squared_length = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double& x = column[i];
    x = FiniteAndPositive(x);
    squared_length = MultiplyAdd(x, x, squared_length);
  }
  const double scale = Scale(bounds, squared_length);
  const Gate gate(bounds, count);
  const bool passes = gate.wide
                          ? FloorColumn<true>(gate, count, scale, column)
                          : FloorColumn<false>(gate, count, scale, column);
  if (passes) return;
  for (std::size_t i = 0; i < count; ++i) column[i] = 0;
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_QUANTISE_H_
