// The judgement of a part, one for all programs: reliable, uncertain or noise.
#ifndef DPNMF_COMMON_MOMENTS_PART_JUDGEMENT_H_
#define DPNMF_COMMON_MOMENTS_PART_JUDGEMENT_H_

namespace dpnmf {

// A part's reliability is the cosine to the part that the same fit would find
// without noise, as estimated from the release. tests/common/moments/
// part_judgement_test.cc compares the judgement with the truth.
enum class PartJudgement { kReliable, kUncertain, kNoise };
inline constexpr double kReliablePart = 0.8;
// Below this a part is probably noise. Chosen on the data of that test.
inline constexpr double kNoisePart = 0.6;

inline PartJudgement JudgePart(double reliability) {
  if (reliability >= kReliablePart) return PartJudgement::kReliable;
  return reliability >= kNoisePart ? PartJudgement::kUncertain
                                   : PartJudgement::kNoise;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_PART_JUDGEMENT_H_
