// Released bytes on disk: one file a ledger row, written once.
//
// DIRECTORY/<64 hex digits of the row's hash>.release, little-endian:
//   "DPNMFREL" | u32 version | row hash (32) | u32 round | u64 cost low, high
//   | u32 parts | parts... | SHA-256 of everything before (32)
// part:
//   u64 size, name | u64 rows | u64 columns | u8 symmetric | u8 is_lattice
//   | i32 step_exponent | u64 entries, entries of eight bytes
// Nothing in it is private: it holds what leaves, and nothing else.
#ifndef DPNMF_CURATOR_GATE_RELEASE_STORE_H_
#define DPNMF_CURATOR_GATE_RELEASE_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/files/durable_file.h"
#include "common/nmf/noised_matrix.h"
#include "common/privacy/mu_squared.h"

namespace dpnmf::curator {

struct StoredRelease {
  Digest row_hash{};
  std::uint32_t round = 0;
  MuSquared cost;
  std::vector<NoisedMatrix> parts;

  friend bool operator==(const StoredRelease&, const StoredRelease&) = default;
};

std::string EncodeRelease(const StoredRelease& release);
// DATA_LOSS "release-damaged" unless every byte is as it was written.
absl::StatusOr<StoredRelease> DecodeRelease(std::string_view bytes);

// Space on disk, taken before a row is charged.
class ReservedRelease {
 public:
  ReservedRelease(ReservedRelease&&) noexcept = default;

 private:
  friend class ReleaseStore;
  explicit ReservedRelease(StagedFile file) : file_(std::move(file)) {}
  StagedFile file_;
};

// Thread-safe; distinct rows at once are fine.
class ReleaseStore {
 public:
  // Creates the directory if missing, removes what an earlier process left
  // unfinished and makes durable what it had finished. One process at a time
  // (the ledger's lock sees to it). UNAVAILABLE "storage-failed".
  static absl::StatusOr<ReleaseStore> Open(const std::string& directory);

  // UNAVAILABLE "storage-failed" if `bytes` do not fit the disk. `name` must
  // not be in use by another reservation at the same time.
  absl::StatusOr<ReservedRelease> Reserve(const std::string& name,
                                          std::uint64_t bytes) const;
  // Durable (file and directory) on return. UNAVAILABLE "storage-failed"; if it
  // is then not known whether the file will stay, every later call says so too,
  // until the store is opened again.
  absl::Status Write(ReservedRelease reserved,
                     const StoredRelease& release) const;
  // NOT_FOUND "file-missing", DATA_LOSS "release-damaged" (also if the file is
  // of another row), UNAVAILABLE "storage-failed".
  absl::StatusOr<StoredRelease> Read(const Digest& row_hash) const;

 private:
  explicit ReleaseStore(std::string directory)
      : directory_(std::move(directory)),
        poisoned_(std::make_unique<std::atomic<bool>>(false)) {}
  absl::Status Healthy() const;

  std::string directory_;
  std::unique_ptr<std::atomic<bool>> poisoned_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_GATE_RELEASE_STORE_H_
