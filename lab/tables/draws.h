// Random numbers of research: from the operating system, or for public data
// alone from a generator with a seed. No privacy rests on them.
#ifndef DPNMF_LAB_TABLES_DRAWS_H_
#define DPNMF_LAB_TABLES_DRAWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

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
  // Standard normal (Box and Muller 1958).
  double Normal();
  // Uniform in 0 .. count - 1; count > 0.
  std::size_t Below(std::size_t count);

  // The first `count` entries become a random sample in random order, and no
  // others are left; all of them if there are no more.
  void Sample(std::size_t count, std::vector<int>* from);

 private:
  std::optional<std::mt19937_64> seeded_;
  std::array<std::uint64_t, 512> buffer_;
  std::size_t left_ = 0;
};

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_TABLES_DRAWS_H_
