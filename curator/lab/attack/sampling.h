// What an attack draws, and which rows occur once.
#ifndef DPNMF_CURATOR_LAB_ATTACK_SAMPLING_H_
#define DPNMF_CURATOR_LAB_ATTACK_SAMPLING_H_

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "Eigen/Core"
#include "curator/lab/evaluate/seeded_noise.h"

namespace dpnmf::curator::lab {

// Draws for attacks alone: no privacy rests on them.
class Draws {
 public:
  // Not set: from the operating system.
  explicit Draws(std::optional<std::uint64_t> seed)
      : noise_(seed.has_value() ? *seed : FromTheSystem()) {}

  // In [0, below).
  std::int64_t Below(std::int64_t below) {
    return static_cast<std::int64_t>(noise_.Uniform() *
                                     static_cast<double>(below));
  }
  // In [-1, 1).
  double Error() { return 2 * noise_.Uniform() - 1; }

  // The first `count` entries become a random sample in random order, and no
  // others are left; all of them if there are no more.
  void Sample(std::int64_t count, std::vector<int>* from) {
    const std::int64_t size = static_cast<std::int64_t>(from->size());
    if (count > size) count = size;
    for (std::int64_t i = 0; i < count; ++i)
      std::swap((*from)[static_cast<std::size_t>(i)],
                (*from)[static_cast<std::size_t>(i + Below(size - i))]);
    from->resize(static_cast<std::size_t>(count));
  }

 private:
  static std::uint64_t FromTheSystem() {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }

  SeededNoise noise_;
};

// 0 to count - 1.
std::vector<int> AllOf(Eigen::Index count);

struct RowKinds {
  std::vector<int> once;  // rows that no other row equals, ascending
  std::int64_t distinct = 0;
};
// Rows are equal if all numbers are (-0 is 0).
RowKinds KindsOfRows(const Eigen::MatrixXd& rows);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_CURATOR_LAB_ATTACK_SAMPLING_H_
