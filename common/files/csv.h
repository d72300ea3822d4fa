// Fields of comma-separated values (RFC 4180).
#ifndef DPNMF_COMMON_FILES_CSV_H_
#define DPNMF_COMMON_FILES_CSV_H_

#include <string>
#include <string_view>

namespace dpnmf {

// The text in quotes, a quote inside doubled.
inline std::string CsvQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FILES_CSV_H_
