#include "common/privacy/people_partitions.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestText = 16384;
constexpr std::string_view kBy = "by=", kNames = " names=";

bool HasOnly(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.size() <= kLongestName &&
         text.find_first_not_of(allowed) == std::string_view::npos;
}

bool IsPartitionName(std::string_view name) {
  return HasOnly(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") &&
         std::string_view("._-").find(name[0]) == std::string_view::npos;
}

}  // namespace

std::optional<std::size_t> PeoplePartitions::Find(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

absl::Status CheckPartitions(const PeoplePartitions& partitions) {
  if (!partitions.any() && partitions.by.empty()) return absl::OkStatus();
  const std::set<std::string_view> different(partitions.names.begin(),
                                             partitions.names.end());
  const bool good =
      HasOnly(partitions.by,
              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
              "._-") &&
      partitions.any() && partitions.names.size() <= kMostPartitions &&
      different.size() == partitions.names.size() &&
      std::all_of(partitions.names.begin(), partitions.names.end(),
                  IsPartitionName) &&
      PartitionsText(partitions).size() <= kLongestText;
  if (good) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kInvalidArgument, "partitions-malformed",
      absl::StrCat("`partitions` must be 1 to ", kMostPartitions,
                   " different names of 1 to 64 of the characters a-z 0-9 . _ "
                   "- that begin with a letter or digit, and the column of ids "
                   "1 to 64 letters, digits, . _ and -; all names together at "
                   "most 16 KiB."));
}

std::string PartitionsText(const PeoplePartitions& partitions) {
  if (!partitions.any()) return "";
  return absl::StrCat(View(kBy), partitions.by, View(kNames),
                      absl::StrJoin(partitions.names, ","));
}

std::optional<PeoplePartitions> ParsePartitions(std::string_view text) {
  const std::size_t names = text.find(kNames);
  if (text.substr(0, kBy.size()) != kBy || names == std::string_view::npos)
    return std::nullopt;
  PeoplePartitions partitions;
  partitions.by = std::string(text.substr(kBy.size(), names - kBy.size()));
  partitions.names =
      absl::StrSplit(View(text.substr(names + kNames.size())), ',');
  if (!CheckPartitions(partitions).ok() || PartitionsText(partitions) != text)
    return std::nullopt;
  return partitions;
}

}  // namespace dpnmf
