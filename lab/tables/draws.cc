#include "lab/tables/draws.h"

#include <openssl/rand.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <utility>

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

double Draws::Normal() {
  const double radius = std::sqrt(-2 * std::log1p(-Uniform()));
  return radius * std::cos(2 * std::numbers::pi * Uniform());
}

std::size_t Draws::Below(std::size_t count) {
  // Numbers below 2^64 mod count are drawn again: the rest are whole multiples.
  const std::uint64_t n = count;
  const std::uint64_t least = (0 - n) % n;
  while (true) {
    const std::uint64_t bits = Bits();
    if (bits >= least) return static_cast<std::size_t>(bits % n);
  }
}

void Draws::Sample(std::size_t count, std::vector<int>* from) {
  if (count > from->size()) count = from->size();
  for (std::size_t i = 0; i < count; ++i)
    std::swap((*from)[i], (*from)[i + Below(from->size() - i)]);
  from->resize(count);
}

}  // namespace dpnmf::curator::lab
