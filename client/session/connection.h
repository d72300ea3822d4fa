// The channel to the analyst's server.
#ifndef DPNMF_CLIENT_SESSION_CONNECTION_H_
#define DPNMF_CLIENT_SESSION_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/tls/tls.h"

namespace grpc {
class Channel;
}

namespace dpnmf::cli {

struct ConnectionOptions {
  std::string server;  // HOST:PORT
  TlsFiles tls;
  bool use_proxy = false;  // of the environment
};

// A channel over mutual TLS; the connection itself is made at the first call.
// INVALID_ARGUMENT "tls-files-missing" if a file is not named; the errors of
// CheckTlsFiles and ProxyFor.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectTls(
    const ConnectionOptions& options);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_CONNECTION_H_
