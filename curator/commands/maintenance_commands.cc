// dpnmf-curator backup, restore, forget, close and remove.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/log/audit_log.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/data_path_flags.h"
#include "curator/ledger/data_paths.h"
#include "curator/maintenance/backup.h"
#include "curator/maintenance/close_run.h"
#include "curator/maintenance/remove_dataset.h"
#include "curator/maintenance/retention.h"

namespace dpnmf::curator {
namespace {

struct MaintenanceOptions : DataPaths {
  std::string backup, audit_log;
  bool check = false, quick = false, dry_run = false;
  std::vector<std::string> runs;
  int older_than_days = 0;
  std::string run;   // of close
  std::string name;  // of remove
};

// "1 run", "2 runs".
std::string Counted(std::size_t count, const char* what) {
  return absl::StrFormat("%u %s%s", count, what, count == 1 ? "" : "s");
}

std::string BackupReportText(const BackupReport& report) {
  return absl::StrFormat("%s, %u bytes; ledger: %u rows, head %s\n",
                         Counted(report.files, "file"), report.bytes,
                         report.row_count, HexOf(report.head));
}

absl::Status Backup(const MaintenanceOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const BackupReport report,
                         MakeBackup(options.data_dir, options.backup));
  Print("wrote " + options.backup + ": " + BackupReportText(report));
  if (!report.datasets.ok()) {
    absl::FPrintF(
        stderr,
        "dpnmf-curator: warning: restore refuses this backup: %s Then "
        "make another.\n",
        report.datasets.message());
  }
  return absl::OkStatus();
}

absl::Status Restore(const MaintenanceOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options ledger_paths,
                         LedgerPathsOf(options));
  const std::string& anchor = ledger_paths.anchor_directory;
  if (options.check) {
    DPNMF_ASSIGN_OR_RETURN(
        const BackupReport report,
        CheckBackup(options.backup, anchor,
                    options.quick ? CheckDepth::kQuick : CheckDepth::kWhole));
    Print(options.backup +
          (options.quick
               ? " has files of the right names and lengths, and the latest "
                 "ledger; what the files hold was not read (--quick): "
               : " is complete and the latest state: ") +
          BackupReportText(report));
    return absl::OkStatus();
  }
  DPNMF_ASSIGN_OR_RETURN(
      const BackupReport report,
      RestoreBackup(options.backup, options.data_dir, anchor));
  DPNMF_ASSIGN_OR_RETURN(const auto log,
                         AuditLog::Open(AuditFile(options.data_dir)));
  DPNMF_RETURN_IF_ERROR(
      log->Write("restored",
                 {{"from", options.backup},
                  {"rows", static_cast<std::int64_t>(report.row_count)},
                  {"anchor", anchor.empty() ? std::string("none") : anchor}},
                 AuditSync::kDurable));
  Print("restored " + options.data_dir + ": " + BackupReportText(report));
  if (anchor.empty()) {
    absl::FPrintF(
        stderr,
        "dpnmf-curator: warning: without an anchor nothing shows that this "
        "backup is the latest state: charges that were made after it are "
        "forgotten, and their budget can be spent again.\n");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<AuditLog>> OpenAudit(
    const MaintenanceOptions& options) {
  return AuditLog::Open(options.audit_log.empty() ? AuditFile(options.data_dir)
                                                  : options.audit_log);
}

absl::Status Close(const MaintenanceOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options ledger_paths,
                         LedgerPathsOf(options));
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, Ledger::Audit(ledger_paths));
  DPNMF_ASSIGN_OR_RETURN(const std::string run_id,
                         WholeRunId(audit.rows, options.run));
  DPNMF_ASSIGN_OR_RETURN(const auto log, OpenAudit(options));
  DPNMF_ASSIGN_OR_RETURN(
      const AbandonedRun run,
      CloseAbandonedRun(ledger_paths, run_id,
                        absl::StrFormat("operator, uid %d", ::getuid()),
                        log.get()));
  Print(absl::StrFormat(
      "closed run %s of %s: mu^2 %.4g of population %s is available again; %s "
      "charged.\n",
      run_id.substr(0, 12), run.identity, run.returned.ToDouble(),
      run.population,
      run.charged_rounds == 1
          ? std::string("1 round stays")
          : absl::StrFormat("%u rounds stay", run.charged_rounds)));
  return absl::OkStatus();
}

absl::Status Remove(const MaintenanceOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options ledger_paths,
                         LedgerPathsOf(options));
  DPNMF_RETURN_IF_ERROR(Ledger::Audit(ledger_paths).status());
  DPNMF_ASSIGN_OR_RETURN(const auto log, OpenAudit(options));
  DPNMF_ASSIGN_OR_RETURN(
      const RemovedDataset removed,
      RemoveDataset(options.data_dir, ledger_paths, options.name,
                    absl::StrFormat("operator, uid %d", ::getuid()),
                    log.get()));
  Print(absl::StrFormat(
      "removed %s of population %s; its name is never used again%s.\n",
      options.name, removed.population,
      removed.population_is_used
          ? ", and its people can be imported only under this population"
          : ""));
  return absl::OkStatus();
}

absl::Status Forget(const MaintenanceOptions& options) {
  if (options.runs.empty() && options.older_than_days == 0) {
    return Refusal(absl::StatusCode::kInvalidArgument, "runs-missing",
                   "No run is named: give --run ID or --older-than-days N.");
  }
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options ledger_paths,
                         LedgerPathsOf(options));
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, Ledger::Audit(ledger_paths));
  RetentionRequest request;
  for (const std::string& digits : options.runs) {
    DPNMF_ASSIGN_OR_RETURN(request.runs.emplace_back(),
                           WholeRunId(audit.rows, digits));
  }
  request.dry_run = options.dry_run;
  if (options.older_than_days > 0) {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    request.closed_before =
        now.count() - std::int64_t{86'400} * options.older_than_days;
  }
  if (!options.dry_run) {
    DPNMF_ASSIGN_OR_RETURN(const auto log, OpenAudit(options));
    DPNMF_RETURN_IF_ERROR(
        log->Write("releases-forgotten",
                   {{"runs", static_cast<std::int64_t>(options.runs.size())},
                    {"older_than_days", std::int64_t{options.older_than_days}}},
                   AuditSync::kDurable));
  }
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<ForgottenRun> forgotten,
      ForgetReleases(audit.rows, ReleaseDirectory(options.data_dir), request));
  for (const ForgottenRun& run : forgotten) {
    Print(absl::StrFormat("run %s: %s, %u bytes %s\n", run.run_id.substr(0, 12),
                          Counted(run.releases, "release"), run.bytes,
                          options.dry_run ? "would be deleted" : "deleted"));
  }
  Print(absl::StrFormat("%s; the ledger is unchanged.\n",
                        Counted(forgotten.size(), "run")));
  return absl::OkStatus();
}

Command MaintenanceCommand(const char* name, const char* summary,
                           const char* footer,
                           const std::shared_ptr<MaintenanceOptions>& options,
                           absl::Status (*action)(const MaintenanceOptions&),
                           std::vector<Flag> more) {
  more.insert(more.begin(), NoAnchorFlag(&options->no_anchor));
  return LedgerPathCommand(name, summary, footer, options, action, more);
}

}  // namespace

Command BackupCommand() {
  const auto options = std::make_shared<MaintenanceOptions>();
  return MaintenanceCommand(
      "backup", "Copy the data directory; a server may run at the same time",
      "The backup does not contain the anchor, which shows whether a backup is "
      "the latest\nstate.\nExample:\n  dpnmf-curator backup --data-dir "
      "/var/lib/dpnmf --output /mnt/backup/today",
      options, Backup,
      {Flag("--output", &options->backup, "New directory for the backup",
            {.value = "DIR", .required = true})});
}

Command RestoreCommand() {
  const auto options = std::make_shared<MaintenanceOptions>();
  return MaintenanceCommand(
      "restore", "Make a data directory from a backup",
      "A backup that lacks a charge which the anchor has recorded is refused, "
      "because the\ncharge would be forgotten. If the anchor is lost too, "
      "nothing shows which state is\nthe latest; see "
      "docs/reference/operations.md.",
      options, Restore,
      {Flag("--from", &options->backup, "Directory of the backup",
            {.value = "DIR", .required = true}),
       Flag("--check", &options->check,
            "Only check whether the backup could be restored"),
       Flag("--quick", &options->quick,
            "Do not read what files hold, only their names and lengths",
            {.needs = "--check"})});
}

Command ForgetCommand() {
  const auto options = std::make_shared<MaintenanceOptions>();
  return MaintenanceCommand(
      "forget", "Delete the stored releases of closed runs",
      "The ledger does not change: charges stay, and a release whose bytes "
      "were deleted is\nnever drawn again.\nExample:\n  dpnmf-curator forget "
      "--data-dir /var/lib/dpnmf --older-than-days 365",
      options, Forget,
      {Flag("--run", &options->runs,
            "Run to forget: its id, or the first digits"),
       Flag("--older-than-days", &options->older_than_days,
            "Forget all runs that were closed at least N days ago",
            {.range = {1, 36'500}}),
       Flag("--dry-run", &options->dry_run, "Only show what would be deleted"),
       AuditLogFlag(&options->audit_log)});
}

Command CloseCommand() {
  const auto options = std::make_shared<MaintenanceOptions>();
  return MaintenanceCommand(
      "close", "Close a run whose analyst does not return",
      "Stop the server first. The part of the reservation that was not charged "
      "becomes\navailable again; charges stay. Nobody can open the run "
      "again.\nExample:\n  dpnmf-curator close --data-dir /var/lib/dpnmf --run "
      "0123456789ab",
      options, Close,
      {Flag("--run", &options->run, "Run to close: its id, or the first digits",
            {.required = true}),
       AuditLogFlag(&options->audit_log)});
}

Command RemoveCommand() {
  const auto options = std::make_shared<MaintenanceOptions>();
  return MaintenanceCommand(
      "remove", "Remove a wrong import on which no run was ever opened",
      "Stop the server first. The data are deleted; the name is never used "
      "again.\nExample:\n  dpnmf-curator remove --data-dir /var/lib/dpnmf "
      "--name visits",
      options, Remove,
      {Flag("--name", &options->name, "Data set to remove", {.required = true}),
       AuditLogFlag(&options->audit_log)});
}

}  // namespace dpnmf::curator
