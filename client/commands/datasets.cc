#include "client/commands/commands.h"
#include "client/render/text.h"
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

Command DatasetsCommand(const Session* session) {
  return {.name = "datasets",
          .summary = "List the data sets that this analyst may train on",
          .footer =
              "D: entries of a column; N: users (declared). The guarantee is "
              "that of the\npopulation's cap: it covers everything ever "
              "released about its people.\n\nExample:\n"
              "  dpnmf datasets --format json",
          .run = [session] { return ShowDatasets(*session); }};
}

}  // namespace dpnmf::cli
