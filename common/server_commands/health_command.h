// The command `health` of both servers.
#ifndef DPNMF_COMMON_SERVER_COMMANDS_HEALTH_COMMAND_H_
#define DPNMF_COMMON_SERVER_COMMANDS_HEALTH_COMMAND_H_

#include <string>

#include "common/cli/program.h"

namespace dpnmf {

// Asks the server on this machine whether it is serving, within 4 s.
// `default_listen`: HOST:PORT that it listens on unless --listen is given.
// Errors: those of CheckHealth and ChannelTls; "address-malformed".
Command HealthCommandOf(std::string default_listen);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_COMMANDS_HEALTH_COMMAND_H_
