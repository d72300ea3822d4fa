// Bounds on what one person may add to `class_moments`
// (docs/reference/privacy.md, Theorem "Classes"), in integers that the plan,
// the price and the gate share.
#ifndef DPNMF_COMMON_PRIVACY_CLASS_BOUNDS_H_
#define DPNMF_COMMON_PRIVACY_CLASS_BOUNDS_H_

#include <cstdint>

#include "common/privacy/run_plan.h"

namespace dpnmf {

inline constexpr std::uint32_t kMostClasses = 1000;
// Entries of a release, (D + 1)^2 C: 32 MB.
inline constexpr std::uint64_t kMostClassEntries = std::uint64_t{1} << 22;

// A person is k in Z^D with |k_i| <= largest_entry and |k|^2 <= norm_bound, on
// the lattice 2^-bits, and a constant: z = (a, k).
struct ClassBounds {
  double centre = 0;                // k is v less this, entry by entry
  std::uint64_t largest_entry = 0;  // m
  std::uint64_t norm_bound = 0;     // Q
  std::uint64_t constant = 0;       // a: a^2 <= Q / 2
  // Q_z = a^2 + Q: |z z'| <= Q_z. 2^62 where it would be more.
  std::uint64_t whole = 0;
};

// With a declared range [low, high] the centre is its middle and Q = D m^2;
// without one the centre is 0 and Q that of the column bound.
ClassBounds ClassBoundsOf(const DatasetFacts& facts, int bits);

// (D + 1)^2 C, or 2^64 - 1 where that is more. Facts with classes.
std::uint64_t ClassEntriesOf(const DatasetFacts& facts);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_CLASS_BOUNDS_H_
