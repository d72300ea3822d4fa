// In a file of its own: the only generator with a seed that stands beside what
// the curator links of common/nmf, which must not hold one
// (tests/must_not_compile/symbols.sh).
#include <cmath>
#include <cstdint>

#include "common/nmf/dictionary.h"

namespace dpnmf {
namespace {

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014: one step of SplitMix64. For W_0 alone, never for noise.
std::uint64_t SplitMix64(std::uint64_t* state) {
  std::uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Uniform on the multiples of 2^-53 in [0, 1).
double UniformOf(std::uint64_t bits) {
  return std::ldexp(static_cast<double>(bits >> 11), -53);
}

// One order of summation and one rounding per entry (fma), so that the bits do
// not depend on the instruction set or the compiler.
template <typename Column>
double PortableNorm(const Column& column) {
  double sum = 0;
  for (Eigen::Index i = 0; i < column.size(); ++i) {
    sum = std::fma(column(i), column(i), sum);
  }
  return std::sqrt(sum);
}

}  // namespace

Eigen::MatrixXd RandomDictionary(std::uint64_t features, std::uint64_t rank,
                                 std::uint64_t seed) {
  Eigen::MatrixXd w(features, rank);  // W: D x K
  for (Eigen::Index column = 0; column < w.cols(); ++column) {
    for (Eigen::Index row = 0; row < w.rows(); ++row) {
      w(row, column) = UniformOf(SplitMix64(&seed));
    }
    const double norm = PortableNorm(w.col(column));
    for (Eigen::Index row = 0; norm > 0 && row < w.rows(); ++row) {
      w(row, column) /= norm;
    }
  }
  return w;
}

}  // namespace dpnmf
