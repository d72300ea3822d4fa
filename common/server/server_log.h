// How a server logs: to standard error, as text or as one line of JSON an entry
// (time, level, message, and the request that the thread works on).
#ifndef DPNMF_COMMON_SERVER_SERVER_LOG_H_
#define DPNMF_COMMON_SERVER_SERVER_LOG_H_

#include <string>

#include "common/server/metrics.h"

namespace dpnmf {

enum class LogFormat { kText, kJson };

// Values of --log-level of both servers (common/cli/program.h, `one_of`): all
// levels that entries have, and off.
inline constexpr char kLogLevels[] = "info|warn|error|off";

// level: one of kLogLevels.
void SetUpLog(const std::string& program, const std::string& level,
              LogFormat format);

// Logs and counts every peer that is refused (OnPeerRefused). `metrics` must
// outlive the server; null: not counted.
void LogRefusedPeers(Metrics* metrics);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_SERVER_LOG_H_
