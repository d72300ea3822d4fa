// Normal noise by Box and Muller in doubles, which the product does not use:
// NOT DIFFERENTIALLY PRIVATE, its low bits reveal the sum under the noise. Also
// the attack that reads these bits.
#ifndef DPNMF_TESTS_ATTACKS_FLOATING_POINT_NOISE_H_
#define DPNMF_TESTS_ATTACKS_FLOATING_POINT_NOISE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace dpnmf::curator {

// Two normals from u_1 = (first + 1) / 2^bits, u_2 = second / 2^bits.
inline std::array<double, 2> BoxMuller(std::uint64_t first,
                                       std::uint64_t second, int bits = 53) {
  const double u1 = std::ldexp(static_cast<double>(first + 1), -bits);
  const double u2 = std::ldexp(static_cast<double>(second), -bits);
  const double radius = std::sqrt(-2 * std::log(u1));
  const double angle = 2 * std::numbers::pi * u2;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Two sums and their noise's deviations.
struct FloatingPair {
  std::array<double, 2> sums;
  std::array<double, 2> stddevs;
};

inline std::array<double, 2> Publish(const FloatingPair& pair,
                                     std::uint64_t first,
                                     std::uint64_t second) {
  const std::array<double, 2> z = BoxMuller(first, second);
  return {pair.sums[0] + pair.stddevs[0] * z[0],
          pair.sums[1] + pair.stddevs[1] * z[1]};
}

// Returns true if any random bits publish exactly `published` for these sums:
// tries the pair of uniforms that the outputs point to, and its neighbours (Jin
// et al. 2022, section 4; Mironov 2012 for one Laplace variable).
inline bool IsReachable(const FloatingPair& pair,
                        const std::array<double, 2>& published) {
  constexpr double kTwo53 = 0x1p53;
  constexpr int kFirstWindow = 8, kSecondWindow = 4;
  const double x = (published[0] - pair.sums[0]) / pair.stddevs[0];
  const double y = (published[1] - pair.sums[1]) / pair.stddevs[1];
  const double u1 = std::exp(-(x * x + y * y) / 2);
  double u2 = std::atan2(y, x) / (2 * std::numbers::pi);
  if (u2 < 0) u2 += 1;
  const auto first = std::llround(u1 * kTwo53) - 1;
  const auto second = std::llround(u2 * kTwo53);
  for (int i = -kFirstWindow; i <= kFirstWindow; ++i) {
    for (int j = -kSecondWindow; j <= kSecondWindow; ++j) {
      const auto candidate_first =
          static_cast<std::uint64_t>(std::max<long long>(first + i, 0));
      const auto candidate_second =
          static_cast<std::uint64_t>(std::max<long long>(second + j, 0));
      if (Publish(pair, candidate_first, candidate_second) == published)
        return true;
    }
  }
  return false;
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_FLOATING_POINT_NOISE_H_
