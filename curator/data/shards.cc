#include "curator/data/shards.h"

#include <optional>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/whole_number.h"
#include "common/files/read_file.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

using ShardsFile = nlohmann::ordered_json;

constexpr std::uint64_t kShardsVersion = 1;
// More than any data set has.
constexpr std::uint64_t kMostColumns = std::uint64_t{1} << 41;

std::vector<Digest> DecodeParts(const ShardsFile& list) {
  std::vector<Digest> digests;
  for (const ShardsFile& part : list) {
    const std::optional<Digest> digest = DigestOfHex(part.get<std::string>());
    if (!digest.has_value())
      throw std::invalid_argument("a digest is not readable");
    digests.push_back(*digest);
  }
  return digests;
}

// Throws if a field is missing or of a wrong type.
Shards DecodeShards(const std::string& text) {
  const ShardsFile json = ShardsFile::parse(text);
  if (WholeNumberOf(json.at("format_version")) != kShardsVersion)
    throw std::invalid_argument("another program version wrote it");
  Shards shards;
  for (const ShardsFile& shard : json.at("columns")) {
    shards.columns.push_back(WholeNumberOf(shard));
    if (shards.columns.back() > kMostColumns)
      throw std::invalid_argument("a shard has too many columns");
  }
  if (shards.columns.empty() || shards.columns.size() > kMostShards)
    throw std::invalid_argument("there must be 1 to 4096 shards");
  if (!json.contains("parts")) return shards;
  shards.parts = DecodeParts(json.at("parts"));
  shards.files = DecodeParts(json.at("files"));
  if (shards.parts.size() != shards.columns.size() ||
      shards.files.size() != shards.columns.size())
    throw std::invalid_argument("its parts and their columns differ");
  shards.nonzeros = WholeNumberOf(json.at("nonzeros"));
  return shards;
}

}  // namespace

std::string ShardSuffix(std::uint64_t shard) {
  return absl::StrCat(".", shard, ".npy");
}

std::string PartsDirectory(const std::string& data_dir,
                           const std::string& name) {
  return absl::StrCat(data_dir, "/parts/", name);
}

std::string PartName(std::uint64_t first, std::uint64_t columns) {
  return absl::StrCat(first + 1, "-", first + columns);
}

std::string ShardsJson(const Shards& shards) {
  ShardsFile json = {{"format_version", kShardsVersion},
                     {"columns", shards.columns}};
  if (!shards.parts.empty()) {
    json["parts"] = json["files"] = ShardsFile::array();
    for (const Digest& part : shards.parts)
      json["parts"].push_back(HexOf(part));
    for (const Digest& files : shards.files)
      json["files"].push_back(HexOf(files));
    json["nonzeros"] = shards.nonzeros;
  }
  return json.dump(2) + "\n";
}

absl::StatusOr<Shards> ReadShards(const std::string& directory) {
  const auto text = ReadFile(directory + "/shards.json", kSettingsFileLimit);
  if (absl::IsNotFound(text.status())) return Shards();
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
