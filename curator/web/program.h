// The program dpnmf-curator-web: flags in, exit code out.
#ifndef DPNMF_CURATOR_WEB_PROGRAM_H_
#define DPNMF_CURATOR_WEB_PROGRAM_H_

#include "common/base/exit_code.h"

namespace dpnmf::curator::web {

// Prints the page's address and serves it until SIGINT or SIGTERM. Called
// before other threads exist: they must not take these signals.
ExitCode RunOperatorPage(int argc, const char* const* argv);

}  // namespace dpnmf::curator::web

#endif  // DPNMF_CURATOR_WEB_PROGRAM_H_
