// Data sets that were removed: what is kept of them, so that their names are
// never used again and their people are still recognised.
#ifndef DPNMF_CURATOR_DATA_REMOVED_H_
#define DPNMF_CURATOR_DATA_REMOVED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/data/description.h"

namespace dpnmf::curator {

// DATA_DIR/datasets/.removed: a directory for each, with dataset.json and
// without data.
std::string RemovedDirectory(const std::string& data_dir);
std::string RemovedDirectory(const std::string& data_dir,
                             const std::string& name);

// Their names, sorted; none if nothing was removed. UNAVAILABLE
// "storage-failed".
absl::StatusOr<std::vector<std::string>> RemovedNames(
    const std::string& data_dir);

// FAILED_PRECONDITION "dataset-removed" if the name is one of them: whoever was
// in that data set may have another budget by now. UNAVAILABLE
// "storage-failed".
absl::Status CheckNotRemoved(const std::string& data_dir,
                             const std::string& name);

// FAILED_PRECONDITION "data-known" if two of these data sets, which are there
// at the same time, have one fingerprint and belong to different populations:
// their people would have two budgets. (That nobody is in two partitions of one
// population is for the ledger to say.)
absl::Status CheckOneBudget(const std::vector<StoredDescription>& datasets);

// A data set that there is, or was.
struct KnownDataset {
  std::string directory;
  StoredDescription stored;
  bool removed = false;
};

// Those that there are, then the removed ones; each by name. Errors of
// DatasetNames, RemovedNames and ReadDescription.
absl::StatusOr<std::vector<KnownDataset>> KnownDatasets(
    const std::string& data_dir);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_REMOVED_H_
