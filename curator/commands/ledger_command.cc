// dpnmf-curator ledger: what the ledger says, whether it is whole, and the
// operator's act after a lost anchor.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/log/audit_log.h"
#include "common/wire/convert.h"
#include "common/wire/json.h"
#include "curator/commands/commands.h"
#include "curator/commands/compare_receipts.h"
#include "curator/commands/flags/data_path_flags.h"
#include "curator/ledger/anchor.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/ledger/ledger_row.h"
#include "curator/serve/wire.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::curator {
std::string MomentText(std::int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

namespace {

struct LedgerOptions : DataPaths {
  bool accept = false;
  std::string format = "text";
  std::string population;
  std::uint64_t last = 0;
  std::string receipts;  // a file; empty: none
};

// ---- show

absl::StatusOr<v1::PopulationReport> ReportOf(const PopulationPolicy& policy,
                                              const Position& position) {
  v1::PopulationReport report;
  DPNMF_ASSIGN_OR_RETURN(*report.mutable_guarantee(),
                         GuaranteeOf(policy, position));
  *report.mutable_position() = ToProto(policy.population, position);
  DPNMF_ASSIGN_OR_RETURN(const Epsilons cap,
                         AllEpsilons(position.cap, policy.delta));
  DPNMF_ASSIGN_OR_RETURN(const Epsilons charged,
                         AllEpsilons(position.charged, policy.delta));
  *report.mutable_cap_epsilons() = dpnmf::ToProto(cap);
  *report.mutable_charged_epsilons() = dpnmf::ToProto(charged);
  DPNMF_ASSIGN_OR_RETURN(
      const double largest_run,
      LargestRun(RoomOf(position.budget()), policy.conversion, policy.delta));
  report.set_largest_run(largest_run);
  report.set_disjoint_people_by(policy.partitions.by);
  return report;
}

v1::LedgerRowReport ReportOf(const LedgerRow& row) {
  v1::LedgerRowReport report;
  report.set_sequence(row.sequence);
  report.set_kind(std::string(NameOf(row.kind)));
  report.set_unix_seconds(row.unix_seconds);
  report.set_population(row.population);
  report.set_dataset(row.dataset);
  report.set_identity(row.identity);
  report.set_run_id(row.run_id);
  report.set_round(row.round);
  report.set_mechanism(row.mechanism);
  *report.mutable_cost() = dpnmf::ToProto(row.cost);
  report.set_row_hash(HexOf(row.hash));
  if (row.kind == RowKind::kVoid || row.kind == RowKind::kOverlap)
    report.set_approved_by(row.detail);
  if (row.kind == RowKind::kPartition) report.set_partition(row.detail);
  return report;
}

absl::StatusOr<v1::LedgerReport> ReportOf(const LedgerAudit& audit,
                                          const LedgerOptions& options) {
  v1::LedgerReport report;
  const auto wanted = [&](const std::string& population) {
    return options.population.empty() || options.population == population;
  };
  for (std::size_t i = 0; i < audit.policies.size(); ++i) {
    if (!wanted(audit.policies[i].population)) continue;
    DPNMF_ASSIGN_OR_RETURN(*report.add_populations(),
                           ReportOf(audit.policies[i], audit.positions[i]));
  }
  if (report.populations().empty() && !options.population.empty()) {
    return Refusal(absl::StatusCode::kNotFound, "population-unknown",
                   absl::StrCat("The ledger has no budget for population `",
                                options.population,
                                "`; leave --population out to see all."));
  }
  std::vector<const LedgerRow*> rows;
  for (const LedgerRow& row : audit.rows)
    if (wanted(row.population)) rows.push_back(&row);
  std::size_t first = 0;
  if (options.last != 0 && options.last < rows.size())
    first = rows.size() - options.last;
  for (std::size_t i = first; i < rows.size(); ++i)
    *report.add_rows() = ReportOf(*rows[i]);
  return report;
}

// Returns an empty text if the guarantee holds.
std::string VoidText(const Position& position) {
  if (!position.void_since.has_value()) return "";
  return absl::StrCat("  VOID                  since ",
                      MomentText(*position.void_since),
                      ": a table about these people was published without "
                      "privacy\n");
}

// A line for each partition; nothing if there are none.
std::string PartitionsText(const PopulationPolicy& policy,
                           const Position& position) {
  if (position.partitions.empty()) return "";
  std::string text =
      absl::StrCat("  partitions            of the people, by ",
                   policy.partitions.by, "; each has the whole cap\n");
  for (const PartitionPosition& one : position.partitions) {
    const Budget budget = {position.cap, one.charged, one.reserved};
    const auto spent = Spent(budget, policy.conversion, policy.delta);
    const auto largest =
        LargestRun(RoomOf(budget), policy.conversion, policy.delta);
    absl::StrAppendFormat(&text, "    %-20s spent %s, largest run epsilon %s\n",
                          one.name, spent.ok() ? FormatUp(*spent) : "?",
                          largest.ok() ? FormatDown(*largest) : "?");
  }
  return text;
}

std::string PopulationText(const PopulationPolicy& policy,
                           const Position& position) {
  const Budget budget = position.budget();
  const auto spent = Spent(budget, policy.conversion, policy.delta);
  const auto both = SpentAndReserved(budget, policy.conversion, policy.delta);
  const auto largest =
      LargestRun(RoomOf(budget), policy.conversion, policy.delta);
  return absl::StrFormat(
      "population %s (%s)\n"
      "  guarantee of the cap  epsilon %s at delta %s by %s\n"
      "  spent so far          epsilon %s, spent and reserved %s\n"
      "%s"
      "  largest run           epsilon %s\n%s",
      policy.population, View(NameOf(policy.adjacency)),
      FormatUp(policy.epsilon), FormatUp(policy.delta),
      View(NameOf(policy.conversion)), spent.ok() ? FormatUp(*spent) : "?",
      both.ok() ? FormatUp(*both) : "?", VoidText(position),
      largest.ok() ? FormatDown(*largest) : "?",
      PartitionsText(policy, position));
}

std::string RowText(const v1::LedgerRowReport& row) {
  const std::string who =
      !row.partition().empty()
          ? absl::StrCat(row.dataset(), " in ", row.partition())
      : !row.approved_by().empty() ? row.approved_by()
      : !row.identity().empty()    ? row.identity()
                                   : row.dataset();
  return absl::StrFormat(
      "%6u  %s  %-10s  %-16s  %-24s  %-12s  %6u  %-10s  %10s  %s\n",
      row.sequence(), MomentText(row.unix_seconds()), row.kind(),
      row.population(), who, row.run_id().substr(0, 12), row.round(),
      row.mechanism(), FormatUp(row.cost().value()),
      row.row_hash().substr(0, 16));
}

std::string ShowText(const LedgerAudit& audit, const LedgerOptions& options,
                     const v1::LedgerReport& report) {
  std::string text;
  for (std::size_t i = 0; i < audit.policies.size(); ++i) {
    if (!options.population.empty() &&
        options.population != audit.policies[i].population) {
      continue;
    }
    absl::StrAppend(&text,
                    PopulationText(audit.policies[i], audit.positions[i]));
  }
  absl::StrAppend(
      &text, absl::StrFormat(
                 "\n%6s  %-20s  %-10s  %-16s  %-24s  %-12s  %6s  %-10s  %10s  "
                 "%s\n",
                 "row", "time", "kind", "population", "identity", "run",
                 "round", "mechanism", "cost mu^2", "hash"));
  for (const v1::LedgerRowReport& row : report.rows())
    absl::StrAppend(&text, RowText(row));
  return text;
}

absl::Status Show(const LedgerOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options ledger_paths,
                         LedgerPathsOf(options));
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, Ledger::Audit(ledger_paths));
  DPNMF_ASSIGN_OR_RETURN(const v1::LedgerReport report,
                         ReportOf(audit, options));
  Print(options.format == "json" ? dpnmf::ToJson(report)
                                 : ShowText(audit, options, report));
  return absl::OkStatus();
}

// ---- verify

const char* NameOf(AnchorState anchor) {
  switch (anchor) {
    case AnchorState::kAgrees:
      return "agrees";
    case AnchorState::kLedgerAhead:
      return "ledger is ahead";
    case AnchorState::kNone:
    case AnchorState::kFirst:
      break;
  }
  return "none";
}

v1::LedgerVerifyReport VerifyReportOf(
    const absl::StatusOr<LedgerAudit>& audit) {
  v1::LedgerVerifyReport report;
  report.set_ok(audit.ok());
  if (audit.ok()) {
    report.set_row_count(audit->rows.size());
    report.set_head(HexOf(audit->head));
    report.set_anchor(NameOf(audit->anchor));
    for (std::size_t i = 0; i < audit->policies.size(); ++i) {
      if (!audit->positions[i].void_since.has_value()) continue;
      report.add_void_populations(audit->policies[i].population);
      report.add_void_since(*audit->positions[i].void_since);
    }
  } else {
    report.set_problem(std::string(audit.status().message()));
    report.set_code(ReasonCode(audit.status()));
  }
  return report;
}

// The ledger, and that it has every row that a receipt is for.
absl::StatusOr<LedgerAudit> AuditWithReceipts(const LedgerOptions& options,
                                              std::uint64_t* count) {
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options ledger_paths,
                         LedgerPathsOf(options));
  DPNMF_ASSIGN_OR_RETURN(LedgerAudit audit, Ledger::Audit(ledger_paths));
  if (options.receipts.empty()) return audit;
  DPNMF_ASSIGN_OR_RETURN(
      *count, CompareReceipts(options.receipts, options.data_dir, audit.rows));
  return audit;
}

absl::Status Verify(const LedgerOptions& options) {
  std::uint64_t receipts = 0;
  const absl::StatusOr<LedgerAudit> audit =
      AuditWithReceipts(options, &receipts);
  v1::LedgerVerifyReport report = VerifyReportOf(audit);
  report.set_receipts(receipts);
  if (options.format == "json") {
    Print(dpnmf::ToJson(report));
  } else if (audit.ok()) {
    Print(absl::StrFormat("ledger ok: %u rows, head %s, anchor: %s\n",
                          report.row_count(), report.head(), report.anchor()));
    for (int i = 0; i < report.void_populations_size(); ++i) {
      Print(absl::StrFormat("the guarantee of population %s is VOID since %s\n",
                            report.void_populations(i),
                            MomentText(report.void_since(i))));
    }
    if (!options.receipts.empty())
      Print(absl::StrFormat("all %u receipts are in it\n", receipts));
  }
  return audit.status();
}

// ---- anchor

absl::Status AnchorAnew(const LedgerOptions& options) {
  DPNMF_ASSIGN_OR_RETURN(const Ledger::Options ledger_paths,
                         LedgerPathsOf(options));
  if (!options.accept) return Verify(options);
  // The operator's word is written down before it counts.
  if (std::filesystem::is_directory(ledger_paths.directory)) {
    DPNMF_ASSIGN_OR_RETURN(const auto audit,
                           AuditLog::Open(AuditFile(options.data_dir)));
    DPNMF_RETURN_IF_ERROR(audit->Write(
        "anchor-accept-asked", {{"anchor", ledger_paths.anchor_directory}},
        AuditSync::kDurable));
  }
  DPNMF_ASSIGN_OR_RETURN(const AcceptedAnchor accepted,
                         Ledger::AcceptAnchor(ledger_paths));
  Print(absl::StrFormat(
      "%s, %s: the ledger is anchored at row %u, head %s. No row was "
      "added.\n",
      accepted.replaced_unreadable ? "replaced the unreadable anchor"
                                   : "wrote a new anchor",
      AnchorFile(ledger_paths.anchor_directory), accepted.row_count,
      HexOf(accepted.head)));
  return absl::OkStatus();
}

// ---- the commands

Flag FormatFlag(LedgerOptions* options) {
  return Flag("--format", &options->format, "Output format: text or json",
              {.one_of = "text|json", .shown = true});
}

Command ShowCommand() {
  const auto options = std::make_shared<LedgerOptions>();
  return LedgerPathCommand(
      "show", "Verify, then show budgets and rows", "", options, Show,
      {NoAnchorFlag(&options->no_anchor), FormatFlag(options.get()),
       Flag("--population", &options->population,
            "Show only this population's budget and rows"),
       Flag("--last", &options->last, "Show only the last N rows [all]",
            {.range = {1, 1'000'000'000}})});
}

Command VerifyCommand() {
  const auto options = std::make_shared<LedgerOptions>();
  return LedgerPathCommand(
      "verify", "Verify every row, the hash chain, the anchor and receipts", "",
      options, Verify,
      {NoAnchorFlag(&options->no_anchor), FormatFlag(options.get()),
       Flag("--receipts", &options->receipts,
            "File of receipts that analysts hold (dpnmf receipts export): the "
            "ledger must contain every one",
            {.value = "FILE"})});
}

Command NewAnchorCommand() {
  const auto options = std::make_shared<LedgerOptions>();
  return LedgerPathCommand(
      "anchor", "Write a new anchor after the old one was lost",
      "The anchor shows that the ledger was not rolled back. First check that "
      "--anchor-dir\nnames its directory. If its volume is lost and you know "
      "that the ledger is the\nlatest, stop the curator and accept the ledger "
      "as it is; this adds no row. An anchor\nthat contradicts the ledger is "
      "never replaced, because charges would be forgotten:\nrestore the ledger "
      "that the anchor belongs to.",
      options, AnchorAnew,
      {Flag("--accept", &options->accept,
            "Accept the ledger as the latest state. Without this flag: only "
            "check")});
}

}  // namespace

Command LedgerCommand() {
  return {.name = "ledger",
          .summary = "Show, verify and anchor the ledger of record",
          .footer =
              "The ledger is read without changing it; a server may run at the "
              "same time.\nExample:\n  dpnmf-curator ledger verify --data-dir "
              "/var/lib/dpnmf",
          .commands = {ShowCommand(), VerifyCommand(), NewAnchorCommand()}};
}

}  // namespace dpnmf::curator
