// Normal noise that can be repeated. NOT DIFFERENTIALLY PRIVATE: it is drawn in
// floating point from a seed that anybody may know. For `evaluate` alone, whose
// output stays with the operator; nothing here can reach a release (no library
// of the release gate, of a session or of the service uses this folder, nor
// this folder any of theirs: tests/must_not_compile/includes.sh).
#ifndef DPNMF_LAB_EVALUATE_SEEDED_NOISE_H_
#define DPNMF_LAB_EVALUATE_SEEDED_NOISE_H_

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string_view>

namespace dpnmf::curator::lab {

// A seed for each purpose: FNV-1a of the words, mixed with `seed`.
inline std::uint64_t SeedFor(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (const char c : purpose) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash ^ (hash >> 29);
}

class SeededNoise {
 public:
  explicit SeededNoise(std::uint64_t seed) : bits_(seed) {}

  // Uniform on the multiples of 2^-53 in [0, 1).
  double Uniform() {
    return std::ldexp(static_cast<double>(bits_() >> 11), -53);
  }

  // Standard normal (Box and Muller 1958).
  double Normal() {
    const double radius = std::sqrt(-2 * std::log1p(-Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_SEEDED_NOISE_H_
