// The subcommands of dpnmf-lab: the table of the program's commands. Each is
// defined in a file of this folder; a new one is a file and a row in both
// lists. Results go to standard output, progress and notes to standard error.
#ifndef DPNMF_CURATOR_LAB_COMMANDS_H_
#define DPNMF_CURATOR_LAB_COMMANDS_H_

#include <vector>

#include "common/cli/program.h"

namespace dpnmf::curator::lab {

using MakeCommand = Command();

MakeCommand AttackCommand, CompleteCommand, DistortCommand, EvaluateCommand,
    FactorizeCommand, SynthesiseCommand;

inline std::vector<Command> AllCommands() {
  std::vector<Command> commands;
  for (MakeCommand* make :
       {AttackCommand, CompleteCommand, DistortCommand, EvaluateCommand,
        FactorizeCommand, SynthesiseCommand})
    commands.push_back(make());
  return commands;
}

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_CURATOR_LAB_COMMANDS_H_
