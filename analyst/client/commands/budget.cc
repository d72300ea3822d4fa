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
      .summary = "What is promised, spent and left, by both sides' records",
      .footer =
          "The cap's epsilon is the guarantee: it holds whatever is asked for "
          "later.\nEpsilons of what is charged so far are readings of the "
          "ledger. Exit code 8 if\nthe curator's ledger and this analyst's "
          "mirror of it differ.\n\nExample:\n  dpnmf budget --dataset digits",
      .flags = {Flag("--dataset", dataset.get(),
                     "A data set; the budget is its population's",
                     {.value = "NAME", .required = true})},
      .run = [session, dataset] { return ShowBudget(*session, *dataset); }};
}

}  // namespace dpnmf::cli
