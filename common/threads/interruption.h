// Ctrl-C for commands that work for long.
#ifndef DPNMF_COMMON_THREADS_INTERRUPTION_H_
#define DPNMF_COMMON_THREADS_INTERRUPTION_H_

#include "absl/status/status.h"

namespace dpnmf {

// From now on the first SIGINT or SIGTERM only makes Interrupted() true, so
// that the command ends by itself; a second one ends the process at once. Call
// it before other threads run.
void InterruptGently();
// Any thread may ask.
bool Interrupted();

// Returns the status to report at the end of a command. Stopped work ends with
// CANCELLED "cancelled", whoever stopped the work; after the user's own signal
// the code becomes "interrupted". Other statuses, and the sentence, stay.
absl::Status AsInterruption(absl::Status status);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_THREADS_INTERRUPTION_H_
