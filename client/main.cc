#include "client/program.h"

int main(int argc, char** argv) {
  return dpnmf::cli::RunProgram(argc, argv,
                                dpnmf::cli::SystemEnvironment(DPNMF_VERSION));
}
