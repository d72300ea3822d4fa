#include <memory>
#include <string>

#include "analyst/cli/commands/commands.h"
#include "analyst/cli/render/text.h"
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

void AddBudgetCommand(CLI::App* app, Session* session) {
  CLI::App* command = app->add_subcommand(
      "budget", "What is promised, spent and left, by both sides' records");
  auto dataset = std::make_shared<std::string>();
  command
      ->add_option("--dataset", *dataset,
                   "A data set; the budget is its population's")
      ->required()
      ->type_name("NAME");
  command->footer(
      "The cap's epsilon is the guarantee: it holds whatever is asked for "
      "later.\nEpsilons of what is charged so far are readings of the ledger. "
      "Exit code 8 if\nthe curator's ledger and this analyst's mirror of it "
      "differ.\n\nExample:\n  dpnmf budget --dataset digits");
  command->callback(
      [session, dataset] { session->Finish(ShowBudget(*session, *dataset)); });
}

}  // namespace dpnmf::cli
