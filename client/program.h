// The program dpnmf: flags in, exit code out.
#ifndef DPNMF_CLIENT_PROGRAM_H_
#define DPNMF_CLIENT_PROGRAM_H_

#include "client/session/environment.h"
#include "common/base/exit_code.h"

namespace dpnmf::cli {

// Runs the subcommand that argv names. Results go to environment.out, errors as
// "dpnmf: SENTENCE [CODE]" to environment.err. Returns one of
// common/base/exit_code.h.
ExitCode RunProgram(int argc, const char* const* argv,
                    const Environment& environment);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_PROGRAM_H_
