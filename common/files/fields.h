// Splits a line of text into fields, and writes fields (RFC 4180).
#ifndef DPNMF_COMMON_FILES_FIELDS_H_
#define DPNMF_COMMON_FILES_FIELDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace dpnmf {

// A separator that stands for runs of blanks and tabs; blanks at both ends of
// the line then do not count.
inline constexpr char kBlanks = ' ';

// Fields between separators (',', ';', '\t' or kBlanks), blanks around each
// removed. A field in double quotes may hold separators; its quotes are
// removed, and a doubled quote inside stays doubled. False if a quote is not
// closed or something other than a separator follows it; fields->size() is then
// the index of the field. The fields point into `line`.
bool SplitFields(std::string_view line, char separator,
                 std::vector<std::string_view>* fields);

// Returns whether SplitFields fails because the line ends inside quotes: the
// field goes on in the next line.
bool HasOpenQuote(std::string_view line, char separator);

// A field of SplitFields as it was meant: a doubled quote in a quoted field is
// one. `line` is the one that the field points into.
std::string FieldText(std::string_view line, std::string_view field);

// Tab if there is one, else comma if there is one, else semicolon if there is
// one, else kBlanks.
char GuessSeparator(std::string_view line);

// Returns whether the line has only blanks (under kBlanks: blanks and tabs).
bool IsBlank(std::string_view line, char separator);

// The text in quotes, a quote inside doubled.
std::string CsvQuoted(std::string_view text);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_FIELDS_H_
