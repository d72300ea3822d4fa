#include "analyst/store/run_states.h"

namespace dpnmf::analyst {

v1::RunState NextState(v1::RunState stored, v1::RunState asked) {
  return stored == v1::RUN_STATE_CANCELLING && !IsFinal(asked) ? stored : asked;
}

v1::RunState StateAtCancel(bool untouched) {
  return untouched ? v1::RUN_STATE_CANCELLED : v1::RUN_STATE_CANCELLING;
}

v1::RunState StateAtClosed(bool failing, bool all_learned) {
  if (failing) return v1::RUN_STATE_FAILED;
  // A cancel that came after the last round was learned changes nothing.
  return all_learned ? v1::RUN_STATE_COMPLETED : v1::RUN_STATE_CANCELLED;
}

v1::RunState StateAtRefusal(const Refused& refused) {
  // Cancels the run first, so that the curator gives back its reservation.
  if (refused.opened) return v1::RUN_STATE_CANCELLING;
  // It never held a reservation.
  if (refused.cancelled && refused.over_budget) return v1::RUN_STATE_CANCELLED;
  return v1::RUN_STATE_FAILED;
}

}  // namespace dpnmf::analyst
