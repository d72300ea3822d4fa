// Run ids as people type them.
#ifndef DPNMF_CLIENT_SESSION_RUN_ID_H_
#define DPNMF_CLIENT_SESSION_RUN_ID_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/session/client.h"

namespace dpnmf::cli {

// The whole id (32 hexadecimal digits) of the one run whose id begins with
// `prefix`. INVALID_ARGUMENT "run-id-malformed" or "run-id-ambiguous";
// NOT_FOUND "run-unknown".
absl::StatusOr<std::string> ResolveRunId(const AnalystClient& client,
                                         const std::string& prefix);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_RUN_ID_H_
