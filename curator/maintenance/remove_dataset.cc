#include "curator/maintenance/remove_dataset.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/data/removed.h"
#include "curator/import/import.h"

namespace dpnmf::curator {
namespace {

absl::Status DatasetUnknownHere(const std::string& name) {
  return Refusal(absl::StatusCode::kNotFound, "dataset-unknown",
                 absl::StrCat("There is no data set named ", name,
                              " in this data directory; check --name and "
                              "--data-dir."));
}

absl::Status CheckUnused(const std::vector<LedgerRow>& rows,
                         const std::string& name) {
  for (const LedgerRow& row : rows) {
    if (row.dataset != name || row.kind == RowKind::kPopulation) continue;
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "dataset-used",
        absl::StrCat("Row ", row.sequence, " of the ledger is about ", name,
                     ": a data set that a run was opened on is never removed, "
                     "because what was released stays tied to it."));
  }
  return absl::OkStatus();
}

// What tells of people's numbers (shards.json of how many there are); names,
// bounds and fingerprints stay.
constexpr const char* kDataFiles[] = {
    "values.npy", "data.npy",  "indices.npy", "indptr.npy",   "ratings.npy",
    "labels.npy", "users.txt", "items.csv",   "features.txt", "shards.json"};

// These, and the arrays of shards.
std::vector<std::string> DataFilesOf(const std::string& directory) {
  std::vector<std::string> files(std::begin(kDataFiles), std::end(kDataFiles));
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".npy")
      files.push_back(entry.path().filename());
  }
  return files;
}

absl::Status DeleteData(const std::string& directory) {
  std::error_code error;
  for (const std::string& file : DataFilesOf(directory)) {
    std::filesystem::remove(absl::StrCat(directory, "/", file), error);
    if (!error) continue;
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   absl::StrCat("Cannot delete ", directory, "/", file, ": ",
                                error.message(), "."));
  }
  return SyncDirectory(directory);
}

}  // namespace

bool PopulationIsUsed(const std::vector<LedgerRow>& rows,
                      const std::string& population) {
  for (const LedgerRow& row : rows) {
    if (row.population == population &&
        (row.kind == RowKind::kOpen || row.kind == RowKind::kCharge))
      return true;
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> RemovedWithData(
    const std::string& data_dir) {
  DPNMF_ASSIGN_OR_RETURN(std::vector<std::string> names,
                         RemovedNames(data_dir));
  std::erase_if(names, [&](const std::string& name) {
    const std::string directory = RemovedDirectory(data_dir, name);
    const std::vector<std::string> files = DataFilesOf(directory);
    return std::none_of(
        files.begin(), files.end(), [&](const std::string& file) {
          std::error_code error;
          return std::filesystem::exists(std::filesystem::symlink_status(
              absl::StrCat(directory, "/", file), error));
        });
  });
  return names;
}

absl::StatusOr<RemovedDataset> RemoveDataset(const std::string& data_dir,
                                             const Ledger::Options& places,
                                             const std::string& name,
                                             const std::string& by,
                                             AuditLog* log) {
  if (!IsName(name)) return DatasetUnknownHere(name);
  // Open would make a ledger where there is none.
  DPNMF_RETURN_IF_ERROR(Ledger::Audit(places).status());
  DPNMF_ASSIGN_OR_RETURN(const auto ledger, Ledger::Open(places));
  DPNMF_ASSIGN_OR_RETURN(const FileLock lock, TakeImportLock(data_dir));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> earlier,
                         RemovedNames(data_dir));
  for (const std::string& removed : earlier)
    DPNMF_RETURN_IF_ERROR(DeleteData(RemovedDirectory(data_dir, removed)));

  const std::string directory = DatasetDirectory(data_dir, name);
  const auto stored = ReadDescription(directory);
  if (ReasonCode(stored.status()) == "dataset-unknown")
    return DatasetUnknownHere(name);
  DPNMF_RETURN_IF_ERROR(stored.status());
  DPNMF_ASSIGN_OR_RETURN(const std::vector<LedgerRow> rows,
                         Ledger::ReadRows(places));
  DPNMF_RETURN_IF_ERROR(CheckUnused(rows, name));

  RemovedDataset result;
  result.population = stored->description.population;
  result.population_is_used = PopulationIsUsed(rows, result.population);
  const AuditFields fields = {
      {"dataset", name}, {"population", result.population}, {"by", by}};
  DPNMF_RETURN_IF_ERROR(
      log->Write("dataset-remove-asked", fields, AuditSync::kDurable));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(RemovedDirectory(data_dir)));
  const std::string removed = RemovedDirectory(data_dir, name);
  DPNMF_RETURN_IF_ERROR(RenameNew(directory, removed));
  DPNMF_RETURN_IF_ERROR(SyncParent(removed));
  DPNMF_RETURN_IF_ERROR(SyncParent(directory));
  DPNMF_RETURN_IF_ERROR(DeleteData(removed));
  DPNMF_RETURN_IF_ERROR(
      log->Write("dataset-removed", fields, AuditSync::kDurable));
  return result;
}

}  // namespace dpnmf::curator
