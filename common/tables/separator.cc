#include "common/tables/separator.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/fields.h"

namespace dpnmf {
namespace {

constexpr std::size_t kLines = 4;

// Numbers of each field of a row behind its leading words.
bool HasNumbersBehindWords(const std::vector<std::string_view>& row) {
  const auto is_word = [](std::string_view field) {
    const Notation notation = NotationOf(field);
    return notation == Notation::kWord || notation == Notation::kBlanks;
  };
  const auto number = std::find_if_not(row.begin(), row.end(), is_word);
  // A label that has another separator: "ann;1,5".
  const bool holds_separator =
      std::any_of(row.begin(), number, [](std::string_view field) {
        return field.find_first_of(";\t|") != std::string_view::npos;
      });
  return !holds_separator && std::none_of(number, row.end(), is_word) &&
         std::any_of(number, row.end(), [](std::string_view field) {
           return HasNumber(NotationOf(field));
         });
}

// Some fields are numbers, and no field is two of them.
bool HasNumbersBesideWords(const std::vector<std::string_view>& row) {
  return std::any_of(row.begin(), row.end(), IsNumber) &&
         std::none_of(row.begin(), row.end(), [](std::string_view field) {
           return NotationOf(field) == Notation::kBlanks;
         });
}

// Fields of each line; nothing unless they are as many, more than one, in each
// line, or one fewer in the first.
std::vector<std::vector<std::string_view>> SplitEvenly(
    const std::vector<std::string_view>& lines, char separator) {
  std::vector<std::vector<std::string_view>> rows(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!SplitFields(lines[i], separator, &rows[i])) return {};
  const std::size_t width = rows.empty() ? 0 : rows.back().size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool short_header =
        i == 0 && rows[i].size() + 1 == width &&
        std::none_of(rows[i].begin(), rows[i].end(),
                     [](auto field) { return HasNumber(NotationOf(field)); });
    if (width < 2 || (rows[i].size() != width && !short_header)) return {};
  }
  return rows;
}

}  // namespace

std::vector<std::string_view> FirstLines(std::string_view beginning) {
  const bool is_cut = beginning.size() >= kBeginning;
  std::vector<std::string_view> lines;
  while (!beginning.empty() && lines.size() < kLines) {
    const std::size_t end = beginning.find_first_of("\r\n");
    if (end == std::string_view::npos && is_cut && !lines.empty()) break;
    const std::string_view line = beginning.substr(0, end);
    beginning.remove_prefix(end == std::string_view::npos ? beginning.size()
                                                          : end + 1);
    const bool declares = lines.empty() && DeclaredSeparator(line).has_value();
    if (!IsBlank(line, kBlanks) && line[0] != '#' && !declares)
      lines.push_back(line);
  }
  return lines;
}

std::optional<char> DeclaredSeparator(std::string_view line) {
  if (line.starts_with('"')) line.remove_prefix(1);
  constexpr std::string_view kBegin = "sep=";
  if (!absl::StartsWithIgnoreCase(View(line), View(kBegin)) ||
      line.size() == kBegin.size())
    return std::nullopt;
  const char separator = line[kBegin.size()];
  constexpr std::string_view kKnown = ",;\t|";
  const std::string_view rest = line.substr(kBegin.size() + 1);
  if (kKnown.find(separator) == std::string_view::npos ||
      rest.find_first_not_of(",;\t| \"") != std::string_view::npos)
    return std::nullopt;
  return separator;
}

char SeparatorOf(std::string_view beginning, char usual) {
  return DeclaredSeparator(beginning.substr(0, beginning.find_first_of("\r\n")))
      .value_or(LikelySeparator(FirstLines(beginning), usual));
}

char LikelySeparator(const std::vector<std::string_view>& lines, char usual) {
  const char candidates[] = {usual, ',', ';', '\t', '|', kBlanks};
  bool is_even = false;
  for (const char separator : candidates) {
    if (separator == kBlanks && is_even) return usual;
    const auto rows = SplitEvenly(lines, separator);
    if (rows.empty()) continue;
    if (HasNumbersBehindWords(rows.back())) return separator;
    // Words behind numbers, which may have blanks: classes.
    if (separator == usual && HasNumbersBesideWords(rows.back()))
      is_even = true;
  }
  std::vector<std::string_view> fields;
  if (lines.size() < 2 || !SplitFields(lines[0], usual, &fields) ||
      fields.size() > 1)
    return usual;
  for (const char separator : {',', ';', '\t', '|'})
    if (separator != usual && !SplitEvenly(lines, separator).empty())
      return separator;
  return usual;
}

const char* NameOfSeparator(char separator) {
  switch (separator) {
    case ',':
      return "comma";
    case ';':
      return "semicolon";
    case '\t':
      return "tab";
    case '|':
      return "bar";
    default:
      return "blank";
  }
}

}  // namespace dpnmf
