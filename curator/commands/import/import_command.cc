#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/threads/interruption.h"
#include "common/wire/json.h"
#include "curator/commands/commands.h"
#include "curator/commands/import/import_checks.h"
#include "curator/commands/import/import_flags.h"
#include "curator/commands/import/import_text.h"
#include "curator/control/control.h"
#include "curator/control/online_import.h"
#include "curator/data/rated_users.h"
#include "curator/data/removed.h"
#include "curator/import/dataset_people.h"
#include "curator/import/import.h"
#include "curator/import/part.h"
#include "curator/import/readers/item_table.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/ledger/ledger_row.h"
#include "curator/ledger/others_account.h"
#include "curator/maintenance/remove_dataset.h"
#include "curator/serve/wire.h"
#include "dpnmf/v1/local.pb.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

// A server that runs holds the ledger: rows for published tables are not for
// it, and the rest it is asked for.
absl::Status CheckOnline(const ImportFlags& flags) {
  if (!flags.online) return absl::OkStatus();
  if (flags.void_guarantee || flags.accept_overlap) {
    return Refusal(absl::StatusCode::kInvalidArgument, "flags-conflict",
                   "--void-guarantee and --accept-overlap are not for "
                   "--online: stop the server, and import without it.");
  }
  return AskControl(flags.import.data_dir, {{"request", "status"}}).status();
}

// Position in the ledger on disk, for a ledger that a server holds.
absl::StatusOr<Position> PositionOnDisk(const Ledger::Options& ledger_paths,
                                        const std::string& population) {
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, Ledger::Audit(ledger_paths));
  for (std::size_t i = 0; i < audit.policies.size(); ++i)
    if (audit.policies[i].population == population) return audit.positions[i];
  return Refusal(absl::StatusCode::kDataLoss, "population-unknown",
                 absl::StrCat("The ledger has no population ", population,
                              ": restore the ledger."));
}

absl::Status AddOnline(const ImportFlags& flags) {
  const std::string& name = flags.import.name;
  const auto reloaded = ReloadOnline(flags.import.data_dir, ByOperator());
  if (!reloaded.ok()) {
    return Refusal(reloaded.status().code(), ReasonCode(reloaded.status()),
                   absl::StrCat("The data set ", name,
                                " is imported, and the server does not serve "
                                "it yet: ",
                                std::string(reloaded.status().message())));
  }
  const auto& served = reloaded->served;
  if (std::find(served.begin(), served.end(), name) != served.end())
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kFailedPrecondition, "dataset-not-served",
                 absl::StrCat("The data set ", name,
                              " is imported, and the server does not serve "
                              "it: use the programs of one version, and start "
                              "the server again."));
}

// Opens the ledger; one in use is refused with the way past a running curator.
absl::StatusOr<std::unique_ptr<Ledger>> OpenForImport(
    const Ledger::Options& options) {
  auto ledger = Ledger::Open(options);
  if (ReasonCode(ledger.status()) != "data-dir-in-use") return ledger;
  return Refusal(ledger.status().code(), "data-dir-in-use",
                 absl::StrCat(ledger.status().message(),
                              " `import --online` imports while a curator is "
                              "running there."));
}

// Opens a ledger that exists, so that one in use and a damaged one are refused
// before a long file is read. Nothing if there is none yet: a refused import
// then leaves none behind.
absl::StatusOr<std::unique_ptr<Ledger>> OpenExistingLedger(
    const Ledger::Options& options) {
  if (!std::filesystem::exists(options.directory + "/ledger.sqlite"))
    return nullptr;
  return OpenForImport(options);
}

// Before anything is written.
void PrintPreview(const ImportPreview& preview) {
  if (preview.understood.empty() && preview.first.empty()) return;
  ClearProgress();
  std::fputs(
      PreviewText(preview, "importing " + preview.description.name).c_str(),
      stdout);
  std::fflush(stdout);
}

// One import: what the ledger says of it before the file is read and of its
// people afterwards, and the rows that make it count before the data appear.
class ImportRun {
 public:
  explicit ImportRun(const ImportFlags& flags) : flags_(flags) {}

  absl::StatusOr<v1::ImportReport> Run() {
    DPNMF_RETURN_IF_ERROR(Prepare());
    times_.Enter("reading");
    InterruptGently();
    const absl::Status imported = ImportData();
    ClearProgress();
    times_.Enter("opening");
    DPNMF_RETURN_IF_ERROR(imported);
    return Report();
  }

 private:
  // Makes every check that does not need the file.
  absl::Status Prepare() {
    DPNMF_ASSIGN_OR_RETURN(options_, ImportOptionsOf(flags_));
    DPNMF_RETURN_IF_ERROR(CheckPartitionFlags(options_));
    DPNMF_RETURN_IF_ERROR(CheckImportOptions(WithoutPartitions(options_)));
    DPNMF_RETURN_IF_ERROR(CheckOnline(flags_));
    // The server looks after the anchor.
    DPNMF_ASSIGN_OR_RETURN(ledger_paths_,
                           LedgerPaths(options_.data_dir, flags_.anchor_dir,
                                       flags_.no_anchor || flags_.online));
    times_.Enter("ledger");
    if (!flags_.online) {
      DPNMF_ASSIGN_OR_RETURN(ledger_, OpenExistingLedger(ledger_paths_));
    }
    DPNMF_ASSIGN_OR_RETURN(rows_, LedgerRowsAt(ledger_paths_));
    DPNMF_RETURN_IF_ERROR(AdoptPartitions(rows_, &options_));
    DPNMF_RETURN_IF_ERROR(CheckNameIsUnused(rows_, options_.name));
    DPNMF_RETURN_IF_ERROR(CheckPartitionOfName(rows_, options_));
    DPNMF_RETURN_IF_ERROR(CheckImportOptions(options_));
    policy_ = PolicyOf(options_);
    if (ledger_ != nullptr && ledger_->Policy(policy_.population).ok())
      DPNMF_RETURN_IF_ERROR(ledger_->DeclarePopulation(policy_));
    if (!IsDeclared(rows_, policy_.population))
      return CheckNotReserved(policy_.population);
    if (!flags_.online) return absl::OkStatus();
    return DeclareOnline(options_.data_dir, policy_, ByOperator());
  }

  absl::Status ImportData() {
    options_.note = [this](const std::string& sentence) {
      report_.add_notes(sentence);
    };
    options_.refused = PrintRefusal;
    options_.interrupted = Interrupted;
    if (options_.partitions.any() && options_.partition.empty()) {
      options_.note(
          "The data set is in no partition of the population's people, so "
          "every run of it is charged to all partitions");
    }
    if (options_.standard_input.accept_unverified_end) {
      options_.note(
          "Nothing tells whether standard input was whole, as "
          "--accept-unverified-end allows; the data set records it");
    }
    DPNMF_RETURN_IF_ERROR(CheckRecordsOf(rows_, options_.data_dir));
    DPNMF_ASSIGN_OR_RETURN(
        DatasetImport import,
        DatasetImport::Load(options_, ShowProgress(&times_)));
    if (flags_.format != "json") PrintPreview(import.Preview());
    DPNMF_RETURN_IF_ERROR(import.Recognise());
    // Draft refuses those that the flags do not accept.
    for (const SharedTable& table : import.shared_tables())
      if (CheckAllowed(flags_, table.ids, table.rows).ok())
        tables_.push_back(table.label_hash);
    DPNMF_ASSIGN_OR_RETURN(const LedgerFacts facts, FactsOfLedger());
    DPNMF_ASSIGN_OR_RETURN(const DatasetDigests digests, import.Draft(facts));
    // A data set that cannot be served stops later reloads and the next start.
    if (flags_.online)
      DPNMF_RETURN_IF_ERROR(
          CheckOnlineDraft(options_.data_dir, import.draft_directory()));
    DPNMF_RETURN_IF_ERROR(EnterInLedger(import.description(), digests));
    return import.Publish();
  }

  // Rows are added while the file is read, by a server or, where there was no
  // ledger yet, by another import: read under the lock of imports.
  absl::StatusOr<LedgerFacts> FactsOfLedger() const {
    DPNMF_ASSIGN_OR_RETURN(const std::vector<LedgerRow> rows,
                           LedgerRowsAt(ledger_paths_));
    return LedgerFacts{.used_populations = UsedPopulations(rows),
                       .elsewhere = InOtherPartitions(rows, options_),
                       .accepted_tables = tables_};
  }

  // The rows, before the data set appears.
  absl::Status EnterInLedger(const DatasetDescription& description,
                             const DatasetDigests& digests) {
    DPNMF_RETURN_IF_ERROR(CheckFlagsUsed(flags_, tables_));
    DPNMF_ASSIGN_OR_RETURN(rows_, LedgerRowsAt(ledger_paths_));
    DPNMF_RETURN_IF_ERROR(CheckRecordsOf(rows_, options_.data_dir));
    DPNMF_RETURN_IF_ERROR(CheckNameIsUnused(rows_, options_.name));
    DPNMF_RETURN_IF_ERROR(CheckPartitionOfName(rows_, options_));
    if (!IsDeclared(rows_, policy_.population)) {
      DPNMF_RETURN_IF_ERROR(
          CheckDelta(description, flags_.weak_delta, options_.note));
    } else {
      DPNMF_RETURN_IF_ERROR(NoteGrowth(options_, description, options_.note));
    }
    times_.Enter("ledger");
    DPNMF_RETURN_IF_ERROR(AddRows(description, digests));
    times_.Enter("writing");
    return absl::OkStatus();
  }

  absl::Status AddRows(const DatasetDescription& description,
                       const DatasetDigests& digests) {
    const AssignedPartition assigned = {description.partition,
                                        description.people};
    if (flags_.online) {
      return DeclareOnline(
          options_.data_dir, policy_, ByOperator(),
          DeclaredDataset{description.name, assigned, digests});
    }
    if (ledger_ == nullptr) {
      DPNMF_ASSIGN_OR_RETURN(ledger_, OpenForImport(ledger_paths_));
    }
    DPNMF_RETURN_IF_ERROR(ledger_->DeclarePopulation(policy_));
    DPNMF_RETURN_IF_ERROR(
        RecordTables(flags_, description, tables_, ledger_.get()));
    if (!assigned.partition.empty()) {
      DPNMF_RETURN_IF_ERROR(ledger_->AssignPartition(
          policy_.population, description.name, assigned));
    }
    // The last row: a backup takes it for all of them.
    return ledger_->BindDataset(policy_.population, description.name, digests);
  }

  // Opened as serve will open it: what was written is read back and checked.
  absl::StatusOr<v1::ImportReport> Report() {
    report_.set_directory(DatasetDirectory(options_.data_dir, options_.name));
    DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> dataset,
                           Dataset::Open(report_.directory()));
    if (dataset->description().ratings.has_value()) {
      DPNMF_RETURN_IF_ERROR(
          ReadItemTable(report_.directory(), dataset->description()).status());
      DPNMF_RETURN_IF_ERROR(
          RatedUsers::Read(report_.directory(), *dataset).status());
    }
    if (flags_.online) DPNMF_RETURN_IF_ERROR(AddOnline(flags_));
    DPNMF_ASSIGN_OR_RETURN(
        const Position position,
        flags_.online ? PositionOnDisk(ledger_paths_, policy_.population)
                      : ledger_->PositionOf(policy_.population));
    DPNMF_ASSIGN_OR_RETURN(*report_.mutable_dataset(),
                           DescriptionOf(*dataset, policy_, position));
    times_.AddTo(&report_);
    return report_;
  }

  const ImportFlags& flags_;
  ImportOptions options_;
  PopulationPolicy policy_;
  Ledger::Options ledger_paths_;
  std::unique_ptr<Ledger> ledger_;  // none while a server holds it
  std::vector<LedgerRow> rows_;     // as last read
  std::vector<Digest> tables_;      // published, with people of the data
  StageTimes times_;
  v1::ImportReport report_;
};

// A dry run writes nothing and promises nothing, so it needs no name and no
// cap. Those that are given are checked.
absl::StatusOr<ExitCode> ShowDryRun(const ImportFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(ImportOptions options, ImportOptionsOf(flags));
  const bool named = !options.name.empty();
  if (!named) {
    options.name = "unnamed";
    options.data_dir.clear();  // no name is looked for
  }
  // Whoever may read a data directory may try an import into it.
  if (::access(options.standard_input.spool_dir.c_str(), W_OK) != 0)
    options.standard_input.spool_dir.clear();
  if (options.population.empty()) options.population = "unnamed";
  if (!flags.epsilon.has_value()) options.epsilon = 1;
  if (!flags.delta.has_value()) options.delta = 1e-9;
  DPNMF_RETURN_IF_ERROR(CheckPartitionFlags(options));
  // The ledger is not read.
  if (!options.partition.empty() && !options.partitions.any())
    options.partitions.names = {options.partition};
  options.note = PrintNote;
  options.refused = PrintRefusal;
  InterruptGently();
  options.interrupted = Interrupted;
  StageTimes times;
  const auto import =
      DatasetImport::Load(std::move(options), ShowProgress(&times));
  ClearProgress();
  DPNMF_RETURN_IF_ERROR(import.status());
  const std::string title = absl::StrCat(
      "would import", named ? " " + import->description().name : "");
  std::fputs(PreviewText(import->Preview(), title).c_str(), stdout);
  std::fputs(std::string(DryRunText()).c_str(), stdout);
  // A population that exists keeps its delta, so this is no refusal.
  DPNMF_RETURN_IF_ERROR(
      CheckDelta(import->description(), /*weak_delta=*/true, PrintNote));
  return kExitOk;
}

// The ledger and published tables are asked about when all parts are joined.
absl::StatusOr<ExitCode> ImportPartAndPrint(const ImportFlags& flags) {
  if (flags.online || flags.void_guarantee || flags.accept_overlap ||
      flags.weak_delta || flags.import.standard_input.accept_unverified_end) {
    return Refusal(absl::StatusCode::kInvalidArgument, "flag-unused",
                   "--online, --void-guarantee, --accept-overlap, --weak-delta "
                   "and --accept-unverified-end are not for a part: give the "
                   "first four to join-parts.");
  }
  DPNMF_ASSIGN_OR_RETURN(ImportOptions options, ImportOptionsOf(flags));
  options.note = PrintNote;
  options.refused = PrintRefusal;
  options.preview = PrintPreview;
  InterruptGently();
  options.interrupted = Interrupted;
  StageTimes times;
  const auto part = ImportPart(options, ShowProgress(&times));
  ClearProgress();
  DPNMF_RETURN_IF_ERROR(part.status());
  v1::ImportReport report;
  times.AddTo(&report);
  absl::PrintF(
      "imported part %s of %s in %.2f s: %d features (D), %s\n"
      "  directory   %s\n"
      "  record      %s\n"
      "Copy the record to the same place at the curator, then run "
      "dpnmf-curator join-parts.\n",
      flags.shard_of, options.name, report.seconds(),
      part->description.features, part->description.sparse ? "sparse" : "dense",
      part->directory, part->record);
  return kExitOk;
}

absl::StatusOr<ExitCode> ImportAndPrint(const ImportFlags& flags) {
  if (flags.dry_run) return ShowDryRun(flags);
  if (!flags.shard_of.empty()) return ImportPartAndPrint(flags);
  DPNMF_ASSIGN_OR_RETURN(const v1::ImportReport report, ImportRun(flags).Run());
  for (const std::string& note : report.notes()) PrintNote(note);
  if (flags.format == "json") {
    std::fputs(dpnmf::ToJson(report).c_str(), stdout);
  } else {
    DPNMF_ASSIGN_OR_RETURN(const ImportOptions options, ImportOptionsOf(flags));
    PrintReport(report, PolicyOf(options));
  }
  return kExitOk;
}

}  // namespace

// ---- add-sums

Command AddSumsCommand() {
  const auto flags = std::make_shared<ImportFlags>();
  flags->import.are_sums = true;
  flags->users = "rows";
  return {
      .name = "add-sums",
      .summary = "Make a data set from the sums over people of dpnmf-sums",
      .footer =
          "The data set contains no people. It allows only runs of `moments`, "
          "on all its\nfeatures or on the rows of the sums. The other flags "
          "are those of import, and\nthe flags of dpnmf-sums must agree with "
          "them.\nExample:\n  dpnmf-curator add-sums --name visits "
          "--population patients --input sums.txt \\\n    --users-count "
          "1000000 --epsilon 4 --delta 1e-8 --data-dir /var/lib/dpnmf",
      // Flags on the sums and the promise, not those on reading a matrix.
      .flags = ImportFlagsNamed(
          {"--name", "--data-dir", "--anchor-dir", "--no-anchor", "--format",
           "--input", "--users-count", "--population", "--epsilon", "--delta",
           "--weak-delta", "--void-guarantee", "--accept-overlap",
           "--conversion", "--adjacency", "--normalise", "--column-bound",
           "--public"},
          flags.get()),
      .run = [flags] { return ImportAndPrint(*flags); }};
}

// ---- join-parts

// Flags of join-parts: the promise and the reading of entries were declared
// when the parts were imported.
std::vector<Flag> JoinFlags(ImportFlags* flags) {
  std::vector<Flag> taken = ImportFlagsNamed(
      {"--name", "--data-dir", "--anchor-dir", "--no-anchor", "--online",
       "--weak-delta", "--void-guarantee", "--accept-overlap", "--format"},
      flags);
  taken.push_back(Flag("--accept-equal-rows", &flags->import.accept_equal_rows,
                       "Declare that equal rows in two parts without "
                       "--id-column belong to different people"));
  return taken;
}

absl::StatusOr<ExitCode> JoinParts(ImportFlags flags) {
  ImportOptions& options = flags.import;
  DPNMF_RETURN_IF_ERROR(TakeDeclarationOfParts(&options));
  flags.users = "rows";
  flags.conversion = std::string(NameOf(options.conversion));
  flags.adjacency = std::string(NameOf(options.adjacency));
  flags.normalise =
      *options.normalisation == Normalisation::kL2 ? "l2" : "none";
  return ImportAndPrint(flags);
}

Command JoinPartsCommand() {
  const auto flags = std::make_shared<ImportFlags>();
  return {
      .name = "join-parts",
      .summary = "Make a data set from the parts of import --shard-of",
      .footer =
          "Reads only the records of all parts, DATA_DIR/parts/NAME/*.part, "
          "and no people. Copy\ndataset.json and shards.json of the data set "
          "to every machine that has a part. Then\n`serve --ranks --hosts` "
          "uses each part on its own machine "
          "(docs/reference/ranks.md).\nExample:\n  "
          "dpnmf-curator join-parts --name people --data-dir /var/lib/dpnmf",
      .flags = JoinFlags(flags.get()),
      .run = [flags] { return JoinParts(*flags); }};
}

// In lines of a terminal.
std::string FormatsText() {
  constexpr std::size_t kLine = 84;
  std::string text = absl::StrCat("Reads ", FormatTitles(), ".\n");
  for (std::size_t from = 0; text.size() - from > kLine;) {
    const std::size_t blank = text.rfind(' ', from + kLine);
    if (blank == std::string::npos || blank < from) break;
    text[blank] = '\n';
    from = blank + 1;
  }
  return text;
}

Command ImportCommand() {
  static const std::string footer = absl::StrCat(
      FormatsText(),
      "A data set never changes once it is imported; a refused file leaves "
      "nothing\n"
      "behind. The server must not be running, unless with --online. --name, "
      "--data-dir,\n--population, --epsilon and --delta are required, unless "
      "with --dry-run.\n"
      "Examples:\n"
      "  dpnmf-curator import --name digits --population writers --input "
      "digits.csv.gz \\\n"
      "    --users rows --epsilon 8 --delta 1e-5 --data-dir /var/lib/dpnmf\n"
      "  dpnmf-curator import --name films --population readers --ratings "
      "u.data \\\n"
      "    --items items.txt --rating-range 1,5 --users-count 943 \\\n"
      "    --epsilon 4 --delta 1e-6 --data-dir /var/lib/dpnmf");
  const auto flags = std::make_shared<ImportFlags>();
  return {
      .name = "import",
      .summary =
          "Make a data set from a file and declare the budget of its people",
      .footer = footer.c_str(),
      .flags = AllImportFlags(flags.get()),
      .run = [flags]() -> absl::StatusOr<ExitCode> {
        const std::string missing = MissingFlag(*flags);
        if (missing.empty()) return ImportAndPrint(*flags);
        return Refusal(absl::StatusCode::kInvalidArgument, "usage",
                       absl::StrCat(missing,
                                    " is required, unless with --dry-run; see "
                                    "'dpnmf-curator import --help'."));
      }};
}

}  // namespace dpnmf::curator
