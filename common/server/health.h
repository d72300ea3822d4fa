// Asks a server's gRPC health service, as container health checks do.
#ifndef DPNMF_COMMON_SERVER_HEALTH_H_
#define DPNMF_COMMON_SERVER_HEALTH_H_

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace dpnmf {

// OK if `address` (HOST:PORT) answers SERVING within `timeout_seconds`.
// UNAVAILABLE "unreachable" or "not-serving" otherwise.
absl::Status CheckHealth(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    int timeout_seconds);

// The address by which this machine reaches a server that listens on `listen`:
// the wildcard host becomes localhost.
std::string LocalAddress(const std::string& listen);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_HEALTH_H_
