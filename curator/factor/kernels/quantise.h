// From real vectors to gated integers: the step on which the bound on one
// user's share rests (docs/reference/privacy.md, "What one user can add").
//
// Clipping and quantising are floating point and may be as wrong as they like:
// the gate, in integers alone, decides what is added.
#ifndef DPNMF_CURATOR_FACTOR_KERNELS_QUANTISE_H_
#define DPNMF_CURATOR_FACTOR_KERNELS_QUANTISE_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "curator/factor/isa/kernel_table.h"
#include "curator/factor/isa/simd_layout.h"

namespace dpnmf::curator {

// INTERNAL "bits-out-of-range" if c is not positive or m would reach 2^32.
absl::StatusOr<LatticeBounds> LatticeBoundsOf(double bound, int bits);

// INTERNAL "sums-overflow" unless N m m' < 2^62: then no sum over `users` of
// products of entries up to m and m' leaves the range of exact sums
// (docs/reference/privacy.md, "Exact sums"). m m' < 2^64: both below 2^32, or
// m a bound on whole products and m' = 1.
absl::Status CheckSumsFit(std::uint64_t users, std::uint64_t m,
                          std::uint64_t m_other);

// x <- floor(2^q s x) with negative and non-finite entries as 0 and s such that
// the length is at most c, then the gate: a user whose integers fail adds zero.
// `strips` strips, each of `strip_rows` rows of which the first `rows` count.
void QuantiseStrips(const LatticeBounds& bounds, int rows, int strip_rows,
                    int strips, double* values);

// The gate on strips of numbers: a user with an entry that is not an integer
// in [0, m], or whose squares sum to more than norm_bound, becomes zero.
void GateStrips(const LatticeBounds& bounds, int rows, int strip_rows,
                int strips, double* values);

// The same for one user's nonzero entries. The bits are those of the strip with
// its zeros.
void QuantiseColumn(const LatticeBounds& bounds, std::span<double> column);
void GateColumn(const LatticeBounds& bounds, std::span<double> column);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_KERNELS_QUANTISE_H_
