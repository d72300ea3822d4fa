#include "curator/data/shards.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/read_file.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using ShardsFile = nlohmann::ordered_json;

constexpr std::uint64_t kShardsVersion = 1;
// More than any data set has.
constexpr std::uint64_t kMostColumns = std::uint64_t{1} << 41;

// Throws if a field is missing or of a wrong type.
std::vector<std::uint64_t> DecodeShards(const std::string& text) {
  const ShardsFile json = ShardsFile::parse(text);
  if (json.at("format_version").get<std::uint64_t>() != kShardsVersion)
    throw std::invalid_argument("another program version wrote it");
  std::vector<std::uint64_t> columns;
  for (const ShardsFile& shard : json.at("columns")) {
    columns.push_back(shard.get_ref<const ShardsFile::number_unsigned_t&>());
    if (columns.back() > kMostColumns)
      throw std::invalid_argument("a shard has too many columns");
  }
  if (columns.empty() || columns.size() > kMostShards)
    throw std::invalid_argument("there must be 1 to 4096 shards");
  return columns;
}

}  // namespace

std::string ShardSuffix(std::uint64_t shard) {
  return absl::StrCat(".", shard, ".npy");
}

std::string ShardsJson(std::span<const std::uint64_t> columns) {
  const ShardsFile json = {
      {"format_version", kShardsVersion},
      {"columns", std::vector<std::uint64_t>(columns.begin(), columns.end())}};
  return json.dump(2) + "\n";
}

absl::StatusOr<std::vector<std::uint64_t>> ReadShards(
    const std::string& directory) {
  const auto text = ReadFile(directory + "/shards.json", kSettingsFileLimit);
  if (absl::IsNotFound(text.status())) return std::vector<std::uint64_t>();
  if (!text.ok()) return text.status();
  try {
    return DecodeShards(*text);
  } catch (const std::exception& problem) {
    return Refusal(
        absl::StatusCode::kDataLoss, "dataset-damaged",
        absl::StrCat("The file `", directory,
                     "/shards.json` is damaged: ", problem.what(),
                     "; restore the data set from a backup or import it "
                     "again."));
  }
}

}  // namespace dpnmf::curator
