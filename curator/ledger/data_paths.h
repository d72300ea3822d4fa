// Places of the curator's state: the ledger and its anchor, releases, the audit
// log and used tokens, by the data directory and the flags. One place, so that
// every subcommand finds and refuses the same.
#ifndef DPNMF_CURATOR_LEDGER_DATA_PATHS_H_
#define DPNMF_CURATOR_LEDGER_DATA_PATHS_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/ledger/ledger_records.h"

namespace dpnmf::curator {

// Holds ledger.sqlite and its lock.
inline std::string LedgerDirectory(const std::string& data_dir) {
  return data_dir + "/ledger";
}
// Locked by the process that has the ledger open (FileLock), and by whoever
// writes beside it.
inline std::string LedgerLock(const std::string& data_dir) {
  return LedgerDirectory(data_dir) + "/ledger.lock";
}
// Holds one file a release.
inline std::string ReleaseDirectory(const std::string& data_dir) {
  return data_dir + "/releases";
}
// Who asked what, in lines of JSON (common/log/audit_log.h).
inline std::string AuditFile(const std::string& data_dir) {
  return data_dir + "/audit.jsonl";
}
// Tells used tokens after a restart (curator/recommend/token.h). No part of a
// backup: it would be older than tokens that were used since.
inline std::string TokenExpiryFile(const std::string& data_dir) {
  return data_dir + "/token-expiry.json";
}
// Holds anchor.json unless the operator names another directory, which should
// lie on another volume: DATA_DIR.anchor, beside the data directory (also if
// that is called `.`).
inline std::string DefaultAnchorDirectory(std::string data_dir) {
  while (data_dir.size() > 1 && data_dir.back() == '/') data_dir.pop_back();
  const std::filesystem::path last = std::filesystem::path(data_dir).filename();
  if (last == "." || last == "..") {
    std::error_code ignored;
    data_dir = std::filesystem::weakly_canonical(
                   std::filesystem::absolute(data_dir, ignored), ignored)
                   .string();
  }
  return data_dir + ".anchor";
}

// Returns whether `path` is `directory` or lies in it, links followed. Neither
// needs to exist.
bool LiesIn(const std::string& path, const std::string& directory);

// INVALID_ARGUMENT "anchor-directory-invalid" if the anchor is part of the data
// directory: whatever sets the one back would set the other back with it. An
// empty `anchor_dir` is no anchor.
absl::Status CheckAnchorPath(const std::string& data_dir,
                             const std::string& anchor_dir);

// An empty `anchor_dir` is the default one. Errors of CheckAnchorPath.
absl::StatusOr<LedgerSettings> LedgerPaths(const std::string& data_dir,
                                           const std::string& anchor_dir,
                                           bool no_anchor);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_DATA_PATHS_H_
