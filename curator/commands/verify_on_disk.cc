#include "curator/commands/verify_on_disk.h"

#include <optional>
#include <vector>

#include "common/base/error.h"
#include "curator/data/file_digests.h"
#include "curator/import/people/fingerprint.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger.h"

namespace dpnmf::curator {

absl::Status VerifyOnDisk(const std::string& data_dir, const Dataset& dataset) {
  Ledger::Options places;
  places.directory = LedgerDirectory(data_dir);
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, Ledger::Audit(places));
  DPNMF_ASSIGN_OR_RETURN(const FingerprintKey key,
                         LoadOrCreateFingerprintKey(data_dir));
  const Digest file_key = KeyOfFiles(key);
  DPNMF_ASSIGN_OR_RETURN(
      const std::vector<FileCheck> checks,
      dataset.Checks(audit.FilesOf(dataset.description().population,
                                   dataset.description().name),
                     file_key));
  return CheckFiles(checks, file_key);
}

}  // namespace dpnmf::curator
