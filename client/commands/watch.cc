#include <memory>
#include <string>

#include "client/commands/commands.h"
#include "client/session/follow.h"
#include "client/session/run_id.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

absl::StatusOr<ExitCode> Watch(const Session& session,
                               const std::string& prefix) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, prefix));
  DPNMF_ASSIGN_OR_RETURN(const auto run, client.GetRun(run_id));
  return FollowRun(session, client, run, /*print_run=*/false);
}

}  // namespace

Command WatchCommand(const Session* session) {
  const auto run = std::make_shared<std::string>();
  return {.name = "watch",
          .summary = "Show a run's rounds until it ends",
          .footer =
              "A lost connection is restored automatically, with growing "
              "pauses, for two minutes.\nCtrl-C stops watching; the run "
              "continues. Exit code 9 if the run failed\nor was "
              "cancelled.\n\nExample:\n  dpnmf watch 3f9a",
          .flags = {Flag("run", run.get(), "Id of the run, or its first digits",
                         {.value = "RUN", .required = true})},
          .run = [session, run] { return Watch(*session, *run); }};
}

}  // namespace dpnmf::cli
