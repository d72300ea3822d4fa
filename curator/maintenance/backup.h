// Copies of a data directory that cannot forget a charge.
//
// A backup has the layout of a data directory and a manifest with a keyed hash
// of every file: HMAC-SHA-256, under a key that is derived from the operator's
// key (fingerprint.key), of its SHA-256. An unkeyed hash of the data would let
// anybody who sees the manifest test guesses about a person. The key is in the
// backup, beside the data themselves, so a restore on another machine needs
// nothing else. The hashes show damage; they do not show that somebody who may
// write the backup changed it.
//
// It holds no anchor: whether it is the latest state is for the anchor on the
// other volume to say, and a restore asks it before anything is written.
#ifndef DPNMF_CURATOR_MAINTENANCE_BACKUP_H_
#define DPNMF_CURATOR_MAINTENANCE_BACKUP_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"

namespace dpnmf::curator {

struct BackupReport {
  std::uint64_t row_count = 0;
  Digest head{};
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  // MakeBackup: an error if a data set is not the one of the ledger. The backup
  // is made all the same, because the ledger is worth it; RestoreBackup refuses
  // it with this error.
  absl::Status datasets = absl::OkStatus();
};

// Copies `data_dir` to `output`, which must not exist; a server may run
// meanwhile. The ledger is copied first, in one snapshot, and verified;
// releases that are made later come along or not, which is the same to their
// rows as a crash. A data set that gets its name after the ledger was copied is
// left out: the copy may lack its rows. So are locks and what is unfinished,
// such as the draft of an import. If a file is removed or renamed before it is
// copied, the copy starts again, a few times. A directory without data sets may
// have no fingerprint.key yet: the backup gets one of its own. Symbolic links
// are followed: the backup contains what they lead to. ALREADY_EXISTS
// "backup-exists"; FAILED_PRECONDITION "backup-name-malformed" if a file's name
// is not UTF-8; DATA_LOSS "fingerprint-key-damaged"; errors of Ledger::Audit;
// UNAVAILABLE "storage-failed", also for a link to nothing and if
// files went at each try.
absl::StatusOr<BackupReport> MakeBackup(const std::string& data_dir,
                                        const std::string& output);

// How much of a backup, or of a data set, is read.
enum class CheckDepth {
  kWhole,
  kQuick,  // names and lengths of files, but not what they hold
};

// Every file of a backup against its manifest, its ledger against itself and
// against the anchor (empty: none is kept), and its data sets against its
// ledger. DATA_LOSS "backup-damaged", "ledger-behind-anchor" and the other
// errors of Ledger::Audit; NOT_FOUND "backup-missing"; errors of
// Dataset::OpenNamed, Dataset::Checks, CheckFile and CheckOneBudget.
absl::StatusOr<BackupReport> CheckBackup(const std::string& backup,
                                         const std::string& anchor_directory,
                                         CheckDepth depth = CheckDepth::kWhole);

// CheckBackup, then makes `data_dir` of it, wholly or not at all.
// ALREADY_EXISTS "data-dir-exists".
absl::StatusOr<BackupReport> RestoreBackup(const std::string& backup,
                                           const std::string& data_dir,
                                           const std::string& anchor_directory);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_MAINTENANCE_BACKUP_H_
