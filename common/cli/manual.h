// The manual page and the completion of a program, from its tables.
#ifndef DPNMF_COMMON_CLI_MANUAL_H_
#define DPNMF_COMMON_CLI_MANUAL_H_

#include <string>

#include "common/cli/program.h"

namespace dpnmf {

// The page of section 1, in roff with the macros of man(7). It has no date: the
// same program gives the same page.
std::string ManualPage(const Program& program);

// A script for bash (`source` it, or put it into bash-completion's directory).
// It completes commands, flags and the words of flags that take few; in all
// other places bash completes the names of files. It works without the package
// bash-completion.
std::string BashCompletion(const Program& program);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_CLI_MANUAL_H_
