#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/flags/run_flags.h"
#include "client/render/text.h"
#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/cli/program.h"
#include "common/wire/json.h"

namespace dpnmf::cli {
namespace {

struct BudgetFlags {
  std::string dataset, federation;
  bool details = false;
};

// One budget of each population and partition, by their first data set. One
// that cannot be read is named, and the others are shown; the largest exit
// code.
absl::StatusOr<ExitCode> ShowAllBudgets(const Session& session,
                                        const AnalystClient& client,
                                        bool details) {
  DPNMF_ASSIGN_OR_RETURN(const auto offered, client.ListDatasets());
  if (offered.datasets().empty())
    *session.environment().err
        << "dpnmf: note: the curator offers no data set to this analyst\n";
  // A federation has budgets of its own, whatever its population is called.
  std::set<std::tuple<std::string, std::string, std::string>> shown;
  ExitCode worst = kExitOk;
  for (const v1::Dataset& dataset : offered.datasets()) {
    if (!shown
             .emplace(dataset.population(), dataset.partition(),
                      dataset.has_federation() ? dataset.name() : "")
             .second)
      continue;
    const auto reply_or = client.GetBudget(dataset.name());
    if (!reply_or.ok()) {
      worst = std::max(worst, ExitCodeOf(reply_or.status()));
      *session.environment().err
          << ErrorText(absl::StrCat("dpnmf: data set '", dataset.name(), "'"),
                       reply_or.status());
      continue;
    }
    const v1::GetBudgetReply& reply = *reply_or;
    if (!reply.agree()) worst = std::max(worst, kExitDataLoss);
    *session.environment().out
        << (session.json()
                ? ToJsonLine(reply) + "\n"
                : (shown.size() > 1 ? "\n" : "") + BudgetText(reply, details))
        << std::flush;
  }
  return worst;
}

absl::StatusOr<ExitCode> ShowBudget(const Session& session,
                                    const BudgetFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  if (flags.dataset.empty() && flags.federation.empty())
    return ShowAllBudgets(session, client, flags.details);
  DPNMF_ASSIGN_OR_RETURN(const std::string dataset,
                         DatasetOrFederation(flags.dataset, flags.federation));
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.GetBudget(dataset));
  session.Print(reply, BudgetText(reply, flags.details));
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
          "too. What is\nspent so far is a reading of the ledger. Exit code 8 "
          "if the curator's ledger and this\nanalyst's copy of it differ. "
          "With --format json and no data set: a budget on each "
          "line.\n\nExample:\n  dpnmf budget --dataset digits",
      .flags = {Flag("--dataset", &flags->dataset,
                     "Name of the data set; the budget is the one of its "
                     "population [without --federation: all]",
                     {.value = "NAME"}),
                Flag("--federation", &flags->federation,
                     "Instead: name of a federation; the budgets are those of "
                     "all its curators",
                     {.value = "NAME"}),
                Flag("--details", &flags->details,
                     "Also show mu^2, epsilon by each conversion, both "
                     "ledgers and the Renyi divergences")},
      .run = [session, flags] { return ShowBudget(*session, *flags); }};
}

}  // namespace dpnmf::cli
