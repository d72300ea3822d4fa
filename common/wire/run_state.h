// Reading of a run's state, for both ends of AnalystService.
#ifndef DPNMF_COMMON_WIRE_RUN_STATE_H_
#define DPNMF_COMMON_WIRE_RUN_STATE_H_

#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf {

// COMPLETED, CANCELLED and FAILED: nothing follows.
inline bool IsFinal(v1::RunState state) {
  return state == v1::RUN_STATE_COMPLETED || state == v1::RUN_STATE_CANCELLED ||
         state == v1::RUN_STATE_FAILED;
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_RUN_STATE_H_
