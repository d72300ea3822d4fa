#include "common/cli/program.h"
#include "curator/commands/commands.h"

int main(int argc, char** argv) {
  const dpnmf::Program program = {
      .root =
          {.name = "dpnmf-curator",
           .summary = "The data holder's side of dpnmf: holds V, sends noised "
                      "statistics, keeps the ledger. Imports a data set, "
                      "serves it to analysts over mutual TLS, and shows the "
                      "ledger of what has been spent.",
           .footer =
               "Exit codes: 0 ok, 1 internal, 2 usage or bad input, 3 over "
               "budget, 4 not found,\n5 unreachable, 6 not allowed, 7 wrong "
               "state or in use, 8 data damaged, 130 interrupted.",
           .commands = dpnmf::curator::AllCommands()},
      .version = DPNMF_VERSION,
      .env_prefix = "DPNMF_CURATOR_",
      .config = {.help = "Read flags from a TOML file ([serve] listen = ...)"}};
  return dpnmf::Main(program, argc, argv);
}
