// The judgement of a part in words.
#ifndef DPNMF_CLIENT_RENDER_PART_TEXT_H_
#define DPNMF_CLIENT_RENDER_PART_TEXT_H_

#include "common/moments/part_judgement.h"

namespace dpnmf::cli {

inline const char* JudgementText(double reliability) {
  switch (JudgePart(reliability)) {
    case PartJudgement::kReliable:
      return "reliable";
    case PartJudgement::kUncertain:
      return "uncertain";
    case PartJudgement::kNoise:
      break;
  }
  return "probably noise";
}

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_RENDER_PART_TEXT_H_
