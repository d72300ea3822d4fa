// What is said when the command line cannot be understood.
#ifndef DPNMF_CURATOR_COMMANDS_USAGE_ERROR_H_
#define DPNMF_CURATOR_COMMANDS_USAGE_ERROR_H_

#include <string>

#include "CLI/CLI.hpp"

namespace dpnmf::curator {

// "dpnmf-curator: SENTENCE; see 'dpnmf-curator COMMAND --help'. [usage]". A
// flag or word that is not known is named before what is missing because of it.
std::string UsageErrorText(const CLI::ParseError& error, const CLI::App& app);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_USAGE_ERROR_H_
