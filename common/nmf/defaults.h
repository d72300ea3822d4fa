// Defaults for fields that a request leaves out: the same on both sides.
#ifndef DPNMF_COMMON_NMF_DEFAULTS_H_
#define DPNMF_COMMON_NMF_DEFAULTS_H_

#include <cstdint>

namespace dpnmf {

inline constexpr std::uint32_t kDefaultRounds = 30;  // not of moments
inline constexpr double kDefaultShareOfMoments = 0.5;
inline constexpr double kDefaultShareOfFirstMoments = 0.3;  // of aimed
inline constexpr double kDefaultStepSize = 1;
inline constexpr std::uint32_t kDefaultStepsPerRound = 200;

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_DEFAULTS_H_
