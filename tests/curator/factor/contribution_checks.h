// Conditions on contributions and on neighbours' sums, in integers.
#ifndef DPNMF_TESTS_CURATOR_FACTOR_CONTRIBUTION_CHECKS_H_
#define DPNMF_TESTS_CURATOR_FACTOR_CONTRIBUTION_CHECKS_H_

#include <cstdint>
#include <span>

#include "common/privacy/mu_squared.h"
#include "common/privacy/run_plan.h"

namespace dpnmf::curator {

inline Uint128 Square(std::int64_t x) {
  const std::uint64_t size =
      x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  return static_cast<Uint128>(size) * size;
}

// 0 <= k_i <= floor(c 2^q) and sum k_i^2 <= floor(c^2 4^q).
inline bool WithinGate(std::span<const std::int64_t> k, double bound,
                       int bits) {
  Uint128 squares = 0;
  for (const std::int64_t entry : k) {
    if (entry < 0 ||
        static_cast<std::uint64_t>(entry) > LargestEntrySteps(bound, bits)) {
      return false;
    }
    squares += Square(entry);
  }
  return squares <= NormBoundSteps(bound, bits);
}

// |x - y|_F^2 of two sums in the entry order of NoisedMatrix (pairs off the
// diagonal of a symmetric one stand for two); the largest number if an entry
// differs by 2^48 or more. Below 2^31 entries.
inline Uint128 SquaredDistance(const PartPlan& part,
                               std::span<const std::int64_t> x,
                               std::span<const std::int64_t> y) {
  Uint128 sum = 0;
  std::size_t at = 0;
  for (std::uint64_t column = 0; column < part.columns; ++column) {
    const std::uint64_t rows = part.symmetric ? column + 1 : part.rows;
    for (std::uint64_t row = 0; row < rows; ++row, ++at) {
      const unsigned copies = part.symmetric && row < column ? 2 : 1;
      const Uint128 square = Square(x[at] - y[at]);
      if (square >> 96 != 0) return ~Uint128{0};
      sum += copies * square;
    }
  }
  return sum;
}

// Delta^2 in steps (docs/reference/privacy.md, section 3).
inline Uint128 SquaredSensitivity(const PartPlan& part, Adjacency adjacency) {
  const bool doubled =
      adjacency != Adjacency::kAddRemoveOne && !part.whole_sensitivity;
  return static_cast<Uint128>(part.left_norm_steps) * part.right_norm_steps *
         (doubled ? 2u : 1u);
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_FACTOR_CONTRIBUTION_CHECKS_H_
