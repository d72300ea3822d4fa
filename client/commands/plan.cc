#include <memory>

#include "client/commands/commands.h"
#include "client/flags/run_flags.h"
#include "client/render/text.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/wire/plan_refusal.h"

namespace dpnmf::cli {
namespace {

absl::StatusOr<ExitCode> Plan(const Session& session, const RunFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run, PrepareRun(client, flags));
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.PlanRun(run.specification));
  session.Print(reply, PlanText(reply));
  return ExitCodeOf(RefusalOf(reply));
}

}  // namespace

Command PlanCommand(const Session* session) {
  const auto flags = std::make_shared<RunFlags>();
  return {.name = "plan",
          .summary =
              "Show what a run would cost and release, and whether it would be "
              "refused",
          .footer =
              "Spends nothing. Exit code 0 if the run would be accepted, 3 if "
              "the budget\nis not large enough, 7 if it would be refused for "
              "another reason.\n\nExample:\n  dpnmf plan --dataset digits "
              "--rank 10 --rounds 30 --epsilon 1",
          .flags = FlagsOfRun(flags.get()),
          .run = [session, flags] { return Plan(*session, *flags); }};
}

}  // namespace dpnmf::cli
