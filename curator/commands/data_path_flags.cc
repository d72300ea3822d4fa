#include "curator/commands/data_path_flags.h"

namespace dpnmf::curator {

std::vector<Flag> DataPathFlags(std::string* data_dir,
                                std::string* anchor_dir) {
  return {Flag("--data-dir", data_dir,
               "Directory of data sets, ledger and releases",
               {.env = true, .required = true}),
          Flag("--anchor-dir", anchor_dir,
               "Directory of the ledger's anchor [DATA_DIR.anchor]",
               {.env = true})};
}

}  // namespace dpnmf::curator
