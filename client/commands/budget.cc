#include <memory>
#include <string>

#include "client/commands/commands.h"
#include "client/flags/run_flags.h"
#include "client/render/text.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

struct BudgetFlags {
  std::string dataset, federation;
};

absl::StatusOr<ExitCode> ShowBudget(const Session& session,
                                    const BudgetFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const std::string dataset,
                         DatasetOrFederation(flags.dataset, flags.federation));
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.GetBudget(dataset));
  session.Print(reply, BudgetText(reply));
  return reply.agree() ? kExitOk : kExitDataLoss;
}

}  // namespace

Command BudgetCommand(const Session* session) {
  const auto flags = std::make_shared<BudgetFlags>();
  return {
      .name = "budget",
      .summary =
          "Show the cap, what is spent and the largest run, from both ledgers",
      .footer =
          "The cap's epsilon is the guarantee: it holds for all later requests "
          "too.\nEpsilons of what is charged so far are readings of the "
          "ledger. Exit code 8 if\nthe curator's ledger and this analyst's "
          "mirror of it differ.\n\nExample:\n  dpnmf budget --dataset digits",
      .flags = {Flag("--dataset", &flags->dataset,
                     "Name of the data set; the budget is the one of its "
                     "population [required without --federation]",
                     {.value = "NAME"}),
                Flag("--federation", &flags->federation,
                     "Instead: name of a federation; the budgets are those of "
                     "all its curators",
                     {.value = "NAME"})},
      .run = [session, flags] { return ShowBudget(*session, *flags); }};
}

}  // namespace dpnmf::cli
