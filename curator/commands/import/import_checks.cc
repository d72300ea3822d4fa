#include "curator/commands/import/import_checks.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/error.h"
#include "common/log/audit_log.h"
#include "curator/import/dataset_people.h"
#include "curator/import/partitions.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger_row.h"
#include "curator/ledger/others_account.h"

namespace dpnmf::curator {

absl::Status CheckPartitionFlags(const ImportOptions& options) {
  const bool any = options.partitions.any() || !options.partitions.by.empty() ||
                   !options.partition.empty();
  if (!any || (!options.partitions.by.empty() && !options.partition.empty()))
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "partition-missing",
                 "Partitions need both --disjoint-people-by COLUMN, the name "
                 "of the column of ids in the file's header, and --partition "
                 "NAME, the partition of all people in the file.");
}

ImportOptions WithoutPartitions(ImportOptions options) {
  if (options.partitions.any()) return options;
  options.partitions = {};
  options.partition.clear();
  return options;
}

absl::Status AdoptPartitions(const std::vector<LedgerRow>& rows,
                             ImportOptions* options) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const LedgerRow& one) {
        return one.kind == RowKind::kPopulation &&
               one.population == options->population;
      });
  if (row == rows.end()) {
    if (options->partition.empty() || options->partitions.any())
      return absl::OkStatus();
    return Refusal(
        absl::StatusCode::kInvalidArgument, "partitions-missing",
        absl::StrCat(
            "The population ", options->population,
            " is new: declare all its partitions, also future ones, with "
            "--partitions A,B,...; they are fixed with the cap."));
  }
  const auto policy = ParsePolicy(row->population, row->detail);
  if (!policy.has_value()) return absl::OkStatus();  // said by the ledger
  PeoplePartitions& own = options->partitions;
  if (!policy->partitions.any() && !options->partition.empty()) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "population-differs",
        absl::StrCat("The population ", options->population,
                     " was declared without partitions of its people, and "
                     "they are fixed with the cap: leave out --partition, or "
                     "choose another --population."));
  }
  if (own.by.empty()) own = policy->partitions;
  if (!own.any()) own.names = policy->partitions.names;
  return absl::OkStatus();
}

std::vector<PeopleElsewhere> InOtherPartitions(
    const std::vector<LedgerRow>& rows, const ImportOptions& options) {
  std::map<std::string, LedgerRow> last;  // by data set
  for (const LedgerRow& row : rows) {
    if (row.kind == RowKind::kPartition && row.population == options.population)
      last[row.dataset] = row;
  }
  std::vector<PeopleElsewhere> others;
  for (const auto& [dataset, row] : last) {
    if (row.detail != options.partition && dataset != options.name)
      others.push_back({dataset, row.request_hash});
  }
  return others;
}

absl::Status CheckNameIsUnused(const std::vector<LedgerRow>& rows,
                               const std::string& name) {
  for (const LedgerRow& row : rows) {
    if (row.kind != RowKind::kOpen || row.dataset != name) continue;
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "dataset-used",
        absl::StrCat(
            "Row ", row.sequence, " of the ledger is a run on ", name,
            ", and its releases are about the people of that data set: restore "
            "its directory from a backup, or choose another --name."));
  }
  return absl::OkStatus();
}

absl::Status CheckPartitionOfName(const std::vector<LedgerRow>& rows,
                                  const ImportOptions& options) {
  for (const LedgerRow& row : rows) {
    if (row.kind != RowKind::kPartition || row.dataset != options.name ||
        row.population == options.population)
      continue;
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "dataset-used",
        absl::StrCat("Row ", row.sequence, " of the ledger has a data set ",
                     options.name, " in partition ", row.detail,
                     " of population ", row.population,
                     ", which keeps that name: choose another --name."));
  }
  const bool has_one =
      std::any_of(rows.begin(), rows.end(), [&](const LedgerRow& row) {
        return row.kind == RowKind::kPartition &&
               row.population == options.population &&
               row.dataset == options.name;
      });
  if (!options.partition.empty() || !has_one) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "partition-differs",
      absl::StrCat("The ledger has a data set ", options.name,
                   " in a partition of population ", options.population,
                   "; give this one another --name, or a --partition."));
}

bool IsDeclared(const std::vector<LedgerRow>& rows,
                const std::string& population) {
  return std::any_of(rows.begin(), rows.end(), [&](const LedgerRow& row) {
    return row.kind == RowKind::kPopulation && row.population == population;
  });
}

std::string ByOperator() {
  return absl::StrFormat("operator at import, uid %d", ::getuid());
}

absl::StatusOr<std::vector<LedgerRow>> LedgerRowsAt(
    const Ledger::Options& ledger_paths) {
  if (!std::filesystem::exists(ledger_paths.directory + "/ledger.sqlite"))
    return std::vector<LedgerRow>();
  return Ledger::ReadRows(ledger_paths);
}

absl::Status CheckDelta(const DatasetDescription& description, bool weak_delta,
                        const Note& note) {
  const auto users = static_cast<double>(description.users);
  if (description.adjacency == Adjacency::kOneRating) {
    note(
        "The relation one_rating protects one rating and not a person; choose "
        "a delta far below one over the number of ratings");
  }
  if (description.is_public || description.delta * users < 1)
    return absl::OkStatus();
  const std::string finding = absl::StrFormat(
      "The delta %g is not below 1/N = %.3g: this would allow publishing one "
      "person's data unchanged",
      description.delta, 1 / users);
  if (weak_delta) {
    note(finding);
    return absl::OkStatus();
  }
  return Refusal(
      absl::StatusCode::kInvalidArgument, "delta-weak",
      absl::StrCat(finding,
                   ", and delta cannot be changed later; give a --delta far "
                   "below 1/N, or --weak-delta to accept it."));
}

absl::Status NoteGrowth(const ImportOptions& options,
                        const DatasetDescription& description,
                        const Note& note) {
  if (description.partition.empty() || description.is_public)
    return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(const std::vector<KnownDataset> known,
                         KnownDatasets(options.data_dir));
  std::vector<DatasetDescription> datasets = {description};
  for (const KnownDataset& one : known)
    if (!one.removed) datasets.push_back(one.stored.description);
  const std::uint64_t people =
      PeopleInPartitions(description.population, datasets);
  if (description.delta * static_cast<double>(people) < 1)
    return absl::OkStatus();
  note(absl::StrFormat(
      "The partitions of population %s have at least %d people with this file, "
      "and its delta %g is not below 1/N = %.3g: this would allow publishing "
      "one person's data unchanged. Delta cannot be changed; import later "
      "people into a new population, which has its own guarantee",
      description.population, people, description.delta,
      1 / static_cast<double>(people)));
  return absl::OkStatus();
}

// ---- People of tables that were published without privacy

absl::Status CheckAllowed(const ImportFlags& flags, std::uint64_t ids,
                          std::uint64_t rows) {
  // Ids do not coincide by chance.
  if (flags.void_guarantee || (flags.accept_overlap && ids == 0))
    return absl::OkStatus();
  return PeoplePublished(ids, rows);
}

absl::Status CheckRecordsOf(const std::vector<LedgerRow>& rows,
                            const std::string& data_dir) {
  std::vector<Digest> labels;
  for (const LedgerRow& row : rows)
    if (row.kind == RowKind::kVoid || row.kind == RowKind::kOverlap)
      labels.push_back(row.request_hash);
  return CheckRecords(data_dir, labels);
}

absl::Status CheckFlagsUsed(const ImportFlags& flags,
                            const std::vector<Digest>& tables) {
  if (!tables.empty() || !(flags.void_guarantee || flags.accept_overlap))
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "flag-unused",
                 "No published table shares people with the data, or all such "
                 "tables are recorded already: leave out --void-guarantee and "
                 "--accept-overlap.");
}

absl::Status RecordTables(const ImportFlags& flags,
                          const DatasetDescription& dataset,
                          const std::vector<Digest>& tables, Ledger* ledger) {
  if (tables.empty()) return absl::OkStatus();
  const std::string by = ByOperator();
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<AuditLog> audit,
                         AuditLog::Open(AuditFile(flags.import.data_dir)));
  DPNMF_RETURN_IF_ERROR(WriteAudit(audit.get(), "published-people-imported",
                                   {{"dataset", dataset.name},
                                    {"population", dataset.population},
                                    {"void_guarantee", flags.void_guarantee},
                                    {"accept_overlap", flags.accept_overlap},
                                    {"by", by}},
                                   AuditSync::kDurable));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> accounts,
                         AccountsOf(*ledger, dataset.population));
  for (const Digest& label : tables) {
    if (!flags.void_guarantee) {
      DPNMF_RETURN_IF_ERROR(
          ledger->AcceptOverlap({dataset.population, label, by}));
      continue;
    }
    for (const std::string& account : accounts)
      DPNMF_RETURN_IF_ERROR(ledger->VoidGuarantee({account, label, by}));
  }
  return absl::OkStatus();
}

}  // namespace dpnmf::curator
