// How the users of a round are cut into blocks, and among how many threads. All
// of it follows from public numbers.
#ifndef DPNMF_CURATOR_FACTOR_USER_BLOCKS_H_
#define DPNMF_CURATOR_FACTOR_USER_BLOCKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "curator/factor/isa/simd_layout.h"

namespace dpnmf::curator {

// Users of a block of second moments on `rows` features: a multiple of
// kStripUsers, at most 256, whose buffer should stay in a second-level cache of
// 1 MiB.
inline std::uint64_t BlockWidth(std::uint64_t rows, std::uint64_t most_users) {
  constexpr std::uint64_t kBlockBytes = 512 * 1024;
  constexpr std::uint64_t kLargestBlock = 256;
  const std::uint64_t fitting =
      kBlockBytes / (sizeof(double) * std::max<std::uint64_t>(1, rows));
  const std::uint64_t width = std::max<std::uint64_t>(
      std::min({fitting, most_users, kLargestBlock}), kStripUsers);
  return (width + kStripUsers - 1) / kStripUsers * kStripUsers;
}

// No more threads than there may be blocks of `width` users.
inline std::size_t WorkerCount(std::uint64_t most_users, std::uint64_t width,
                               int threads) {
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(
      (most_users + width - 1) / width, 1,
      static_cast<std::uint64_t>(std::max(1, threads))));
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FACTOR_USER_BLOCKS_H_
