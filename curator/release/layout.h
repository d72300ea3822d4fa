// Where the state of curator/release lies. One place, so that every subcommand
// finds the same files.
#ifndef DPNMF_CURATOR_RELEASE_LAYOUT_H_
#define DPNMF_CURATOR_RELEASE_LAYOUT_H_

#include <filesystem>
#include <string>

namespace dpnmf::curator {

// Holds ledger.sqlite and its lock.
inline std::string LedgerDirectory(const std::string& data_dir) {
  return data_dir + "/ledger";
}
// Holds one file a release.
inline std::string ReleaseDirectory(const std::string& data_dir) {
  return data_dir + "/releases";
}
// Who asked what, in lines of JSON (common/base/audit_log.h).
inline std::string AuditFile(const std::string& data_dir) {
  return data_dir + "/audit.jsonl";
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

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RELEASE_LAYOUT_H_
