#include "common/cli/program.h"
#include "lab/commands/commands.h"

int main(int argc, char** argv) {
  const dpnmf::Program program = {
      .root = {.name = "dpnmf-lab",
               .summary = "Research on the machine of the data's operator, "
                          "WITHOUT PRIVACY: every result is an exact function "
                          "of the file and as private as the file.",
               .footer =
                   "Exit codes: 0 ok, 1 internal, 2 usage or bad input, 4 not "
                   "found, 7 wrong state or in\nuse, 8 data damaged, 130 "
                   "interrupted.",
               .commands = dpnmf::curator::lab::AllCommands()},
      .version = DPNMF_VERSION,
      .env_prefix = "DPNMF_LAB_",
      .config = {.help =
                     "Read flags from a TOML file ([evaluate] rank = ...)"}};
  return dpnmf::Main(program, argc, argv);
}
