// The subcommands of dpnmf-lab: the table of the program's commands. Each is
// defined in a file of this folder; a new one is a file and a name in the
// list. Results go to standard output, progress and notes to standard error.
#ifndef DPNMF_LAB_COMMANDS_COMMANDS_H_
#define DPNMF_LAB_COMMANDS_COMMANDS_H_

#include <vector>

#include "common/cli/program.h"

namespace dpnmf::curator::lab {

using MakeCommand = Command();

// The list, in the order of the help.
#define DPNMF_COMMANDS                                             \
  AttackCommand, CompleteCommand, DistortCommand, EvaluateCommand, \
      FactorizeCommand, SynthesiseCommand
MakeCommand DPNMF_COMMANDS;

inline std::vector<Command> AllCommands() {
  std::vector<Command> commands;
  for (MakeCommand* make : {DPNMF_COMMANDS}) commands.push_back(make());
  return commands;
}
#undef DPNMF_COMMANDS

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMMANDS_COMMANDS_H_
