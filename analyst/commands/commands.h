// The subcommands of dpnmf-analyst: the table of the program's commands. Each
// is defined in a file of this folder; a new one is a file and a row in both
// lists.
#ifndef DPNMF_ANALYST_COMMANDS_COMMANDS_H_
#define DPNMF_ANALYST_COMMANDS_COMMANDS_H_

#include <vector>

#include "analyst/commands/serve_flags.h"
#include "common/cli/program.h"
#include "common/server_commands/health_command.h"

namespace dpnmf::analyst {

using MakeCommand = Command();

MakeCommand ServeCommand, DoctorCommand;

inline std::vector<Command> AllCommands() {
  std::vector<Command> commands;
  for (MakeCommand* make : {ServeCommand, DoctorCommand})
    commands.push_back(make());
  commands.push_back(HealthCommandOf(ServeFlags{}.listen));
  return commands;
}

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_COMMANDS_COMMANDS_H_
