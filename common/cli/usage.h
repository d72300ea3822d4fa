// Sentences about wrong names on a command line or in a configuration file. The
// sentences have no full stop.
#ifndef DPNMF_COMMON_CLI_USAGE_H_
#define DPNMF_COMMON_CLI_USAGE_H_

#include <string>
#include <vector>

#include "common/cli/program.h"

namespace dpnmf {

// The program and the commands that were reached, outermost first.
using CommandPath = std::vector<const Command*>;

// "dpnmf receipts export".
std::string PathText(const CommandPath& path);

// Every flag that may be given there, with the dashes.
std::vector<std::string> FlagNames(const Program& program,
                                   const CommandPath& path);

// Sentence about an unknown argument: a flag, a command or a word too many.
std::string UnknownArgument(const Program& program, const CommandPath& path,
                            const std::string& argument);

// A key of the configuration file: its sections and its name.
struct ConfigKey {
  std::vector<std::string> sections;
  std::string name;
};
// The flag that the key names; null if there is none.
const Flag* FlagOfKey(const Program& program, const ConfigKey& key);
// Sentence about a key that names no flag.
std::string UnknownKey(const Program& program, const std::string& file,
                       const ConfigKey& key);

// The nearest of `known` to `given` as " (did you mean `plan`?)"; empty if none
// is near.
std::string Proposal(const std::string& given,
                     const std::vector<std::string>& known);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_CLI_USAGE_H_
