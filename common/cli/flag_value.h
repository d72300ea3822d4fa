// The words of a flag as a value, and a value in words.
#ifndef DPNMF_COMMON_CLI_FLAG_VALUE_H_
#define DPNMF_COMMON_CLI_FLAG_VALUE_H_

#include <string>
#include <vector>

#include "common/cli/program.h"

namespace dpnmf {

// "--output" of "--output,-o"; "run" of an argument.
std::string LongName(const Flag& flag);
// Returns true for a flag that takes no value.
bool IsSwitch(const Flag& flag);
// Returns true for a flag that takes several values.
bool IsList(const Flag& flag);

// Puts `words` (not empty) into the target. Returns what is wrong with them,
// without a full stop; empty if nothing is.
std::string SetFlag(const Flag& flag, const std::vector<std::string>& words);

// Makes `word` of a configuration file in `directory` what SetFlag takes: a
// path that is relative is the directory's, and "~/" is the user's home. Which
// flags take paths, their values' names say: "FILE", "DIR",
// "random|public:FILE". Returns what is wrong, as SetFlag does: there is no
// home, or the working directory has a directory of that name and the file's
// has none.
std::string TakeFromDirectory(const Flag& flag, const std::string& directory,
                              std::string* word);

// For help: "FILE", "text|json", "INT in [1 - 64]".
std::string ValueName(const Flag& flag);
// For help: the target's value if the flag's rules show it, else empty.
std::string DefaultText(const Flag& flag);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_CLI_FLAG_VALUE_H_
