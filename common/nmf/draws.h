// Random numbers of post-processing: the same on every machine for a seed.
// Never for privacy: a release draws its noise in curator/noise.
#ifndef DPNMF_COMMON_NMF_DRAWS_H_
#define DPNMF_COMMON_NMF_DRAWS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string_view>

#include "Eigen/Core"

namespace dpnmf {

// Returns the seed of the index-th stream for a purpose. Streams of different
// purposes, and those of small seeds, have nothing in common.
inline std::uint64_t SeedOfStream(std::string_view purpose,
                                  std::uint64_t index) {
  std::uint64_t seed = 0xcbf29ce484222325u;  // FNV-1a, then SplitMix64
  for (const char letter : purpose)
    seed = (seed ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  seed += 0x9e3779b97f4a7c15u * (index + 1);
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
  return seed ^ (seed >> 31);
}

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : bits_(seed) {}

  // In (0, 1).
  double Uniform() {
    return std::ldexp(static_cast<double>(bits_() >> 12) + 0.5, -52);
  }
  double Exponential() { return -std::log(Uniform()); }
  // Box and Muller 1958.
  double Normal() {
    const double radius = std::sqrt(2 * Exponential());
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  Eigen::VectorXd Normals(Eigen::Index count) {
    Eigen::VectorXd normals(count);
    for (double& normal : normals) normal = Normal();
    return normals;
  }
  Eigen::Index Index(Eigen::Index count) {
    return std::min(count - 1, static_cast<Eigen::Index>(
                                   Uniform() * static_cast<double>(count)));
  }

 private:
  std::mt19937_64 bits_;
};

// Symmetric Gaussian noise: size x size, independent entries of deviation
// stddev_off above the diagonal and stddev_diagonal on it.
inline Eigen::MatrixXd SymmetricNoise(Eigen::Index size, double stddev_off,
                                      double stddev_diagonal, Draws* draws) {
  Eigen::MatrixXd noise(size, size);
  for (Eigen::Index j = 0; j < size; ++j) {
    for (Eigen::Index i = 0; i < j; ++i)
      noise(i, j) = noise(j, i) = stddev_off * draws->Normal();
    noise(j, j) = stddev_diagonal * draws->Normal();
  }
  return noise;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_DRAWS_H_
