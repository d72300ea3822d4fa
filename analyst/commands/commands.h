// The subcommands of dpnmf-analyst: the table of the program's commands. Each
// is defined in a file of this folder; a new one is a file and a name in the
// list.
#ifndef DPNMF_ANALYST_COMMANDS_COMMANDS_H_
#define DPNMF_ANALYST_COMMANDS_COMMANDS_H_

#include <vector>

#include "analyst/commands/serve_flags.h"
#include "common/cli/program.h"
#include "common/server_commands/health_command.h"

namespace dpnmf::analyst {

using MakeCommand = Command();

// The list, in the order of the help.
#define DPNMF_COMMANDS ServeCommand, DoctorCommand
MakeCommand DPNMF_COMMANDS;

inline std::vector<Command> AllCommands() {
  std::vector<Command> commands;
  for (MakeCommand* make : {DPNMF_COMMANDS}) commands.push_back(make());
  commands.push_back(HealthCommandOf(ServeFlags{}.listen));
  return commands;
}
#undef DPNMF_COMMANDS

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_COMMANDS_COMMANDS_H_
