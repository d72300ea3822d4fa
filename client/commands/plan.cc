#include <memory>

#include "client/commands/commands.h"
#include "client/flags/run_flags.h"
#include "client/render/text.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/wire/plan_refusal.h"

namespace dpnmf::cli {
namespace {

absl::StatusOr<ExitCode> Plan(const Session& session, const RunFlags& flags,
                              bool details) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run, PrepareRun(client, flags));
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.PlanRun(run.specification));
  session.Print(reply, PlanText(reply, details));
  return ExitCodeOf(RefusalOf(reply));
}

}  // namespace

Command PlanCommand(const Session* session) {
  const auto flags = std::make_shared<RunFlags>();
  const auto details = std::make_shared<bool>(false);
  Command plan = {
      .name = "plan",
      .summary =
          "Show what a run would cost and release, and whether it would be "
          "refused",
      .footer =
          "Spends nothing. Exit code 0 if the run would be accepted, 3 if "
          "the budget\nis not large enough, 7 if it would be refused for "
          "another reason.\n\nExample:\n  dpnmf plan --dataset digits "
          "--rank 10 --rounds 30 --epsilon 1",
      .flags = FlagsOfRun(flags.get()),
      .run = [session, flags, details] {
        return Plan(*session, *flags, *details);
      }};
  plan.flags.push_back(
      Flag("--details", details.get(),
           "Also show mu^2, epsilon by each conversion, and the noise"));
  return plan;
}

}  // namespace dpnmf::cli
