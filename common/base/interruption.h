// Ctrl-C for commands that work for long.
#ifndef DPNMF_COMMON_BASE_INTERRUPTION_H_
#define DPNMF_COMMON_BASE_INTERRUPTION_H_

namespace dpnmf {

// From now on the first SIGINT or SIGTERM only makes Interrupted() true, so
// that the command ends by itself; a second one ends the process at once.
void InterruptGently();
bool Interrupted();

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_INTERRUPTION_H_
