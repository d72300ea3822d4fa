// Channels of all programs, and the HTTP proxy that they go through if they are
// asked to (--use-proxy).
//
// A channel is a direct connection: two known peers that check each other's
// certificates gain nothing from a proxy that somebody set for all programs.
#ifndef DPNMF_COMMON_TLS_CHANNEL_H_
#define DPNMF_COMMON_TLS_CHANNEL_H_

#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/tls/address.h"

namespace grpc {
class Channel;
class ChannelCredentials;
}  // namespace grpc

namespace dpnmf {

struct Proxy {
  std::string variable;  // that names it
  Address address;
  std::string user_info;  // "user:password"; empty: none

  // "the proxy http://HOST:PORT that VARIABLE names", without the password.
  std::string Text() const;
};

// The proxy that the environment names for connections to `host`: the first of
// grpc_proxy, https_proxy, HTTPS_PROXY, http_proxy, all_proxy and ALL_PROXY
// that is set, unless an entry of no_grpc_proxy, no_proxy or NO_PROXY (the
// first that is set) is the host's end or "*". FAILED_PRECONDITION
// "proxy-unusable" unless it is http://[USER:PASSWORD@]HOST:PORT, with or
// without the scheme.
absl::StatusOr<std::optional<Proxy>> ProxyOfEnvironment(
    const std::string& host);

// The proxy for a channel to `address`, HOST:PORT: that of the environment if
// `use_proxy` is true, else none. "address-malformed", "proxy-unusable".
absl::StatusOr<std::optional<Proxy>> ProxyFor(const std::string& address,
                                              bool use_proxy);

// The one way to a channel. The connection is made at the first call. The error
// of a call that does not reach the server names the proxy.
std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::optional<Proxy>& proxy = std::nullopt,
    grpc::ChannelArguments arguments = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_TLS_CHANNEL_H_
