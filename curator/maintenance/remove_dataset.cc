#include "curator/maintenance/remove_dataset.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/disk_error.h"
#include "common/files/durable_file.h"
#include "common/files/read_file.h"
#include "curator/data/description.h"
#include "curator/data/removed.h"
#include "curator/data/shards.h"
#include "curator/import/import.h"
#include "curator/ledger/others_account.h"

namespace dpnmf::curator {
namespace {

absl::Status DatasetUnknownHere(const std::string& name) {
  return Refusal(absl::StatusCode::kNotFound, "dataset-unknown",
                 absl::StrCat("There is no data set named ", name,
                              " in this data directory; check --name and "
                              "--data-dir."));
}

// Returns whether the data directory has a data set of that name and that
// population.
bool IsOfPopulation(const std::string& data_dir, const std::string& dataset,
                    const std::string& population) {
  if (!IsName(dataset)) return false;
  const auto stored = ReadDescription(DatasetDirectory(data_dir, dataset));
  return stored.ok() && stored->description.population == population;
}

// Runs of a federation are rows with the federation's name, which may have been
// about any data set of the population, and with the second account's. Both are
// asked for: a data set may have got the federation's name later.
absl::Status CheckUnused(const std::string& data_dir,
                         const std::vector<LedgerRow>& rows,
                         const std::string& name,
                         const std::string& population) {
  const std::string others = OthersPopulation(population);
  std::map<std::string, bool> of_another;  // by the name in the row
  for (const LedgerRow& row : rows) {
    if (row.kind != RowKind::kOpen && row.kind != RowKind::kCharge) continue;
    if (row.dataset == name) {
      return Refusal(
          absl::StatusCode::kFailedPrecondition, "dataset-used",
          absl::StrCat("Row ", row.sequence, " of the ledger is about ", name,
                       ": a data set on which a run was opened is never "
                       "removed, because its releases stay tied to it; leave "
                       "it out of the allow-list."));
    }
    if (row.population == population) {
      const auto [known, is_new] = of_another.try_emplace(row.dataset, false);
      if (is_new) {
        known->second = IsOfPopulation(data_dir, row.dataset, population);
      }
      if (known->second) continue;
    } else if (row.population != others) {
      continue;
    }
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "dataset-used",
        absl::StrCat(
            "Row ", row.sequence, " of the ledger is about population ",
            row.population, " under the name ", row.dataset,
            ", which is that of a federation or of a lost data set, so ", name,
            " may be part of a release and is not removed; "
            "leave it out of the allow-list."));
  }
  return absl::OkStatus();
}

// Files that hold people's numbers, or how many people there are (shards.json
// and digests.json); names, bounds and fingerprints stay.
constexpr const char* kDataFiles[] = {
    "values.npy",   "data.npy",    "indices.npy", "indptr.npy",
    "ratings.npy",  "labels.npy",  "users.txt",   "items.csv",
    "features.txt", "shards.json", "weights.txt", "digests.json"};

// Those that are there, and the arrays of shards.
absl::StatusOr<std::vector<std::string>> DataFilesOf(
    const std::string& directory) {
  std::error_code error;
  std::vector<std::string> files = EntriesOf(directory, &error);
  if (error) return StorageFailed("list", directory, error.value());
  std::erase_if(files, [](const std::string& file) {
    const std::filesystem::path path(file);
    return path.extension() != ".npy" &&
           std::find(std::begin(kDataFiles), std::end(kDataFiles),
                     path.filename()) == std::end(kDataFiles);
  });
  return files;
}

// Also a link, whatever it leads to.
bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

// Deleting a link would keep the data that it leads to.
absl::Status CheckPartsNotLinked(const std::string& parts) {
  const auto linked = [](const std::string& path) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "parts-linked",
        absl::StrCat(
            "The path ", path,
            " is a symbolic link, which `remove` does not follow: delete the "
            "link and its target, then remove the data set."));
  };
  std::error_code error;
  if (std::filesystem::is_symlink(
          std::filesystem::symlink_status(parts, error)))
    return linked(parts);
  for (std::filesystem::recursive_directory_iterator at(parts, error), end;
       !error && at != end; at.increment(error)) {
    if (at->is_symlink(error)) return linked(at->path().string());
  }
  if (!error || error == std::errc::no_such_file_or_directory)
    return absl::OkStatus();
  return StorageFailed("list", parts, error.value());
}

// Its files, and its parts on this machine.
absl::Status DeleteData(const std::string& data_dir, const std::string& name) {
  const std::string directory = RemovedDirectory(data_dir, name);
  const std::string parts = PartsDirectory(data_dir, name);
  DPNMF_RETURN_IF_ERROR(CheckPartsNotLinked(parts));
  DPNMF_RETURN_IF_ERROR(RemoveTreeDurably(parts));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                         DataFilesOf(directory));
  for (const std::string& file : files) DPNMF_RETURN_IF_ERROR(RemoveFile(file));
  return SyncDirectory(directory);
}

}  // namespace

std::vector<std::string> UsedPopulations(const std::vector<LedgerRow>& rows) {
  std::set<std::string> used;
  for (const LedgerRow& row : rows)
    if (row.kind == RowKind::kOpen || row.kind == RowKind::kCharge)
      used.insert(row.population);
  return {used.begin(), used.end()};
}

absl::StatusOr<std::vector<std::string>> RemovedWithData(
    const std::string& data_dir) {
  DPNMF_ASSIGN_OR_RETURN(std::vector<std::string> names,
                         RemovedNames(data_dir));
  std::vector<std::string> with_data;
  for (std::string& name : names) {
    DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                           DataFilesOf(RemovedDirectory(data_dir, name)));
    if (!files.empty() || IsThere(PartsDirectory(data_dir, name)))
      with_data.push_back(std::move(name));
  }
  return with_data;
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
    DPNMF_RETURN_IF_ERROR(DeleteData(data_dir, removed));

  const std::string directory = DatasetDirectory(data_dir, name);
  const auto stored = ReadDescription(directory);
  if (ReasonCode(stored.status()) == "dataset-unknown")
    return DatasetUnknownHere(name);
  DPNMF_RETURN_IF_ERROR(stored.status());
  DPNMF_ASSIGN_OR_RETURN(const std::vector<LedgerRow> rows,
                         Ledger::ReadRows(places));
  DPNMF_RETURN_IF_ERROR(
      CheckUnused(data_dir, rows, name, stored->description.population));
  DPNMF_RETURN_IF_ERROR(CheckPartsNotLinked(PartsDirectory(data_dir, name)));

  RemovedDataset result;
  result.population = stored->description.population;
  const std::vector<std::string> used = UsedPopulations(rows);
  result.population_is_used =
      std::binary_search(used.begin(), used.end(), result.population);
  const AuditFields fields = {
      {"dataset", name}, {"population", result.population}, {"by", by}};
  DPNMF_RETURN_IF_ERROR(
      log->Write("dataset-remove-asked", fields, AuditSync::kDurable));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(RemovedDirectory(data_dir)));
  const std::string removed = RemovedDirectory(data_dir, name);
  DPNMF_RETURN_IF_ERROR(RenameNew(directory, removed));
  DPNMF_RETURN_IF_ERROR(SyncParent(removed));
  DPNMF_RETURN_IF_ERROR(SyncParent(directory));
  DPNMF_RETURN_IF_ERROR(DeleteData(data_dir, name));
  DPNMF_RETURN_IF_ERROR(
      log->Write("dataset-removed", fields, AuditSync::kDurable));
  return result;
}

}  // namespace dpnmf::curator
