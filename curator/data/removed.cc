#include "curator/data/removed.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

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
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(RemovedDirectory(data_dir), error);
  if (error == std::errc::no_such_file_or_directory ||
      error == std::errc::not_a_directory)
    return names;
  for (; !error && at != std::filesystem::directory_iterator();
       at.increment(error)) {
    names.push_back(at->path().filename());
  }
  if (error) {
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   absl::StrCat("Cannot list the removed data sets in ",
                                data_dir, ": ", error.message(), "."));
  }
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
