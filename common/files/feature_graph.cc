#include "common/files/feature_graph.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/files/read_file.h"

namespace dpnmf {

absl::StatusOr<std::vector<std::uint32_t>> ReadFeatureGraph(
    const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(path, kSettingsFileLimit));
  std::vector<std::uint32_t> ends;
  std::size_t number = 0;
  // A byte order mark is no part of the first number.
  const std::vector<std::string> lines =
      absl::StrSplit(absl::StripPrefix(text, "\xEF\xBB\xBF"), '\n');
  for (const std::string& line : lines) {
    ++number;
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r,"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    std::uint32_t from = 0, to = 0;
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &from) ||
        !absl::SimpleAtoi(words[1], &to)) {
      return Refusal(absl::StatusCode::kInvalidArgument,
                     "feature-graph-invalid",
                     absl::StrCat("'", path, "', line ", number,
                                  ": an edge is two features, from 0."));
    }
    ends.push_back(from);
    ends.push_back(to);
  }
  return ends;
}

}  // namespace dpnmf
