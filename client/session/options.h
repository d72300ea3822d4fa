// Flags that every subcommand has, from the command line, the environment or a
// configuration file, in this order.
#ifndef DPNMF_CLIENT_SESSION_OPTIONS_H_
#define DPNMF_CLIENT_SESSION_OPTIONS_H_

#include <string>
#include <vector>

#include "client/session/connection.h"
#include "common/cli/program.h"

namespace dpnmf::cli {

inline constexpr char kDefaultServer[] = "localhost:7432";

struct GlobalOptions {
  ConnectionOptions connection = {.server = kDefaultServer, .tls = {}};
  std::string format = "text";  // or json
};

// --server, --ca, --cert, --key, --crl, --use-proxy and --format. `options`
// outlives the table.
std::vector<Flag> GlobalFlags(GlobalOptions* options);

// The file that DPNMF_CONFIG names, and that has to be there; else
// ./dpnmf.toml, else ~/.config/dpnmf.toml, if there is one.
ConfigFile ClientConfig();

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_OPTIONS_H_
