// Commands that another program has now.
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/commands/commands.h"
#include "curator/commands/error_report.h"

namespace dpnmf::curator {

void AddMovedCommands(CLI::App* app, int* exit_code) {
  for (const char* name : {"factorize", "evaluate"}) {
    CLI::App* command = app->add_subcommand(name)->group("");
    command->allow_extras();
    command->callback([name, exit_code] {
      *exit_code = ReportStatus(
          Refusal(absl::StatusCode::kInvalidArgument, "command-moved",
                  absl::StrCat("The command `", name,
                               "` is in the program dpnmf-lab: run `dpnmf-lab ",
                               name, "` with the same flags.")));
    });
  }
}

}  // namespace dpnmf::curator
