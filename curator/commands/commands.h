// The subcommands of dpnmf-curator: the table of the program's commands. Each
// is defined in a file of this folder; a new one is a file and a name in the
// list. Results go to standard output, progress and notes to standard error.
#ifndef DPNMF_CURATOR_COMMANDS_COMMANDS_H_
#define DPNMF_CURATOR_COMMANDS_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/cli/program.h"
#include "common/server_commands/health_command.h"
#include "curator/commands/flags/serve_flags.h"

namespace dpnmf::curator {

using MakeCommand = Command();

// The list, in the order of the help.
#define DPNMF_COMMANDS                                                       \
  ImportCommand, ServeCommand, LedgerCommand, BackupCommand, RestoreCommand, \
      ForgetCommand, CloseCommand, RemoveCommand, DoctorCommand,             \
      RecommendCommand, TokenCommand, PeopleCommand, PublishCommand,         \
      SynthesiseCommand, TransformCommand, FederationMemberCommand,          \
      AddSumsCommand, JoinPartsCommand
MakeCommand DPNMF_COMMANDS;

// "2026-01-31T12:00:00Z" of seconds since 1970.
std::string MomentText(std::int64_t unix_seconds);

inline std::vector<Command> AllCommands() {
  std::vector<Command> commands;
  for (MakeCommand* make : {DPNMF_COMMANDS}) commands.push_back(make());
  commands.push_back(HealthCommandOf(ServeOptions{}.listen));
  return commands;
}
#undef DPNMF_COMMANDS

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_COMMANDS_H_
