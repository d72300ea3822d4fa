// The configuration file: TOML 1.0, read by toml++. config_file.cc alone
// includes it.
#ifndef DPNMF_COMMON_CLI_CONFIG_FILE_H_
#define DPNMF_COMMON_CLI_CONFIG_FILE_H_

#include <istream>
#include <string>
#include <vector>

namespace dpnmf {

// A key with its values as words, as they would stand on a command line:
// numbers as they are written in TOML's own decimal form, "true", "false", an
// array as its elements.
struct ConfigEntry {
  std::vector<std::string> sections;
  std::string name;
  std::vector<std::string> values;
};

struct ConfigEntries {
  std::vector<ConfigEntry> entries;  // in the order of their lines
  // Error in the file, as "line 3, column 5: ..."; empty if there is none.
  std::string problem;
};

// The file is at most 1 MiB, without tables in arrays and arrays in arrays.
ConfigEntries ReadConfig(std::istream& input);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_CLI_CONFIG_FILE_H_
