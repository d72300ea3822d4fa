// Square roots of integers, exact. Any thread may call.
#ifndef DPNMF_COMMON_PRIVACY_INTEGER_ROOT_H_
#define DPNMF_COMMON_PRIVACY_INTEGER_ROOT_H_

#include <cstdint>

#include "common/privacy/mu_squared.h"

namespace dpnmf {

constexpr Uint128 SquareOf(std::uint64_t x) {
  return static_cast<Uint128>(x) * x;
}

// The largest x with x^2 <= value.
constexpr std::uint64_t FloorRoot(Uint128 value) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 63; bit != 0; bit >>= 1) {
    if (SquareOf(root | bit) <= value) root |= bit;
  }
  return root;
}

// The smallest x with x^2 >= value; value <= (2^64 - 1)^2.
constexpr std::uint64_t CeilRoot(Uint128 value) {
  const std::uint64_t root = FloorRoot(value);
  return SquareOf(root) == value ? root : root + 1;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_INTEGER_ROOT_H_
