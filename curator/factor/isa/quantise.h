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

// floor(x) for x in [0, 2^52); NaN becomes 0 and larger x 2^52 (which no gate
// lets pass). Adding 2^52 rounds to an integer, the comparison corrects upward
// rounding.
DPNMF_INLINE Lanes Floor(Lanes x) {
  const Lanes two52 = Broadcast(kTwo52);
  const Lanes zero = {};
  const Lanes in_range =
      PositivePart(x < two52 ? x : (x >= two52 ? two52 : zero));
  const Lanes nearest = (in_range + two52) - two52;
  return nearest - (nearest > in_range ? Broadcast(1) : zero);
}

double FiniteAndPositive(double x) { return x > 0 && x < kInfinity ? x : 0; }

double Floor(double x) {
  return x < kTwo52 ? __builtin_floor(x) : (x >= kTwo52 ? kTwo52 : 0);
}

// The integer in the low bits of x + 2^52, x an integer in [0, 2^52).
DPNMF_INLINE Words IntegerOf(Lanes x) {
  return reinterpret_cast<Words>(x + Broadcast(kTwo52)) &
         (Words{} + ((std::uint64_t{1} << 52) - 1));
}

void GateStrip(const LatticeBounds& bounds, int rows, double* strip) {
  const Lanes zero = {};
  const Lanes largest = Broadcast(static_cast<double>(bounds.largest_entry));
  const Words low_half = Words{} + 0xffffffffu;
  bool all_pass = true;
  bool passes[kStripUsers];
  for (int half = 0; half < kStripUsers / kLaneCount; ++half) {
    // Squares are below 2^64; their halves add up without overflow for any row
    // count that fits in memory.
    Words low = {}, high = {};
    Mask good = ~Mask{};
    for (int row = 0; row < rows; ++row) {
      const Lanes x = Load(strip + static_cast<std::size_t>(row) * kStripUsers +
                           half * kLaneCount);
      good &= (x >= zero) & (x <= largest);
      const Words integer = IntegerOf(x);
      good &= (reinterpret_cast<Lanes>(
                   integer | reinterpret_cast<Words>(Broadcast(kTwo52))) -
                   Broadcast(kTwo52) ==
               x);
      const Words square = integer * integer;
      low += square & low_half;
      high += square >> 32;
    }
    for (int lane = 0; lane < kLaneCount; ++lane) {
      const unsigned __int128 sum =
          (static_cast<unsigned __int128>(high[lane]) << 32) + low[lane];
      const bool pass = good[lane] != 0 && sum <= bounds.norm_bound;
      passes[half * kLaneCount + lane] = pass;
      all_pass = all_pass && pass;
    }
  }
  if (all_pass) return;
  for (int row = 0; row < rows; ++row) {
    for (int user = 0; user < kStripUsers; ++user) {
      if (!passes[user])
        strip[static_cast<std::size_t>(row) * kStripUsers + user] = 0;
    }
  }
}

void QuantiseStrip(const LatticeBounds& bounds, int rows, double* strip) {
  for (int half = 0; half < kStripUsers / kLaneCount; ++half) {
    double* const first = strip + half * kLaneCount;
    Lanes squared_length = {};
    for (int row = 0; row < rows; ++row) {
      double* const at = first + static_cast<std::size_t>(row) * kStripUsers;
      const Lanes x = FiniteAndPositive(Load(at));
      squared_length = MultiplyAdd(x, x, squared_length);
      Store(x, at);
    }
    Lanes scale;
    for (int lane = 0; lane < kLaneCount; ++lane) {
      scale[lane] = Scale(bounds, squared_length[lane]);
    }
    for (int row = 0; row < rows; ++row) {
      double* const at = first + static_cast<std::size_t>(row) * kStripUsers;
      Store(Floor(Load(at) * scale), at);
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
  for (std::size_t i = 0; i < count; ++i) column[i] = Floor(column[i] * scale);
  GateColumn(bounds, count, column);
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_QUANTISE_H_
