#include "analyst/cli/commands/commands.h"
#include "analyst/cli/render/text.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

absl::StatusOr<ExitCode> ShowDatasets(const Session& session) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.ListDatasets());
  session.Print(reply, DatasetsText(reply));
  return kExitOk;
}

}  // namespace

void AddDatasetsCommand(CLI::App* app, Session* session) {
  CLI::App* command = app->add_subcommand(
      "datasets", "The data sets that this analyst may train on");
  command->footer(
      "D: entries of a column; N: users (declared). The guarantee is that of "
      "the\npopulation's cap: it covers everything ever released about its "
      "people.\n\nExample:\n  dpnmf datasets --format json");
  command->callback([session] { session->Finish(ShowDatasets(*session)); });
}

}  // namespace dpnmf::cli
