#include "curator/data/shards.h"

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/files/read_file.h"
#include "curator/data/json_fields.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kShardsVersion = 1;
// More than any data set has.
constexpr std::uint64_t kMostColumns = std::uint64_t{1} << 41;

void ListShards(JsonFields& json, Shards& shards) {
  json.Version("format_version", kShardsVersion);
  json.Required("columns", shards.columns);
  if (!json.Has("parts", !shards.parts.empty())) return;
  json.Required("parts", shards.parts);
  json.Required("files", shards.files);
  json.Required("nonzeros", shards.nonzeros);
}

// Throws if a field is missing, unknown or out of range.
Shards DecodeShards(const std::string& text) {
  const FileJson json = FileJson::parse(text);
  const Shards shards = JsonFields::Read(json, ListShards);
  if (shards.columns.empty() || shards.columns.size() > kMostShards)
    throw std::invalid_argument("there must be 1 to 4096 shards");
  for (const std::uint64_t columns : shards.columns)
    if (columns > kMostColumns)
      throw std::invalid_argument("a shard has too many columns");
  if (json.contains("parts") && (shards.parts.size() != shards.columns.size() ||
                                 shards.files.size() != shards.columns.size()))
    throw std::invalid_argument("its parts and their columns differ");
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
  return JsonFields::Write(shards, ListShards).dump(2) + "\n";
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
