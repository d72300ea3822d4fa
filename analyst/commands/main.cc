// dpnmf-analyst: the server that learns dictionaries from a curator's releases.
#include "analyst/commands/commands.h"
#include "common/cli/program.h"

int main(int argc, char** argv) {
  const dpnmf::Program program = {
      .root =
          {.name = "dpnmf-analyst",
           .summary =
               "The analyst's server: runs trainings against a curator, "
               "keeps their models and mirrors the privacy ledger. It never "
               "sees private data.",
           .commands = dpnmf::analyst::AllCommands()},
      .version = DPNMF_VERSION,
      .env_prefix = "DPNMF_ANALYST_",
      .config = {.help = "File with flags, as `name=value` under [serve]"}};
  return dpnmf::Main(program, argc, argv);
}
