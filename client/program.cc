#include "client/program.h"

#include "client/commands/commands.h"
#include "client/session/session.h"
#include "common/base/trace.h"

namespace dpnmf::cli {
namespace {

constexpr char kAbout[] =
    "dpnmf learns the parts of which private columns consist: the dictionary W "
    "of V ~ WH. It talks to the analyst's server; the data stay with the "
    "curator.";

constexpr char kFooter[] =
    R"(What epsilon means: whatever anyone concludes from all releases, one person's
column changes the odds of it by at most a factor of about e^epsilon (except
with probability delta). Smaller is more private. The guarantee is that of the
population's cap; the amount spent so far is a reading of the ledger.

Examples:
  dpnmf datasets
  dpnmf plan  --dataset digits --rank 10 --epsilon 1
  dpnmf train --dataset digits --rank 10 --epsilon 1 --wait
  dpnmf model 3f9a --output parts.png --shape 8x8
  dpnmf budget --dataset digits
  dpnmf account --releases 30 --noise-multiplier 20 --delta 1e-5

Flags can also be set in the environment as DPNMF_SERVER, DPNMF_CA and so on, or
in a configuration file. A flag overrides the environment, which overrides the
file.

Exit codes:
  0 done                        5 server unreachable
  1 fault of program or machine 6 certificate, identity or role
  2 bad flags or input          7 in use, or in the wrong state
  3 over budget                 8 damaged ledger or file
  4 no such data set or run     9 the run ended without completing
  130 interrupted by you)";

}  // namespace

ExitCode RunProgram(int argc, const char* const* argv,
                    const Environment& environment) {
  const TraceScope trace(NewTrace());  // of the whole command
  Session session(environment);
  const Program program = {.root = {.name = "dpnmf",
                                    .summary = kAbout,
                                    .footer = kFooter,
                                    .flags = GlobalFlags(&session.options()),
                                    .commands = AllCommands(&session)},
                           .version = environment.version,
                           .config = ClientConfig()};
  return Main(program, argc, argv, environment.out, environment.err);
}

}  // namespace dpnmf::cli
