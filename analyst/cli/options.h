// Flags that every subcommand has, from the command line, the environment or a
// configuration file, in this order.
#ifndef DPNMF_ANALYST_CLI_OPTIONS_H_
#define DPNMF_ANALYST_CLI_OPTIONS_H_

#include <string>

#include "CLI/CLI.hpp"
#include "analyst/cli/connection.h"

namespace dpnmf::cli {

inline constexpr char kDefaultServer[] = "localhost:7432";

enum class Format { kText, kJson };

struct GlobalOptions {
  ConnectionOptions connection = {kDefaultServer, {}};
  Format format = Format::kText;
};

// Adds --server, --ca, --cert, --key, --format and --config. `options` outlives
// the app.
void AddGlobalOptions(CLI::App* app, GlobalOptions* options);

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLI_OPTIONS_H_
