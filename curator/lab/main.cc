#include <cstdio>

#include "common/base/exit_code.h"
#include "common/rpc/usage_error.h"
#include "curator/lab/commands.h"

int main(int argc, char** argv) {
  namespace lab = dpnmf::curator::lab;
  CLI::App app(
      "Research on the machine of the data's operator, WITHOUT PRIVACY: every "
      "result is\n"
      "an exact function of the file and as private as the file.",
      lab::kProgram);
  app.set_version_flag("--version", "dpnmf-lab " DPNMF_VERSION);
  app.set_config("--config", "",
                 "Read flags from a TOML file ([evaluate] rank = ...)");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 internal, 2 usage or bad input, 4 not found, 7 "
      "wrong "
      "state or in\n"
      "use, 8 data damaged, 130 interrupted.");
  int exit_code = 0;
  lab::AddEvaluateCommand(&app, &exit_code);
  lab::AddFactorizeCommand(&app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fputs(dpnmf::UsageErrorText(app, error).c_str(), stderr);
    return dpnmf::kExitUsage;
  }
  return exit_code;
}
