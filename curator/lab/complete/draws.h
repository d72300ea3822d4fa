// Where starts and splits of a completion come from: the operating system, or
// for public data alone a generator with a seed.
#ifndef DPNMF_CURATOR_LAB_COMPLETE_DRAWS_H_
#define DPNMF_CURATOR_LAB_COMPLETE_DRAWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

namespace dpnmf::curator::lab {

// Not thread-safe. Stops the process if the operating system's source fails.
class Draws {
 public:
  // Not set: from the operating system.
  explicit Draws(std::optional<std::uint64_t> seed);

  // 64 uniform bits.
  std::uint64_t Bits();
  // Uniform on the multiples of 2^-53 in [0, 1).
  double Uniform();
  // Uniform in 0 .. count - 1; count > 0.
  std::size_t Below(std::size_t count);

 private:
  std::optional<std::mt19937_64> seeded_;
  std::array<std::uint64_t, 512> buffer_;
  std::size_t left_ = 0;
};

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_CURATOR_LAB_COMPLETE_DRAWS_H_
