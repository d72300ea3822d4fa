// The subcommands of dpnmf-lab. Each registers its flags on `app` and, when
// chosen, does its work in the callback and stores the exit code
// (common/base/exit_code.h) in *exit_code. Results go to standard output,
// errors as "dpnmf-lab: SENTENCE [CODE]" and progress to standard error.
#ifndef DPNMF_CURATOR_LAB_COMMANDS_H_
#define DPNMF_CURATOR_LAB_COMMANDS_H_

#include "CLI/CLI.hpp"

namespace dpnmf::curator::lab {

inline constexpr char kProgram[] = "dpnmf-lab";

void AddFactorizeCommand(CLI::App* app, int* exit_code);
void AddEvaluateCommand(CLI::App* app, int* exit_code);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_CURATOR_LAB_COMMANDS_H_
