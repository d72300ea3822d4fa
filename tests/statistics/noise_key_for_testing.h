// A noise key that is known in advance. Not differentially private: noise under
// such a key can be subtracted by anyone. It exists in tests alone.
#ifndef DPNMF_TESTS_STATISTICS_NOISE_KEY_FOR_TESTING_H_
#define DPNMF_TESTS_STATISTICS_NOISE_KEY_FOR_TESTING_H_

#include <array>
#include <cstdint>

#include "curator/noise/noise.h"

namespace dpnmf::curator {

struct NoiseKeyForTesting {
  static NoiseKey FromBytes(const std::array<std::uint8_t, 32>& bytes) {
    NoiseKey key;
    key.bytes_ = bytes;
    return key;
  }
  // The seed's eight bytes, least significant first, then zeros.
  static NoiseKey FromSeed(std::uint64_t seed) {
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < 8; ++i) {
      bytes[i] = static_cast<std::uint8_t>(seed >> (8 * i));
    }
    return FromBytes(bytes);
  }
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_STATISTICS_NOISE_KEY_FOR_TESTING_H_
