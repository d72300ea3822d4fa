#include "curator/commands/place_flags.h"

namespace dpnmf::curator {

void AddPlaceFlags(CLI::App* command, std::string* data_dir,
                   std::string* anchor_dir) {
  command
      ->add_option("--data-dir", *data_dir,
                   "Directory of data sets, ledger and releases")
      ->required()
      ->envname("DPNMF_CURATOR_DATA_DIR");
  command
      ->add_option("--anchor-dir", *anchor_dir,
                   "Directory of the ledger's anchor [DATA_DIR.anchor]")
      ->envname("DPNMF_CURATOR_ANCHOR_DIR");
}

}  // namespace dpnmf::curator
