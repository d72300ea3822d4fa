#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/flags/list_flags.h"
#include "client/render/names.h"
#include "client/render/text.h"
#include "client/session/run_id.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

// The server then knows the curator's latest word on each guarantee. Runs are
// shown without it too.
void AskForGuarantees(const AnalystClient& client) {
  (void)client.ListDatasets();
}

absl::StatusOr<ExitCode> ListRuns(const Session& session,
                                  const ListFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  AskForGuarantees(client);
  DPNMF_ASSIGN_OR_RETURN(auto reply, client.ListRuns());
  const std::string cut = CutToFlags(
      flags,
      [](const v1::Run& run) {
        const v1::RunParameters& parameters = run.specification().parameters();
        return absl::StrCat(run.run_id(), " ", NameOf(run.state()), " ",
                            parameters.dataset(), " ", parameters.mechanism(),
                            run.parent().empty() ? " " : " refit of ",
                            run.parent(), " ", run.started_by());
      },
      reply.mutable_runs());
  session.Print(reply, cut.empty() || reply.runs_size() > 0
                           ? absl::StrCat(RunsText(reply), cut)
                           : cut.substr(1));
  return kExitOk;
}

absl::StatusOr<ExitCode> ShowRun(const Session& session,
                                 const std::string& prefix) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, prefix));
  AskForGuarantees(client);
  DPNMF_ASSIGN_OR_RETURN(const auto run, client.GetRun(run_id));
  session.Print(run, RunText(run));
  return kExitOk;
}

absl::StatusOr<ExitCode> CancelRun(const Session& session,
                                   const std::string& prefix) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, prefix));
  DPNMF_ASSIGN_OR_RETURN(const auto run, client.CancelRun(run_id));
  session.Print(run, absl::StrCat("run ", ShortRunId(run_id), " is ",
                                  NameOf(run.state()), ".\n"));
  return kExitOk;
}

absl::StatusOr<ExitCode> ForgetRun(const Session& session,
                                   const std::string& prefix) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const auto run_id, ResolveRunId(client, prefix));
  DPNMF_ASSIGN_OR_RETURN(const auto reply, client.ForgetRun(run_id));
  session.Print(reply,
                absl::StrCat("run ", ShortRunId(run_id),
                             " is deleted; its charges stay in both ledgers (",
                             reply.charge_count(), ").\n"));
  return kExitOk;
}

using RunWork = absl::StatusOr<ExitCode>(const Session&, const std::string&);

Command RunCommand(const Session* session, const char* name,
                   const char* summary, const char* footer, RunWork* work) {
  const auto run = std::make_shared<std::string>();
  return {.name = name,
          .summary = summary,
          .footer = footer,
          .flags = {Flag("run", run.get(), "Id of the run, or its first digits",
                         {.value = "RUN", .required = true})},
          .run = [session, run, work] { return work(*session, *run); }};
}

}  // namespace

Command RunsCommand(const Session* session) {
  const auto flags = std::make_shared<ListFlags>();
  return {.name = "runs",
          .summary = "List all runs, newest first",
          .footer =
              "Epsilon spent is a reading of what is charged, not the "
              "guarantee. A search\nlooks in id, state, data set, mechanism, "
              "`refit` and who started it.\n\nExamples:\n  dpnmf runs --search "
              "'visits completed' --limit 10\n  dpnmf runs --format json",
          .flags = FlagsOfList(flags.get()),
          .run = [session, flags] { return ListRuns(*session, *flags); }};
}

Command ShowCommand(const Session* session) {
  return RunCommand(session, "show",
                    "Show one run: its request, its state and its charges",
                    "Example:\n  dpnmf show 3f9a", ShowRun);
}

Command CancelCommand(const Session* session) {
  return RunCommand(
      session, "cancel", "End a run",
      "The current round may finish. The part of the reservation that was not "
      "charged is\nreturned to the budget; charges stay spent. Cancelling "
      "twice has no further effect.\n\nExample:\n  dpnmf cancel 3f9a",
      CancelRun);
}

Command ForgetCommand(const Session* session) {
  return RunCommand(
      session, "forget", "Delete a run that has ended",
      "Its model and its events are deleted for ever. Its charges stay in the "
      "ledger of record\nand in the mirror.\n\nExample:\n  dpnmf forget 3f9a",
      ForgetRun);
}

}  // namespace dpnmf::cli
