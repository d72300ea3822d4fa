// Vectors of doubles of one instruction set. For the kernels alone: everything
// is in the namespace of the instruction set (DPNMF_ISA) and inlined.
//
// A multiplication and an addition become one rounding where MultiplyAdd says
// so and nowhere else (-ffp-contract=off on all of curator/factor): the
// compiler has no choice that could differ between two kernels.
#ifndef DPNMF_CURATOR_FACTOR_ISA_LANES_H_
#define DPNMF_CURATOR_FACTOR_ISA_LANES_H_

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "curator/factor/isa/simd_layout.h"

namespace dpnmf::curator::DPNMF_ISA {
namespace {

#if defined(__AVX512F__)
inline constexpr int kLaneCount = 8;
#else
inline constexpr int kLaneCount = 4;
#endif
constexpr double kTwo52 = 4503599627370496.0;

// Users of a strip that a tile takes: two vectors side by side.
inline constexpr int kTileUsers = 2 * kLaneCount;
static_assert(kStripUsers % kTileUsers == 0);

// Doubles, and 64-bit words of the same shape (also the type of comparisons).
typedef double Lanes __attribute__((vector_size(kLaneCount * 8), may_alias));
typedef std::uint64_t Words
    __attribute__((vector_size(kLaneCount * 8), may_alias));
typedef std::int64_t Mask
    __attribute__((vector_size(kLaneCount * 8), may_alias));

// The strips need no alignment: memcpy becomes one unaligned move.
DPNMF_INLINE Lanes Load(const double* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

DPNMF_INLINE void Store(Lanes lanes, double* to) {
  std::memcpy(to, &lanes, sizeof lanes);
}

DPNMF_INLINE Lanes LoadFloats(const float* from) {
  typedef float Floats __attribute__((vector_size(kLaneCount * 4)));
  Floats floats;
  std::memcpy(&floats, from, sizeof floats);
  return __builtin_convertvector(floats, Lanes);
}

DPNMF_INLINE Lanes Broadcast(double x) {
#if defined(__AVX512F__)
  return Lanes{x, x, x, x, x, x, x, x};
#else
  return Lanes{x, x, x, x};
#endif
}

// c + a b with one rounding where the machine has the instruction, with two
// where it has not; the same for vectors and for single numbers.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
DPNMF_INLINE double MultiplyAdd(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
#else
DPNMF_INLINE double MultiplyAdd(double a, double b, double c) {
  return c + a * b;
}
#endif
#if defined(__AVX512F__)
DPNMF_INLINE Lanes MultiplyAdd(Lanes a, Lanes b, Lanes c) {
  return _mm512_fmadd_pd(a, b, c);
}
// c - a b.
DPNMF_INLINE Lanes MultiplySubtract(Lanes a, Lanes b, Lanes c) {
  return _mm512_fnmadd_pd(a, b, c);
}
#elif defined(__AVX__) && defined(__FMA__)
DPNMF_INLINE Lanes MultiplyAdd(Lanes a, Lanes b, Lanes c) {
  return _mm256_fmadd_pd(a, b, c);
}
// c - a b.
DPNMF_INLINE Lanes MultiplySubtract(Lanes a, Lanes b, Lanes c) {
  return _mm256_fnmadd_pd(a, b, c);
}
#else
DPNMF_INLINE Lanes MultiplyAdd(Lanes a, Lanes b, Lanes c) {
  for (int lane = 0; lane < kLaneCount; ++lane) {
    c[lane] = MultiplyAdd(a[lane], b[lane], c[lane]);
  }
  return c;
}
DPNMF_INLINE Lanes MultiplySubtract(Lanes a, Lanes b, Lanes c) {
  return MultiplyAdd(-a, b, c);
}
#endif

// a < b ? a : b and a > b ? a : b: b if either is NaN.
DPNMF_INLINE Lanes Lesser(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return _mm512_min_pd(a, b);
#elif defined(__AVX__)
  return _mm256_min_pd(a, b);
#else
  return a < b ? a : b;
#endif
}
DPNMF_INLINE Lanes Greater(Lanes a, Lanes b) {
#if defined(__AVX512F__)
  return _mm512_max_pd(a, b);
#elif defined(__AVX__)
  return _mm256_max_pd(a, b);
#else
  return a > b ? a : b;
#endif
}

// Returns whether a comparison holds in any lane.
DPNMF_INLINE bool Any(Mask mask) {
#if defined(__AVX512DQ__)
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX__)
  return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) != 0;
#else
  std::int64_t all = 0;
  for (int lane = 0; lane < kLaneCount; ++lane) all |= mask[lane];
  return all != 0;
#endif
}

DPNMF_INLINE Lanes SquareRoot(Lanes x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_pd(x);
#elif defined(__AVX__)
  return _mm256_sqrt_pd(x);
#else
  for (int lane = 0; lane < kLaneCount; ++lane)
    x[lane] = __builtin_sqrt(x[lane]);
  return x;
#endif
}

// Products of the low halves of 64-bit words.
DPNMF_INLINE Words MultiplyLow(Words x, Words y) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(_mm512_mul_epu32(
      reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(_mm256_mul_epu32(
      reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
#else
  const Words half = Words{} + 0xffffffffu;
  return (x & half) * (y & half);
#endif
}

// max(0, x); NaN becomes 0.
DPNMF_INLINE Lanes PositivePart(Lanes x) { return Greater(x, Lanes{}); }

// max(low, min(x, high)); NaN stays.
DPNMF_INLINE Lanes Clip(Lanes x, Lanes low, Lanes high) {
  return Greater(low, Lesser(high, x));
}

// v - S_{lambda,M}(v - W h).
DPNMF_INLINE Lanes Inlier(Lanes v, Lanes reconstruction, Lanes lambda,
                          Lanes bound) {
  const Lanes e = v - reconstruction;
  const Lanes r = Clip(e - Clip(e, -lambda, lambda), -bound, bound);
  return v - r;
}

}  // namespace
}  // namespace dpnmf::curator::DPNMF_ISA

#endif  // DPNMF_CURATOR_FACTOR_ISA_LANES_H_
