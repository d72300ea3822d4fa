#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/commands/spending.h"
#include "client/commands/train_joint.h"
#include "client/flags/order_flags.h"
#include "client/flags/prior_flags.h"
#include "client/flags/run_flags.h"
#include "client/render/names.h"
#include "client/session/follow.h"
#include "client/session/interrupt.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/wire/json.h"
#include "common/wire/status.h"

namespace dpnmf::cli {
namespace {

// The id stands on a line of its own, for scripts.
std::string StartedText(const v1::Run& run) {
  const std::string id = ShortRunId(run.run_id());
  return absl::StrCat(run.run_id(),
                      "\nThe run continues in the background. 'dpnmf watch ",
                      id, "' shows it, 'dpnmf cancel ", id, "' ends it.\n");
}

// A server out of reach before the start: nothing waits for it to be back.
absl::Status NothingStarted(const absl::Status& status) {
  if (!IsConnectionFailure(status) && !absl::IsDeadlineExceeded(status))
    return status;
  return Refusal(status.code(), ReasonCode(status),
                 absl::StrCat(status.message(), " No run was started."));
}

// Before anything is spent: says why the mechanism was chosen, if none was
// asked for, and what to expect, and asks where that is needed. A request that
// cannot be planned is left to the start to refuse; without an answer there is
// no start, unless nothing is to be asked.
absl::Status ConfirmPlan(const Session& session, const AnalystClient& client,
                         const RunFlags& flags,
                         const v1::RunSpecification& specification) {
  const auto plan = client.PlanRun(specification);
  if (!plan.ok() && !flags.spend_again &&
      (IsConnectionFailure(plan.status()) ||
       absl::IsDeadlineExceeded(plan.status())))
    return NothingStarted(plan.status());
  if (!plan.ok() || plan->would_be_refused()) return absl::OkStatus();
  if (!flags.spend_again) {
    const auto runs = client.ListRuns();
    if (!runs.ok()) return NothingStarted(runs.status());
    DPNMF_RETURN_IF_ERROR(ConfirmSpending(session, *plan, *runs));
  }
  if (!plan->reason().empty()) {
    *session.environment().err << "dpnmf: note: mechanism "
                               << plan->specification().parameters().mechanism()
                               << ": " << plan->reason() << '\n';
  }
  if (plan->forecast().too_small())
    *session.environment().err << "dpnmf: note: " << plan->forecast().sentence()
                               << '\n';
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> Train(const Session& session, const RunFlags& flags,
                               const PriorFlags& of_priors,
                               const OrderFlags& of_order,
                               const std::string& request_id, bool wait) {
  if (std::isnan(flags.epsilon)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "usage",
                   "--epsilon is required; see 'dpnmf train --help'.");
  }
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  auto prepared_or = PrepareRun(client, flags);
  if (!prepared_or.ok()) return NothingStarted(prepared_or.status());
  PreparedRun& prepared = *prepared_or;
  prepared.specification.set_request_id(request_id);
  DPNMF_ASSIGN_OR_RETURN(const std::vector<PriorToSend> priors,
                         ReadPriors(of_priors, [&](const std::string& id) {
                           return ResolveRunId(client, id);
                         }));
  NotePriors(priors, /*features=*/{}, session.environment().err);
  for (const PriorToSend& prior : priors)
    *prepared.specification.add_priors() = prior.header;
  DPNMF_ASSIGN_OR_RETURN(const auto order, ReadOrder(of_order));
  if (order.has_value())
    *prepared.specification.mutable_feature_order() = *order;
  DPNMF_RETURN_IF_ERROR(
      ConfirmPlan(session, client, flags, prepared.specification));
  const auto run_or = [&] {
    Interrupt interrupt;
    return client.StartRun(prepared.specification, prepared.dictionary, &priors,
                           &interrupt);
  }();
  // The server asks its curator first, and a refused certificate ends a call
  // before its server reads it; without an answer the run may be there.
  if (ReasonCode(run_or.status()) == "curator-unreachable" ||
      absl::IsUnauthenticated(run_or.status()))
    return NothingStarted(run_or.status());
  DPNMF_ASSIGN_OR_RETURN(const auto run, run_or);
  if (!wait) {
    session.Print(run, StartedText(run));
    return kExitOk;
  }
  *session.environment().out
      << (session.json() ? ToJsonLine(run)
                         : absl::StrCat("run ", run.run_id(), " on ",
                                        prepared.dataset.name()))
      << '\n'
      << std::flush;
  return FollowRun(session, client, run, /*print_run=*/true);
}

}  // namespace

Command TrainCommand(const Session* session) {
  const auto flags = std::make_shared<RunFlags>();
  flags->command = "train";
  // Not given: what is released already needs none.
  flags->epsilon = std::numeric_limits<double>::quiet_NaN();
  const auto datasets = std::make_shared<std::vector<std::string>>();
  const auto priors = std::make_shared<PriorFlags>();
  const auto order = std::make_shared<OrderFlags>();
  const auto wait = std::make_shared<bool>(false);
  const auto request_id = std::make_shared<std::string>();
  Command train = {
      .name = "train",
      .summary = "Start a run",
      .footer =
          "The run's whole cost is reserved when it starts; the part that was "
          "not charged is\nreturned when it ends. Without --wait the run's id "
          "is printed and the run continues\nin the background. With --wait "
          "and --format json: the run, its events and the run\nagain, one on "
          "each line.\n\nExamples:\n  dpnmf train --dataset digits --rank 10 "
          "--epsilon 1 --wait\n  dpnmf train --dataset faces --rank 50 "
          "--epsilon 2 --outliers on\n  dpnmf train --dataset digits --rank 10 "
          "--epsilon 1 --init public:start.npy\n  dpnmf train --dataset digits "
          "--rank 16 --epsilon 1 --prior consented.npy\n  dpnmf train "
          "--dataset faces --rank 50 --epsilon 1 --image-width 19\n  dpnmf "
          "train --datasets jan,feb,mar --rank 10 --epsilon 1 --wait",
      .flags = FlagsOfRun(flags.get()),
      .run = [session, flags, datasets, priors, order, request_id, wait] {
        if (!datasets->empty())
          return TrainJointly(*session, *flags, *datasets, *priors, *order,
                              *request_id, *wait);
        return Train(*session, *flags, *priors, *order, *request_id, *wait);
      }};
  for (Flag& flag : train.flags)
    if (std::string_view(flag.name) == "--epsilon") flag.rules.required = false;
  train.flags.push_back(
      Flag("--datasets", datasets.get(),
           "Instead: two or more data sets of different people, on the same "
           "features; W is fitted to the sum of their releases of moments. A "
           "data set that has such a release costs nothing; for any other a "
           "run is started, and --epsilon is required",
           {.value = "NAME,NAME"}));
  for (const Flag& flag : FlagsOfPriors(priors.get()))
    train.flags.push_back(flag);
  for (const Flag& flag : FlagsOfOrder(order.get()))
    train.flags.push_back(flag);
  train.flags.push_back(
      Flag("--request-id", request_id.get(),
           "A name of your choice: the same request with the same name is the "
           "same run, and is charged once",
           {.value = "ID"}));
  train.flags.push_back(
      Flag("--spend-again", &flags->spend_again,
           "Start without a question, even if a run has paid for the same, or "
           "for a release of the data set, which `dpnmf refit` fits for free, "
           "or if few parts can be expected to be reliable"));
  train.flags.push_back(
      Flag("--wait", wait.get(),
           "Watch the run to its end; exit code 9 if it fails"));
  return train;
}

}  // namespace dpnmf::cli
