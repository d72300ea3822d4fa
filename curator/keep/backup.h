// Copies of a data directory that cannot forget a charge.
//
// A backup has the layout of a data directory and a manifest with the SHA-256
// of every file. It holds no anchor: whether it is the latest state is for the
// anchor on the other volume to say, and a restore asks it before anything is
// written.
#ifndef DPNMF_CURATOR_KEEP_BACKUP_H_
#define DPNMF_CURATOR_KEEP_BACKUP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/sha256.h"

namespace dpnmf::curator {

struct BackupReport {
  std::uint64_t row_count = 0;
  Digest head{};
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// Copies `data_dir` to `output`, which must not exist; a server may run
// meanwhile. The ledger is copied first, in one snapshot, and verified;
// releases that are made later come along or not, which is the same to their
// rows as a crash. ALREADY_EXISTS "backup-exists"; errors of Ledger::Audit;
// UNAVAILABLE "storage-failed".
absl::StatusOr<BackupReport> MakeBackup(const std::string& data_dir,
                                        const std::string& output);

// Every file of a backup against its manifest, its ledger against itself and
// against the anchor (empty: none is kept). DATA_LOSS "backup-damaged",
// "ledger-behind-anchor" and the other errors of Ledger::Audit; NOT_FOUND
// "backup-missing".
absl::StatusOr<BackupReport> CheckBackup(const std::string& backup,
                                         const std::string& anchor_directory);

// CheckBackup, then makes `data_dir` of it, wholly or not at all.
// ALREADY_EXISTS "data-dir-exists".
absl::StatusOr<BackupReport> RestoreBackup(const std::string& backup,
                                           const std::string& data_dir,
                                           const std::string& anchor_directory);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_KEEP_BACKUP_H_
