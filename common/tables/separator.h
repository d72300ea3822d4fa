// The separator of a text matrix, judged from its first lines.
#ifndef DPNMF_COMMON_TABLES_SEPARATOR_H_
#define DPNMF_COMMON_TABLES_SEPARATOR_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace dpnmf {

// Bytes that are looked at.
inline constexpr std::size_t kBeginning = 1 << 16;

// The first lines of a file that are neither empty nor comments (#) nor the
// declaration of a separator. A line that `beginning` cuts off, which is then
// of kBeginning bytes at least, is left out, unless it is the first.
std::vector<std::string_view> FirstLines(std::string_view beginning);

// Excel's first line "sep=;": the character that it declares.
std::optional<char> DeclaredSeparator(std::string_view line);

// The separator that the beginning of the file declares, else the likely one.
char SeparatorOf(std::string_view beginning, char usual);

// `usual`, unless the lines have no numbers in fields of it and do have them,
// or more fields than one throughout, with another of comma, semicolon, tab,
// bar and blanks.
char LikelySeparator(const std::vector<std::string_view>& lines, char usual);

// "comma", "blanks".
const char* NameOfSeparator(char separator);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TABLES_SEPARATOR_H_
