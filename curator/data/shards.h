// The file shards.json of a data set whose arrays lie in ranges of columns: in
// files of its own directory, or in parts, which were imported each on a
// machine of its own (curator/import/part.h).
#ifndef DPNMF_CURATOR_DATA_SHARDS_H_
#define DPNMF_CURATOR_DATA_SHARDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"

namespace dpnmf::curator {

// Shards of a data set are at most this many.
inline constexpr std::uint64_t kMostShards = 4096;

// Consecutive columns of a data set.
struct PartRange {
  std::uint64_t first = 0;  // from 0
  std::uint64_t columns = 0;
  std::uint64_t whole = 0;  // columns of the data set
};

// Private under add_remove_one.
struct Shards {
  std::vector<std::uint64_t> columns = {};  // of each shard, in their order
  // Only a data set in parts has these: the keyed fingerprint of each part
  // (dataset.json in PartsDirectory), the keyed digest of its digests.json
  // (file_digests.h), and the nonzeros of all if it is sparse.
  std::vector<Digest> parts = {};
  std::vector<Digest> files = {};
  std::uint64_t nonzeros = 0;
};

// ".0.npy" of the first.
std::string ShardSuffix(std::uint64_t shard);

// DATA_DIR/parts/NAME
std::string PartsDirectory(const std::string& data_dir,
                           const std::string& name);
// "601-1200": the first and the last column, counted from 1.
std::string PartName(std::uint64_t first, std::uint64_t columns);

std::string ShardsJson(const Shards& shards);
// Reads the shards of the data set in that directory; no columns if its arrays
// are not in shards. DATA_LOSS "dataset-damaged".
absl::StatusOr<Shards> ReadShards(const std::string& directory);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_SHARDS_H_
