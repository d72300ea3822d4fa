// The ledger's anchor: how long the ledger is and where its chain ends, kept on
// a second path so that a ledger that was rolled back, forked or replaced as a
// whole is seen. It protects as far as the second path is out of reach of what
// happened to the first (another volume, another snapshot schedule).
//
// No thread-safety of its own: at most one caller at a time for a directory,
// the ledger that holds its lock.
//
// ANCHOR_DIRECTORY/anchor.json:
//   {"format": 1, "ledger": "<32 hex>", "rows": 17, "head": "<64 hex>"}
#ifndef DPNMF_CURATOR_LEDGER_ANCHOR_H_
#define DPNMF_CURATOR_LEDGER_ANCHOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"

namespace dpnmf::curator {

struct Anchor {
  std::string ledger_id;
  std::uint64_t row_count = 0;  // at least 1
  Digest head{};                // hash of row `row_count`

  friend bool operator==(const Anchor&, const Anchor&) = default;
};

// DIRECTORY/anchor.json.
std::string AnchorFile(const std::string& directory);
std::string AnchorText(const Anchor& anchor);
// DATA_LOSS "anchor-damaged".
absl::StatusOr<Anchor> ParseAnchor(std::string_view text);

// Returns nullopt if there is no anchor file. DATA_LOSS "anchor-damaged",
// UNAVAILABLE "storage-failed".
absl::StatusOr<std::optional<Anchor>> ReadAnchor(const std::string& directory);

// An anchor written and synced beside the old one, waiting to take its place.
// Staging comes before the ledger's commit, so that a full or missing anchor
// volume stops the commit; publishing is a rename and comes after it.
class StagedAnchor {
 public:
  // UNAVAILABLE "storage-failed", also if there is no such directory.
  static absl::StatusOr<StagedAnchor> Stage(const std::string& directory,
                                            const Anchor& anchor);
  // Durable on return.
  absl::Status Publish();

 private:
  explicit StagedAnchor(StagedFile file) : file_(std::move(file)) {}
  StagedFile file_;
};

// Stages and publishes. Creates the directory if missing.
absl::Status WriteAnchor(const std::string& directory, const Anchor& anchor);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_ANCHOR_H_
