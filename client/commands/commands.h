// The subcommands of dpnmf: the table of the program's commands. Each is
// defined in a file of this folder; a new one is a file and a name in the
// list.
#ifndef DPNMF_CLIENT_COMMANDS_COMMANDS_H_
#define DPNMF_CLIENT_COMMANDS_COMMANDS_H_

#include <vector>

#include "client/session/session.h"
#include "common/cli/program.h"

namespace dpnmf::cli {

// `session` outlives the command.
using MakeCommand = Command(const Session* session);

// The list, in the order of the help.
#define DPNMF_COMMANDS                                                        \
  DatasetsCommand, PlanCommand, TrainCommand, WatchCommand, RunsCommand,      \
      RefitCommand, ShowCommand, CancelCommand, ForgetCommand, BudgetCommand, \
      ExportCommand, AddReleaseCommand, ReceiptsCommand, ModelCommand,        \
      TopCommand, CompareCommand, TransformCommand, SynthesiseCommand,        \
      ObjectiveCommand, AccountCommand, DoctorCommand, ChooseCommand,         \
      WebCommand
MakeCommand DPNMF_COMMANDS;

inline std::vector<Command> AllCommands(const Session* session) {
  std::vector<Command> commands;
  for (MakeCommand* make : {DPNMF_COMMANDS}) commands.push_back(make(session));
  return commands;
}
#undef DPNMF_COMMANDS

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_COMMANDS_COMMANDS_H_
