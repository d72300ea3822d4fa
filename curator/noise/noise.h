// Exactly rounded Gaussian noise from integers and random bits alone.
//
// Karney, "Sampling exactly from the normal distribution", ACM TOMS 42 (2016),
// Algorithm N on cells of 1/16 sigma, with the deviate rounded to a multiple of
// the lattice's step: the result is round(sigma Z) for a standard normal Z,
// ties having probability 0. No floating point takes part in an output bit.
// docs/reference/noise.md has the argument, noise_sampler.h the steps.
//
// Does not hide how long a draw takes: that depends on the noise, though never
// on data. Only `paced` mode hides it from the peer.
#ifndef DPNMF_CURATOR_NOISE_NOISE_H_
#define DPNMF_CURATOR_NOISE_NOISE_H_

#include <array>
#include <cstdint>
#include <span>

namespace dpnmf::curator {

// 256 bits, wiped when destroyed. Not copyable.
class NoiseKey {
 public:
  // Reads the operating system's generator through OpenSSL (its SEED-SRC, not a
  // pool in the process), so that a forked, restarted or copied process gets
  // another key. Stops the process if the source fails.
  static NoiseKey Fresh();
  ~NoiseKey();
  NoiseKey(NoiseKey&& other) noexcept;
  NoiseKey& operator=(NoiseKey&&) = delete;
  NoiseKey(const NoiseKey&) = delete;
  NoiseKey& operator=(const NoiseKey&) = delete;
  std::span<const std::uint8_t, 32> bytes() const { return bytes_; }

 private:
  NoiseKey() = default;
  friend struct NoiseKeyForTesting;  // defined in tests/ alone
  std::array<std::uint8_t, 32> bytes_{};
};

// Fills `noise` with independent round(sigma Z), sigma = numerator/denominator
// steps, 1 <= denominator, 2^-20 <= sigma <= 2^50, else the process stops
// (the plan is checked long before). Bits come from a stream cipher (AES-256 in
// counter mode) under `key`; `stream` separates several fills under one key and
// must not repeat for one key. The result is a function of (key, stream,
// sigma, size) alone: the same on any number of threads.
void FillGaussian(const NoiseKey& key, std::uint32_t stream,
                  std::uint64_t sigma_numerator,
                  std::uint64_t sigma_denominator, int threads,
                  std::span<std::int64_t> noise);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_NOISE_NOISE_H_
