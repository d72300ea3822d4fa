// CuratorConnection over a gRPC channel.
//
// A call that makes no progress for `silence_limit` is cancelled (UNAVAILABLE
// "peer-silent"); a run may take as long as it takes. Keepalive, a property of
// the channel, notices a dead peer long before that. Any thread may use a
// connection, and several at once; a stream of it as RunStream says.
#ifndef DPNMF_ANALYST_CURATORS_CURATOR_CLIENT_H_
#define DPNMF_ANALYST_CURATORS_CURATOR_CLIENT_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "analyst/curators/curator_connection.h"
#include "common/tls/channel.h"

namespace grpc {
class Channel;
class ChannelCredentials;
class ChannelInterface;
}  // namespace grpc

namespace dpnmf::analyst {

// A channel with the keepalive and reconnection that the analyst needs.
std::shared_ptr<grpc::Channel> CuratorChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const std::optional<Proxy>& proxy = std::nullopt);

std::unique_ptr<CuratorConnection> ConnectCurator(
    std::shared_ptr<grpc::ChannelInterface> channel,
    std::chrono::milliseconds silence_limit);
// Over a CuratorChannel, through the proxy of the environment if `use_proxy`.
// "address-malformed", "proxy-unusable".
absl::StatusOr<std::unique_ptr<CuratorConnection>> ConnectCurator(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    bool use_proxy, std::chrono::milliseconds silence_limit);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_CURATORS_CURATOR_CLIENT_H_
