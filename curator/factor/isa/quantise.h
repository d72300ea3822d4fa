// Clipping, rounding and the gate (curator/factor/quantise.h).
#ifndef DPNMF_CURATOR_FACTOR_ISA_QUANTISE_H_
#define DPNMF_CURATOR_FACTOR_ISA_QUANTISE_H_

#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/lanes.h"

namespace dpnmf::curator::DPNMF_ISA {
namespace {

constexpr double kInfinity = __builtin_inf();

// What the lengths are scaled to, so that rounding does not fail the gate.
constexpr double kShrink = 1 - 0x1p-40;

// s 2^q: 2^q if the vector is short enough, else 2^q c / |x|, slightly less.
double Scale(const LatticeBounds& bounds, double squared_length) {
  if (squared_length <= bounds.bound * bounds.bound)
    return bounds.steps_per_unit;
  return bounds.steps_per_unit *
         (bounds.bound / __builtin_sqrt(squared_length) * kShrink);
}

DPNMF_INLINE Lanes FiniteAndPositive(Lanes x) {
  const Lanes zero = {};
  return ((x > zero) & (x < Broadcast(kInfinity))) ? x : zero;
}

// floor(x), x >= 0. The gate lets none pass that is not below 2^32.
DPNMF_INLINE Lanes Floor(Lanes x) {
#if defined(__AVX512F__)
  return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(__AVX__)
  return _mm256_floor_pd(x);
#else
  // Adding 2^52 rounds to an integer, the comparison corrects upward rounding.
  const Lanes nearest = (x + Broadcast(kTwo52)) - Broadcast(kTwo52);
  const Lanes zero = {};
  return x < Broadcast(kTwo52) ? nearest - (nearest > x ? Broadcast(1) : zero)
                               : x;
#endif
}

double FiniteAndPositive(double x) { return x > 0 && x < kInfinity ? x : 0; }

// The squares of the low halves of 64-bit words.
DPNMF_INLINE Words SquareLow(Words x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(_mm512_mul_epu32(
      reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(_mm256_mul_epu32(
      reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(x)));
#else
  const Words low = x & (Words{} + 0xffffffffu);
  return low * low;
#endif
}

constexpr int kVectors = kStripUsers / kLaneCount;

// Which users of a strip pass the gate. kWide: their squares may sum to 2^64.
template <bool kWide>
DPNMF_INLINE bool AllPass(const LatticeBounds& bounds, int rows,
                          const double* strip, bool (&passes)[kStripUsers]) {
  const Lanes two52 = Broadcast(kTwo52);
  // Squares are below 2^64 for a user with good entries; their halves add up
  // without overflow for any row count that fits in memory.
  Words low[kVectors] = {}, high[kVectors] = {};
  Words not_integer[kVectors] = {};  // some bit is set
  Lanes least[kVectors] = {}, most[kVectors] = {};
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      const Lanes x = Load(strip + StripSize(row) + vector * kLaneCount);
      // An integer of [0, 2^32) stands in the low half of x + 2^52. The
      // difference is +0 for an integer, NaN if x is NaN or infinite.
      const Lanes shifted = x + two52;
      not_integer[vector] |= reinterpret_cast<Words>((shifted - two52) - x);
      least[vector] = Lesser(x, least[vector]);
      most[vector] = Greater(x, most[vector]);
      const Words square = SquareLow(reinterpret_cast<Words>(shifted));
      if constexpr (kWide) {
        low[vector] += square & (Words{} + 0xffffffffu);
        high[vector] += square >> 32;
      } else {
        low[vector] += square;
      }
    }
  }
  const double largest = static_cast<double>(bounds.largest_entry);
  bool all_pass = true;
  for (int user = 0; user < kStripUsers; ++user) {
    const int vector = user / kLaneCount, lane = user % kLaneCount;
    const unsigned __int128 sum =
        (static_cast<unsigned __int128>(high[vector][lane]) << 32) +
        low[vector][lane];
    passes[user] = not_integer[vector][lane] == 0 && least[vector][lane] >= 0 &&
                   most[vector][lane] <= largest && sum <= bounds.norm_bound;
    all_pass = all_pass && passes[user];
  }
  return all_pass;
}

void GateStrip(const LatticeBounds& bounds, int rows, double* strip) {
  const unsigned __int128 largest_sum =
      static_cast<unsigned __int128>(bounds.largest_entry) *
      bounds.largest_entry * static_cast<unsigned>(rows);
  bool passes[kStripUsers];
  const bool all_pass = largest_sum >> 64 == 0
                            ? AllPass<false>(bounds, rows, strip, passes)
                            : AllPass<true>(bounds, rows, strip, passes);
  if (all_pass) return;
  for (int row = 0; row < rows; ++row) {
    for (int user = 0; user < kStripUsers; ++user) {
      if (!passes[user]) strip[StripSize(row) + user] = 0;
    }
  }
}

void QuantiseStrip(const LatticeBounds& bounds, int rows, double* strip) {
  Lanes squared_length[kVectors] = {};
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      const Lanes x =
          FiniteAndPositive(Load(strip + StripSize(row) + vector * kLaneCount));
      squared_length[vector] = MultiplyAdd(x, x, squared_length[vector]);
    }
  }
  Lanes scale[kVectors];
  for (int user = 0; user < kStripUsers; ++user) {
    const int vector = user / kLaneCount, lane = user % kLaneCount;
    scale[vector][lane] = Scale(bounds, squared_length[vector][lane]);
  }
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 4
    for (int vector = 0; vector < kVectors; ++vector) {
      double* const at = strip + StripSize(row) + vector * kLaneCount;
      Store(Floor(FiniteAndPositive(Load(at)) * scale[vector]), at);
    }
  }
  GateStrip(bounds, rows, strip);
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

void QuantiseColumn(const LatticeBounds& bounds, std::size_t count,
                    double* column) {
  double squared_length = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double& x = column[i];
    x = FiniteAndPositive(x);
    squared_length = MultiplyAdd(x, x, squared_length);
  }
  const double scale = Scale(bounds, squared_length);
  for (std::size_t i = 0; i < count; ++i)
    column[i] = __builtin_floor(column[i] * scale);
  GateColumn(bounds, count, column);
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_QUANTISE_H_
