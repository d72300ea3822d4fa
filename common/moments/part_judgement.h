// The judgement of a part, one for all programs: reliable, uncertain or noise.
#ifndef DPNMF_COMMON_MOMENTS_PART_JUDGEMENT_H_
#define DPNMF_COMMON_MOMENTS_PART_JUDGEMENT_H_

#include <cmath>

namespace dpnmf {

// A part's reliability is the cosine to the part that the same fit would find
// without noise, as estimated from the release. tests/common/moments/
// part_judgement_test.cc compares the judgement with the truth.
enum class PartJudgement { kReliable, kUncertain, kNoise };
inline constexpr double kReliablePart = 0.8;
// Below this a part is probably noise.
inline constexpr double kNoisePart = 0.6;

inline PartJudgement JudgePart(double reliability) {
  if (reliability >= kReliablePart) return PartJudgement::kReliable;
  return reliability >= kNoisePart ? PartJudgement::kUncertain
                                   : PartJudgement::kNoise;
}

// Reliability from the cosine of the matched parts of two halves of a release,
// each of which has sqrt(2) times the release's noise. If r is the relative
// noise variance of a part, its cosine to the truth is c = (1 + r)^(-1/2), and
// the halves' cosine q = 1 / (1 + 2 r): so c^2 = 2 q / (1 + q) (Spearman and
// Brown 1910).
inline double ReliabilityOfHalves(double cosine) {
  return cosine > 0 ? std::sqrt(2 * cosine / (1 + cosine)) : 0;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_PART_JUDGEMENT_H_
