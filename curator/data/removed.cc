#include "curator/data/removed.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/disk_error.h"
#include "common/files/read_file.h"

namespace dpnmf::curator {

std::string RemovedDirectory(const std::string& data_dir) {
  return absl::StrCat(data_dir, "/datasets/.removed");
}

std::string RemovedDirectory(const std::string& data_dir,
                             const std::string& name) {
  return absl::StrCat(RemovedDirectory(data_dir), "/", name);
}

absl::StatusOr<std::vector<std::string>> RemovedNames(
    const std::string& data_dir) {
  std::error_code error;
  std::vector<std::string> names =
      EntriesOf(RemovedDirectory(data_dir), &error);
  if (error == std::errc::no_such_file_or_directory ||
      error == std::errc::not_a_directory)
    return std::vector<std::string>();
  if (error) {
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   absl::StrCat("Cannot list the removed data sets in ",
                                data_dir, ": ", error.message(), "."));
  }
  for (std::string& name : names) name = std::filesystem::path(name).filename();
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status CheckNotRemoved(const std::string& data_dir,
                             const std::string& name) {
  const std::string kept = RemovedDirectory(data_dir, name);
  std::error_code error;
  const auto type = std::filesystem::symlink_status(kept, error).type();
  if (type == std::filesystem::file_type::not_found) return absl::OkStatus();
  if (type == std::filesystem::file_type::none)
    return StorageFailed("read", kept, error.value());
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "dataset-removed",
      absl::StrCat("The data set ", name,
                   " was removed, and a directory with its name is there "
                   "again: move it out of the data directory, or import its "
                   "file again under another name."));
}

absl::Status CheckOneBudget(const std::vector<StoredDescription>& datasets) {
  std::map<Digest, const DatasetDescription*> known;
  for (const StoredDescription& stored : datasets) {
    const DatasetDescription& own = stored.description;
    const DatasetDescription& other =
        *known.try_emplace(stored.fingerprint, &own).first->second;
    if (other.population == own.population) continue;
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "data-known",
        absl::StrCat("The data sets ", other.name, " of population ",
                     other.population, " and ", own.name, " of population ",
                     own.population,
                     " hold the same data, and people have one budget: move "
                     "one of them out of the data directory."));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<KnownDataset>> KnownDatasets(
    const std::string& data_dir) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         DatasetNames(data_dir));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<std::string> removed,
                         RemovedNames(data_dir));
  std::vector<KnownDataset> known;
  for (const std::string& name : names)
    known.push_back({DatasetDirectory(data_dir, name), {}, false});
  for (const std::string& name : removed)
    known.push_back({RemovedDirectory(data_dir, name), {}, true});
  for (KnownDataset& one : known) {
    DPNMF_ASSIGN_OR_RETURN(one.stored, ReadDescription(one.directory));
  }
  return known;
}

}  // namespace dpnmf::curator
