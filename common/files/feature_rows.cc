#include "common/files/feature_rows.h"

#include <algorithm>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"
#include "common/files/read_file.h"

namespace dpnmf {
namespace {

absl::Status Malformed(const std::string& path, const std::string& problem) {
  return Refusal(absl::StatusCode::kInvalidArgument, "feature-rows-malformed",
                 absl::StrCat("'", path, "'", problem));
}

absl::Status WrongCount(const std::string& path, std::size_t count,
                        std::size_t most) {
  return Malformed(
      path,
      absl::StrCat(": it names ",
                   count == 0 ? "no feature"
                              : absl::StrCat("more than ", most, " features"),
                   "; name 1 to ", most, "."));
}

}  // namespace

absl::Status ForEachLineOfWords(
    const std::string& path,
    const std::function<absl::Status(const std::vector<std::string>& words,
                                     std::uint64_t line)>& of) {
  // A pipe too: InputFile reads only what is held.
  DPNMF_ASSIGN_OR_RETURN(const std::string text,
                         ReadFile(path, kSettingsFileLimit));
  DPNMF_ASSIGN_OR_RETURN(
      const std::unique_ptr<InputFile> input,
      InputFile::Open(path, nullptr, nullptr, std::string_view(text)));
  while (true) {
    std::string_view line;
    DPNMF_ASSIGN_OR_RETURN(const bool more, input->ReadLine(&line));
    if (!more) return absl::OkStatus();
    const std::vector<std::string> words =
        absl::StrSplit(View(line), absl::ByAnyChar(" \t,"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    DPNMF_RETURN_IF_ERROR(of(words, input->line_number()));
  }
}

absl::StatusOr<std::vector<std::uint32_t>> ReadFeatureRows(
    const std::string& path, std::size_t most) {
  std::vector<std::uint32_t> rows;
  DPNMF_RETURN_IF_ERROR(ForEachLineOfWords(
      path,
      [&](const std::vector<std::string>& words,
          std::uint64_t line) -> absl::Status {
        for (const std::string& word : words) {
          std::uint32_t row = 0;
          if (!absl::SimpleAtoi(word, &row)) {
            return Malformed(
                path, absl::StrCat(", line ", line,
                                   ": write numbers of features, from 0."));
          }
          rows.push_back(row);
        }
        return rows.size() > most ? WrongCount(path, rows.size(), most)
                                  : absl::OkStatus();
      }));
  if (rows.empty()) return WrongCount(path, 0, most);
  std::sort(rows.begin(), rows.end());
  const auto twice = std::adjacent_find(rows.begin(), rows.end());
  if (twice == rows.end()) return rows;
  return Malformed(
      path, absl::StrCat(": feature ", *twice, " is there twice; remove one."));
}

absl::StatusOr<std::vector<std::uint32_t>> ReadFeatureGraph(
    const std::string& path) {
  std::vector<std::uint32_t> ends;
  DPNMF_RETURN_IF_ERROR(ForEachLineOfWords(
      path,
      [&](const std::vector<std::string>& words,
          std::uint64_t line) -> absl::Status {
        std::uint32_t from = 0, to = 0;
        if (words.size() != 2 || !absl::SimpleAtoi(words[0], &from) ||
            !absl::SimpleAtoi(words[1], &to)) {
          return Refusal(absl::StatusCode::kInvalidArgument,
                         "feature-graph-invalid",
                         absl::StrCat("'", path, "', line ", line,
                                      ": an edge is two features, from 0."));
        }
        ends.push_back(from);
        ends.push_back(to);
        return absl::OkStatus();
      }));
  return ends;
}

}  // namespace dpnmf
