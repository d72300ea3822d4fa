#include <memory>

#include "analyst/cli/commands/commands.h"
#include "analyst/cli/render/text.h"
#include "analyst/cli/run_flags.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

absl::StatusOr<ExitCode> Plan(const Session& session, const RunFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run, PrepareRun(client, flags));
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.PlanRun(run.specification));
  session.Print(reply, PlanText(reply));
  return reply.would_be_refused() ? kExitBudget : kExitOk;
}

}  // namespace

void AddPlanCommand(CLI::App* app, Session* session) {
  CLI::App* command = app->add_subcommand(
      "plan",
      "What a run would cost and draw, and whether it would be refused");
  auto flags = std::make_shared<RunFlags>();
  AddRunFlags(command, flags.get());
  command->footer(
      "Spends nothing. Exit code 3 if the run would be refused.\n\nExample:\n"
      "  dpnmf plan --dataset digits --rank 10 --rounds 30 --epsilon 1");
  command->callback(
      [session, flags] { session->Finish(Plan(*session, *flags)); });
}

}  // namespace dpnmf::cli
