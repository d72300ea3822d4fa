// The subcommands of dpnmf. Each adds its flags to `app`; when it is chosen it
// does its work and leaves the exit code in the session, which outlives the
// app.
#ifndef DPNMF_ANALYST_CLI_COMMANDS_COMMANDS_H_
#define DPNMF_ANALYST_CLI_COMMANDS_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "analyst/cli/session.h"

namespace dpnmf::cli {

void AddDatasetsCommand(CLI::App* app, Session* session);
void AddPlanCommand(CLI::App* app, Session* session);
void AddTrainCommand(CLI::App* app, Session* session);
void AddWatchCommand(CLI::App* app, Session* session);
// runs, show and cancel.
void AddRunCommands(CLI::App* app, Session* session);
void AddBudgetCommand(CLI::App* app, Session* session);
// export and verify.
void AddReceiptsCommand(CLI::App* app, Session* session);
void AddModelCommand(CLI::App* app, Session* session);
void AddObjectiveCommand(CLI::App* app, Session* session);
void AddAccountCommand(CLI::App* app, Session* session);
void AddDoctorCommand(CLI::App* app, Session* session);

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLI_COMMANDS_COMMANDS_H_
