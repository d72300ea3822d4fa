#include <cstdio>
#include <string_view>
#include <vector>

#include "common/base/exit_code.h"
#include "common/rpc/usage_error.h"
#include "curator/commands/commands.h"

// `--health` is the subcommand of that name, as container checks expect it.
static std::vector<const char*> WithHealthFlag(int argc, char** argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "--health")
    arguments[1] = "health";
  return arguments;
}

int main(int argc, char** argv) {
  CLI::App app(
      "The data's side of dpnmf: holds V, sends noised statistics, keeps the "
      "ledger.\n"
      "Import a data set, serve it to analysts over mutual TLS, and look at "
      "the ledger of\n"
      "what has been spent.",
      "dpnmf-curator");
  app.add_flag("--health")->description("The same as the subcommand health");
  app.set_version_flag("--version", "dpnmf-curator " DPNMF_VERSION);
  app.set_config("--config", "",
                 "Read flags from a TOML file ([serve] listen = ...)");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 internal, 2 usage or bad input, 3 over budget, 4 "
      "not found,\n"
      "5 unreachable, 6 not allowed, 7 wrong state or in use, 8 data damaged, "
      "130 interrupted.");
  int exit_code = 0;
  dpnmf::curator::AddImportCommand(&app, &exit_code);
  dpnmf::curator::AddServeCommand(&app, &exit_code);
  dpnmf::curator::AddLedgerCommand(&app, &exit_code);
  dpnmf::curator::AddKeepCommands(&app, &exit_code);
  dpnmf::curator::AddDoctorCommand(&app, &exit_code);
  dpnmf::curator::AddHealthCommand(&app, &exit_code);
  dpnmf::curator::AddMovedCommands(&app, &exit_code);
  try {
    app.parse(argc, WithHealthFlag(argc, argv).data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::fputs(dpnmf::UsageErrorText(app, error).c_str(), stderr);
    return dpnmf::kExitUsage;
  }
  return exit_code;
}
