#include "client/session/connection.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tls/channel.h"
#include "grpcpp/channel.h"

namespace dpnmf::cli {
namespace {

constexpr int kKeepaliveMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;

absl::Status CheckNamed(const std::string& file, absl::string_view flag,
                        absl::string_view variable) {
  if (!file.empty()) return absl::OkStatus();
  return Refusal(absl::StatusCode::kInvalidArgument, "tls-files-missing",
                 absl::StrCat("Give --", flag, " FILE (or set ", variable,
                              "): the server is reached over mutual TLS."));
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectTls(
    const ConnectionOptions& options) {
  DPNMF_RETURN_IF_ERROR(CheckNamed(options.tls.ca_file, "ca", "DPNMF_CA"));
  DPNMF_RETURN_IF_ERROR(
      CheckNamed(options.tls.certificate_file, "cert", "DPNMF_CERT"));
  DPNMF_RETURN_IF_ERROR(CheckNamed(options.tls.key_file, "key", "DPNMF_KEY"));
  RequireTls13();
  DPNMF_ASSIGN_OR_RETURN(const auto credentials, ChannelTls(options.tls));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  DPNMF_ASSIGN_OR_RETURN(const auto proxy,
                         ProxyFor(options.server, options.use_proxy));
  return OpenChannel(options.server, credentials, proxy, arguments);
}

}  // namespace dpnmf::cli
