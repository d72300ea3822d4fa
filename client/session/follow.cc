#include "client/session/follow.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/render/names.h"
#include "client/render/number.h"
#include "client/render/progress.h"
#include "client/render/text.h"
#include "client/session/interrupt.h"
#include "client/session/watcher.h"
#include "common/base/error.h"
#include "common/cli/program.h"
#include "common/wire/json.h"

namespace dpnmf::cli {
namespace {

ProgressStyle StyleOf(const Session& session) {
  if (session.json()) return ProgressStyle::kJson;
  return session.environment().terminal_width > 0 ? ProgressStyle::kBar
                                                  : ProgressStyle::kLines;
}

ExitCode ReportInterrupt(const Session& session, const std::string& run_id) {
  const std::string id = ShortRunId(run_id);
  *session.environment().err
      << ErrorText("dpnmf",
                   Refusal(absl::StatusCode::kCancelled, "interrupted",
                           absl::StrCat("Stopped watching; run ", id,
                                        " continues. 'dpnmf watch ", id,
                                        "' watches it again, 'dpnmf cancel ",
                                        id, "' ends it.")))
      << std::flush;
  return kExitInterrupted;
}

ExitCode ReportEnd(const Session& session, const v1::Run& run,
                   const std::string& guarantee,
                   const v1::LedgerPosition& position, bool print_run) {
  if (!session.json()) {
    *session.environment().out << RunEndText(run, guarantee, position)
                               << std::flush;
  } else if (print_run) {
    *session.environment().out << ToJsonLine(run) << '\n' << std::flush;
  }
  if (run.state() == v1::RUN_STATE_COMPLETED) return kExitOk;
  if (run.state() == v1::RUN_STATE_FAILED) {
    *session.environment().err << "dpnmf: the run failed: " << run.error()
                               << " [" << run.error_code() << "]\n"
                               << std::flush;
  }
  return kExitRunFailed;
}

// The cap's guarantee in words; empty if the data set cannot be asked for now.
std::string GuaranteeOf(const AnalystClient& client, const v1::Run& run) {
  const auto reply = client.ListDatasets();
  if (!reply.ok()) return "";
  // Skips a sum with terms of several populations: it has no one guarantee.
  for (const v1::JoinedRun& joined : run.joined())
    if (joined.population() != run.joined(0).population()) return "";
  const std::string& name = run.joined().empty()
                                ? run.specification().parameters().dataset()
                                : run.joined(0).dataset();
  for (const v1::Dataset& dataset : reply->datasets())
    if (dataset.name() == name) return GuaranteeText(dataset.guarantee());
  return "";
}

}  // namespace

absl::StatusOr<ExitCode> FollowRun(const Session& session,
                                   const AnalystClient& client,
                                   const v1::Run& run, bool print_run) {
  const Environment& environment = session.environment();
  ProgressPrinter printer(environment.out, StyleOf(session),
                          environment.terminal_width,
                          run.specification().parameters().conversion());
  WatchCallbacks callbacks;
  v1::LedgerPosition position;  // the last one that was told
  bool lost = false;            // and said so
  callbacks.on_event = [&](const v1::RunEvent& event) {
    lost = false;
    if (event.has_position()) position = event.position();
    printer.Show(event);
  };
  callbacks.on_learning = [&](double share) { printer.ShowLearning(share); };
  // One line for each loss, however often the client tries.
  callbacks.on_retry = [&](const absl::Status& status, absl::Duration) {
    printer.EndLine();
    if (std::exchange(lost, true)) return;
    *environment.err << "dpnmf: the server stopped, or the connection was lost";
    if (!absl::IsCancelled(status))  // a stop in order has no other reason
      *environment.err << " (" << status.message() << ")";
    *environment.err << "; trying again for up to "
                     << FormatDuration(absl::ToDoubleSeconds(
                            environment.retry.give_up_after))
                     << ". The run does not need this program.\n"
                     << std::flush;
  };
  Interrupt interrupt;
  const auto outcome = WatchToEnd(client, run.run_id(), environment.retry,
                                  callbacks, &interrupt);
  printer.EndLine();
  if (!outcome.ok()) return outcome.status();
  if (outcome->interrupted) return ReportInterrupt(session, run.run_id());
  const std::string guarantee =
      session.json() ? "" : GuaranteeOf(client, outcome->run);
  return ReportEnd(session, outcome->run, guarantee, position, print_run);
}

absl::StatusOr<v1::Run> AwaitRun(const Session& session,
                                 const AnalystClient& client,
                                 const std::string& run_id,
                                 const std::string& if_interrupted) {
  Interrupt interrupt;
  WatchCallbacks callbacks;
  ProgressPrinter printer(
      session.environment().err,
      !session.json() && session.environment().terminal_width > 0
          ? ProgressStyle::kBar
          : ProgressStyle::kJson,
      session.environment().terminal_width, v1::CONVERSION_UNSPECIFIED);
  callbacks.on_event = [](const v1::RunEvent&) {};
  callbacks.on_learning = [&](double share) { printer.ShowLearning(share); };
  callbacks.on_retry = [](const absl::Status&, absl::Duration) {};
  DPNMF_ASSIGN_OR_RETURN(const WatchOutcome outcome,
                         WatchToEnd(client, run_id, session.environment().retry,
                                    callbacks, &interrupt));
  printer.EndLine();
  if (!outcome.interrupted) return outcome.run;
  return Refusal(absl::StatusCode::kCancelled, "interrupted", if_interrupted);
}

}  // namespace dpnmf::cli
