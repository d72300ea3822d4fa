// The least column bound that can be planned with.
#ifndef DPNMF_COMMON_PRIVACY_COLUMN_BOUND_H_
#define DPNMF_COMMON_PRIVACY_COLUMN_BOUND_H_

namespace dpnmf {

// A plan quantises to as many as 20 - floor(log2 c_v) bits, and 52 is the most
// that the sums' doubles can take.
inline constexpr double kLeastColumnBound = 0x1p-32;

}  // namespace dpnmf

#endif  // DPNMF_COMMON_PRIVACY_COLUMN_BOUND_H_
