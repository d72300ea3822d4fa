#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/threads/interruption.h"
#include "curator/commands/commands.h"
#include "curator/commands/flags/data_path_flags.h"
#include "curator/commands/import/import_checks.h"
#include "curator/commands/import/import_flags.h"
#include "curator/commands/import/import_text.h"
#include "curator/import/dataset_people.h"
#include "curator/import/import.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"
#include "curator/ledger/ledger_row.h"

namespace dpnmf::curator {
namespace {

// The rows, before the file is written.
absl::Status EnterPeople(const ImportFlags& flags,
                         const Ledger::Options& ledger_paths,
                         const PeopleToRecord& recognised,
                         const std::vector<Digest>& tables) {
  const DatasetDescription& description = recognised.description;
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, Ledger::Audit(ledger_paths));
  const std::optional<DatasetDigests> known =
      audit.FilesOf(description.population, description.name);
  const bool same = known.has_value() && known->people == recognised.digest;
  if (tables.empty() && same) return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<Ledger> ledger,
                         Ledger::Open(ledger_paths));
  DPNMF_RETURN_IF_ERROR(RecordTables(flags, description, tables, ledger.get()));
  if (!known.has_value()) return absl::OkStatus();
  return ledger->BindDataset(description.population, description.name,
                             {known->files, recognised.digest});
}

absl::StatusOr<ExitCode> MakePeople(const ImportFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(ImportOptions options, ImportOptionsOf(flags));
  InterruptGently();
  options.interrupted = Interrupted;
  DPNMF_ASSIGN_OR_RETURN(
      const Ledger::Options ledger_paths,
      LedgerPaths(options.data_dir, flags.anchor_dir, flags.no_anchor));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<LedgerRow> rows,
                         LedgerRowsAt(ledger_paths));
  DPNMF_RETURN_IF_ERROR(CheckRecordsOf(rows, options.data_dir));
  StageTimes times;
  const auto recognised = RecognisePeople(options, ShowProgress(&times));
  ClearProgress();
  DPNMF_RETURN_IF_ERROR(recognised.status());
  const DatasetDescription& description = recognised->description;
  std::vector<Digest> all, tables;  // shared, and those not recorded yet
  for (const SharedTable& shared : recognised->tables) {
    all.push_back(shared.label_hash);
    // Void is void; an overlap was accepted of rows alone.
    const bool is_recorded =
        std::any_of(rows.begin(), rows.end(), [&](const LedgerRow& row) {
          return row.population == description.population &&
                 (row.kind == RowKind::kVoid ||
                  (row.kind == RowKind::kOverlap &&
                   row.request_hash == shared.label_hash && shared.ids == 0));
        });
    if (is_recorded) continue;
    DPNMF_RETURN_IF_ERROR(CheckAllowed(flags, shared.ids, shared.rows));
    tables.push_back(shared.label_hash);
  }
  DPNMF_RETURN_IF_ERROR(CheckFlagsUsed(flags, tables));
  DPNMF_RETURN_IF_ERROR(EnterPeople(flags, ledger_paths, *recognised, tables));
  DPNMF_RETURN_IF_ERROR(RecordPeople(*recognised, all));
  const PeopleFingerprints& people = recognised->people;
  absl::PrintF("recorded the people of %s: %d different rows, %s\n",
               options.name, people.rows.size(),
               people.has_ids ? absl::StrCat(people.ids.size(), " ids")
                              : std::string("no ids (--id-column)"));
  return kExitOk;
}

}  // namespace

Command PeopleCommand() {
  const auto flags = std::make_shared<ImportFlags>();
  return {.name = "people",
          .summary = "Record once more who is in a data set",
          .footer =
              "Reads the file that the data set was imported from once more, "
              "checks that it is\nthat file, and stores a keyed fingerprint of "
              "each person beside the data. `publish`\nneeds it for every data "
              "set. The command can also declare an --id-column later. Stop "
              "the\nserver first if anything changes: the ledger has a digest "
              "of what is stored.\nExample:\n  dpnmf-curator people --name "
              "digits --input "
              "digits.csv.gz --users rows \\\n    --data-dir /var/lib/dpnmf",
          .flags = ImportFlagsNamed(
              {"--name",           "--data-dir",      "--anchor-dir",
               "--no-anchor",      "--input",         "--ratings",
               "--items",          "--unlisted",      "--users",
               "--format-in",      "--header",        "--label-columns",
               "--id-column",      "--class-column",  "--classes",
               "--columns",        "--delimiter",     "--decimal",
               "--person-rows",    "--array",         "--features",
               "--expect-rows",    "--closing-line",  "--max-bytes",
               "--void-guarantee", "--accept-overlap"},
              flags.get()),
          .run = [flags] { return MakePeople(*flags); }};
}

}  // namespace dpnmf::curator
