// The subcommands of dpnmf-curator. Each registers its flags on `app` and, when
// chosen, does its work in the callback and stores the exit code
// (common/base/exit_code.h) in *exit_code. Results go to standard output,
// errors as "dpnmf-curator: SENTENCE [CODE]" and progress to standard error.
#ifndef DPNMF_CURATOR_COMMANDS_COMMANDS_H_
#define DPNMF_CURATOR_COMMANDS_COMMANDS_H_

#include "CLI/CLI.hpp"

namespace dpnmf::curator {

void AddImportCommand(CLI::App* app, int* exit_code);
void AddLedgerCommand(CLI::App* app, int* exit_code);
void AddServeCommand(CLI::App* app, int* exit_code);
void AddDoctorCommand(CLI::App* app, int* exit_code);
// backup, restore, forget and close.
void AddKeepCommands(CLI::App* app, int* exit_code);
void AddHealthCommand(CLI::App* app, int* exit_code);
// factorize and evaluate: one sentence that names dpnmf-lab.
void AddMovedCommands(CLI::App* app, int* exit_code);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_COMMANDS_H_
