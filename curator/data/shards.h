// The file shards.json of a data set whose arrays lie in ranges of columns.
#ifndef DPNMF_CURATOR_DATA_SHARDS_H_
#define DPNMF_CURATOR_DATA_SHARDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace dpnmf::curator {

// Shards of a data set are at most this many.
inline constexpr std::uint64_t kMostShards = 4096;

// ".0.npy" of the first.
std::string ShardSuffix(std::uint64_t shard);

// Columns of each shard, in their order; private under add_remove_one.
std::string ShardsJson(std::span<const std::uint64_t> columns);
// Of the data set in that directory; empty if its arrays are not in shards.
// DATA_LOSS "dataset-damaged".
absl::StatusOr<std::vector<std::uint64_t>> ReadShards(
    const std::string& directory);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_DATA_SHARDS_H_
