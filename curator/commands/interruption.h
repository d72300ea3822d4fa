// Ctrl-C for commands that work for long.
#ifndef DPNMF_CURATOR_COMMANDS_INTERRUPTION_H_
#define DPNMF_CURATOR_COMMANDS_INTERRUPTION_H_

namespace dpnmf::curator {

// From now on the first SIGINT or SIGTERM only makes Interrupted() true, so
// that the command ends by itself; a second one ends the process at once.
void InterruptGently();
bool Interrupted();

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_INTERRUPTION_H_
