// Limits on what a round of `aimed` may name (docs/reference/privacy.md, "What
// is left"). They keep numbers finite; the guarantee does not rest on them.
#ifndef DPNMF_COMMON_PRIVACY_AIM_H_
#define DPNMF_COMMON_PRIVACY_AIM_H_

#include <cstdint>

namespace dpnmf {

inline constexpr std::uint64_t kMostAimDirections = 16;
inline constexpr double kLargestAimEntry = 2;
inline constexpr double kLeastAimScale = 1e-3, kLargestAimScale = 1e3;

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_AIM_H_
