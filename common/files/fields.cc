#include "common/files/fields.h"

#include <algorithm>

#include "common/files/entry.h"

namespace dpnmf {
namespace {

// The end of the quoted field that begins at `begin`: the place of its closing
// quote, or npos.
std::size_t ClosingQuote(std::string_view line, std::size_t begin) {
  for (std::size_t i = begin + 1; i < line.size(); ++i) {
    if (line[i] != '"') continue;
    if (i + 1 == line.size() || line[i + 1] != '"') return i;
    ++i;
  }
  return std::string_view::npos;
}

std::size_t SkipBlanks(std::string_view line, std::size_t i, char separator) {
  while (i < line.size() && (line[i] == ' ' || line[i] == '\t') &&
         line[i] != separator)
    ++i;
  return i;
}

enum class Split { kWhole, kOpenQuote, kWrongQuote };

Split SplitLine(std::string_view line, char separator,
                std::vector<std::string_view>* fields) {
  fields->clear();
  const std::string_view ends =
      separator == kBlanks ? " \t" : std::string_view(&separator, 1);
  if (separator == kBlanks) line = TrimBlanks(line);
  std::size_t i = 0;
  while (true) {
    if (separator == kBlanks)
      i = std::min(line.find_first_not_of(" \t", i), line.size());
    const std::size_t begin = SkipBlanks(line, i, separator);
    std::size_t end = 0;
    if (begin < line.size() && line[begin] == '"') {
      const std::size_t close = ClosingQuote(line, begin);
      if (close == std::string_view::npos) return Split::kOpenQuote;
      end = SkipBlanks(line, close + 1, separator);
      if (end < line.size() && ends.find(line[end]) == std::string_view::npos)
        return Split::kWrongQuote;
      fields->push_back(line.substr(begin + 1, close - begin - 1));
    } else {
      end = std::min(line.find_first_of(ends, begin), line.size());
      fields->push_back(TrimBlanks(line.substr(begin, end - begin)));
    }
    if (end == line.size()) return Split::kWhole;
    i = end + 1;
  }
}

}  // namespace

bool SplitFields(std::string_view line, char separator,
                 std::vector<std::string_view>* fields) {
  return SplitLine(line, separator, fields) == Split::kWhole;
}

bool HasOpenQuote(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  return SplitLine(line, separator, &fields) == Split::kOpenQuote;
}

std::string FieldText(std::string_view line, std::string_view field) {
  std::string text(field);
  // An empty field may point nowhere.
  if (field.empty() || field.data() == line.data() || field.data()[-1] != '"')
    return text;
  std::size_t quote = 0;
  while ((quote = text.find("\"\"", quote)) != std::string::npos)
    text.erase(quote++, 1);
  return text;
}

char GuessSeparator(std::string_view line) {
  for (const char separator : {'\t', ',', ';'}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return kBlanks;
}

bool IsBlank(std::string_view line, char separator) {
  return line.find_first_not_of(separator == kBlanks ? " \t" : " ") ==
         std::string_view::npos;
}

std::string CsvQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace dpnmf
