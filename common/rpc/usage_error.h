// What every program says when its command line cannot be read.
#ifndef DPNMF_COMMON_RPC_USAGE_ERROR_H_
#define DPNMF_COMMON_RPC_USAGE_ERROR_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace dpnmf {

// "PROGRAM: SENTENCE; see 'PROGRAM COMMAND --help'. [usage]" and a line break.
// What is unknown (a command, a flag, a key of the configuration file) is named
// before anything that is missing, with the nearest known name if one is near.
// `app` is the program's, after the parse that threw `error`.
std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error);

// For Option::check: one of these words; "must be a, b or c".
CLI::Validator OneOf(const std::vector<std::string>& words);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RPC_USAGE_ERROR_H_
