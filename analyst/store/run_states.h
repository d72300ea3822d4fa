// The states of a run at the analyst: which may follow which. Pure functions,
// the same that the store, the manager and the learner go by and that
// tests/faults/state_machine_test.cc checks over all interleavings.
// docs/reference/protocol.md has the table.
#ifndef DPNMF_ANALYST_STORE_RUN_STATES_H_
#define DPNMF_ANALYST_STORE_RUN_STATES_H_

#include "common/wire/run_state.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// True of runs that are fitted from a stored release (FitStoredRun); all others
// are a Learner's.
inline bool IsFittedHere(const v1::Run& run) {
  return !run.parent().empty() || run.added();
}

// State to store when `asked` comes to a run that is stored as `stored` and has
// not ended: a run that is being cancelled stays so until it has ended.
v1::RunState NextState(v1::RunState stored, v1::RunState asked);

// A cancel of a run that has not ended. `untouched`: no learner ever had it, in
// this process or an earlier one, so the curator cannot know it.
v1::RunState StateAtCancel(bool untouched);

// The curator has confirmed that the run is closed. `failing`: an error was
// stored and the run was being ended for it. `all_learned`: W follows from all
// rounds.
v1::RunState StateAtClosed(bool failing, bool all_learned);

// A refusal that is not worth trying again.
struct Refused {
  bool opened = false;     // on this stream, and Close was not what was refused
  bool cancelled = false;  // the run is being cancelled, for no error
  bool over_budget = false;
};
v1::RunState StateAtRefusal(const Refused& refused);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_STORE_RUN_STATES_H_
