// Flags that the programs of both servers have. What a flag writes to outlives
// it. For the main thread.
#ifndef DPNMF_COMMON_SERVER_COMMANDS_SERVER_FLAGS_H_
#define DPNMF_COMMON_SERVER_COMMANDS_SERVER_FLAGS_H_

#include <string>

#include "common/cli/program.h"

namespace dpnmf {

// --cert: this server's certificate.
Flag CertificateFlag(std::string* certificate_file);
// --metrics-listen; empty: no page of metrics.
Flag MetricsListenFlag(std::string* metrics_listen);
// --log-level: kLogLevels of common/server/server_log.h.
Flag LogLevelFlag(std::string* log_level);
Flag LogJsonFlag(bool* log_json);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_COMMANDS_SERVER_FLAGS_H_
