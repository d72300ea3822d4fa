// Normal noise that can be repeated. NOT DIFFERENTIALLY PRIVATE: it is drawn in
// floating point from a seed that anybody may know. For `evaluate` alone, whose
// output stays with the operator; nothing here can reach a release (no library
// of the release gate, of a session or of the service uses this folder, nor
// this folder any of theirs: tests/must_not_compile/includes.sh).
#ifndef DPNMF_LAB_EVALUATE_SEEDED_NOISE_H_
#define DPNMF_LAB_EVALUATE_SEEDED_NOISE_H_

#include <cstdint>
#include <string_view>

#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {

// A seed for each purpose: FNV-1a of the words, mixed with `seed`.
inline std::uint64_t SeedFor(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (const char c : purpose) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash ^ (hash >> 29);
}

class SeededNoise : public Draws {
 public:
  explicit SeededNoise(std::uint64_t seed) : Draws(seed) {}
};

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_SEEDED_NOISE_H_
