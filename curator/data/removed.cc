#include "curator/data/removed.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/read_file.h"

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
