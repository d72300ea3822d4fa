// A data set for a command of the operator that holds no ledger.
#ifndef DPNMF_CURATOR_COMMANDS_VERIFY_ON_DISK_H_
#define DPNMF_CURATOR_COMMANDS_VERIFY_ON_DISK_H_

#include <string>

#include "absl/status/status.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

// Reads all files of the data set, which lies in DATA_DIR under its name, and
// compares them with the ledger there; a server may run. Errors of
// Ledger::Audit, without an anchor, of Dataset::Checks and of CheckFiles.
absl::Status VerifyOnDisk(const std::string& data_dir, const Dataset& dataset);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_VERIFY_ON_DISK_H_
