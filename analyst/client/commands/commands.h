// The subcommands of dpnmf: the table of the program's commands. Each is
// defined in a file of this folder; a new one is a file and a row in both
// lists.
#ifndef DPNMF_ANALYST_CLIENT_COMMANDS_COMMANDS_H_
#define DPNMF_ANALYST_CLIENT_COMMANDS_COMMANDS_H_

#include <vector>

#include "analyst/client/session.h"
#include "common/cli/program.h"

namespace dpnmf::cli {

// `session` outlives the command.
using MakeCommand = Command(const Session* session);

MakeCommand DatasetsCommand, PlanCommand, TrainCommand, WatchCommand,
    RunsCommand, ShowCommand, CancelCommand, ForgetCommand, BudgetCommand,
    RefitCommand, ExportCommand, AddReleaseCommand, ReceiptsCommand,
    ModelCommand, TopCommand, CompareCommand, TransformCommand,
    SynthesiseCommand, ObjectiveCommand, AccountCommand, DoctorCommand,
    ChooseCommand, WebCommand;

inline std::vector<Command> AllCommands(const Session* session) {
  std::vector<Command> commands;
  for (MakeCommand* make :
       {DatasetsCommand,  PlanCommand,      TrainCommand,
        WatchCommand,     RunsCommand,      RefitCommand,
        ShowCommand,      CancelCommand,    ForgetCommand,
        BudgetCommand,    ExportCommand,    AddReleaseCommand,
        ReceiptsCommand,  ModelCommand,     TopCommand,
        CompareCommand,   TransformCommand, SynthesiseCommand,
        ObjectiveCommand, AccountCommand,   DoctorCommand,
        ChooseCommand,    WebCommand})
    commands.push_back(make(session));
  return commands;
}

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLIENT_COMMANDS_COMMANDS_H_
