#include "common/files/feature_rows.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/files/read_file.h"

namespace dpnmf {
namespace {

absl::Status Malformed(const std::string& path, const std::string& problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, "feature-rows-malformed",
                 absl::StrCat("'", path, "'", problem));
}

}  // namespace

absl::StatusOr<std::vector<std::uint32_t>> ReadFeatureRows(
    const std::string& path, std::size_t most) {
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(path, kSettingsFileLimit));
  std::vector<std::uint32_t> rows;
  std::size_t number = 0;
  // A byte order mark is no part of the first number.
  const std::vector<std::string> lines =
      absl::StrSplit(absl::StripPrefix(text, "\xEF\xBB\xBF"), '\n');
  for (const std::string& line : lines) {
    ++number;
    if (!line.empty() && line[0] == '#') continue;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r,"), absl::SkipEmpty());
    for (const std::string& word : words) {
      std::uint32_t row = 0;
      if (!absl::SimpleAtoi(word, &row)) {
        return Malformed(path,
                         absl::StrCat(", line ", number,
                                      ": write numbers of features, from 0."));
      }
      rows.push_back(row);
    }
  }
  std::sort(rows.begin(), rows.end());
  const auto twice = std::adjacent_find(rows.begin(), rows.end());
  if (twice != rows.end())
    return Malformed(path, absl::StrCat(": feature ", *twice,
                                        " is there twice; remove one."));
  if (rows.empty() || rows.size() > most) {
    return Malformed(path, absl::StrCat(": it names ", rows.size(),
                                        " features; name 1 to ", most, "."));
  }
  return rows;
}

}  // namespace dpnmf
