// Where a command of dpnmf-curator finds the ledger.
#ifndef DPNMF_CURATOR_COMMANDS_DATA_PATH_FLAGS_H_
#define DPNMF_CURATOR_COMMANDS_DATA_PATH_FLAGS_H_

#include <string>
#include <vector>

#include "common/cli/program.h"

namespace dpnmf::curator {

// --data-dir (required) and --anchor-dir, or their environment. Both strings
// outlive the table.
std::vector<Flag> DataPathFlags(std::string* data_dir, std::string* anchor_dir);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_DATA_PATH_FLAGS_H_
