#include <memory>
#include <string>

#include "analyst/client/commands/commands.h"
#include "analyst/client/render/text.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

absl::StatusOr<ExitCode> ShowBudget(const Session& session,
                                    const std::string& dataset) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.GetBudget(dataset));
  session.Print(reply, BudgetText(reply));
  return reply.agree() ? kExitOk : kExitDataLoss;
}

}  // namespace

Command BudgetCommand(const Session* session) {
  const auto dataset = std::make_shared<std::string>();
  return {
      .name = "budget",
      .summary =
          "Show the cap, what is spent and the largest run, from both ledgers",
      .footer =
          "The cap's epsilon is the guarantee: it holds for all later requests "
          "too.\nEpsilons of what is charged so far are readings of the "
          "ledger. Exit code 8 if\nthe curator's ledger and this analyst's "
          "mirror of it differ.\n\nExample:\n  dpnmf budget --dataset digits",
      .flags = {Flag(
          "--dataset", dataset.get(),
          "Name of the data set; the budget is the one of its population",
          {.value = "NAME", .required = true})},
      .run = [session, dataset] { return ShowBudget(*session, *dataset); }};
}

}  // namespace dpnmf::cli
