#include "curator/lab/complete/draws.h"

#include <openssl/rand.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace dpnmf::curator::lab {

Draws::Draws(std::optional<std::uint64_t> seed) {
  if (seed.has_value()) seeded_.emplace(*seed);
}

std::uint64_t Draws::Bits() {
  if (seeded_.has_value()) return (*seeded_)();
  if (left_ == 0) {
    if (RAND_bytes(reinterpret_cast<unsigned char*>(buffer_.data()),
                   static_cast<int>(sizeof buffer_)) != 1) {
      std::fputs("dpnmf: the random source failed; stopping\n", stderr);
      std::abort();
    }
    left_ = buffer_.size();
  }
  return buffer_[--left_];
}

double Draws::Uniform() {
  return std::ldexp(static_cast<double>(Bits() >> 11), -53);
}

std::size_t Draws::Below(std::size_t count) {
  // What is above the last whole multiple of `count` is drawn again.
  const std::uint64_t n = count;
  const std::uint64_t least = (0 - n) % n;  // 2^64 mod n
  while (true) {
    const std::uint64_t bits = Bits();
    if (bits >= least) return static_cast<std::size_t>(bits % n);
  }
}

}  // namespace dpnmf::curator::lab
