#include "common/server/health.h"

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tls/channel.h"
#include "common/wire/status.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"

namespace dpnmf {
namespace {

bool IsRefusedConnection(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         absl::StrContains(status.error_message(), "Connection refused");
}

}  // namespace

absl::Status CheckHealth(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    int timeout_seconds) {
  const auto stub =
      grpc::health::v1::Health::NewStub(OpenChannel(address, credentials));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(timeout_seconds));
  grpc::health::v1::HealthCheckResponse reply;
  const grpc::Status status = stub->Check(&context, {}, &reply);
  if (IsRefusedConnection(status)) {
    return Refusal(
        absl::StatusCode::kUnavailable, "port-closed",
        absl::StrCat("No server listens at ", address,
                     ": start the server, or give its address with --listen."));
  }
  DPNMF_RETURN_IF_ERROR(FromGrpc(status));
  if (reply.status() == grpc::health::v1::HealthCheckResponse::SERVING) {
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kUnavailable, "not-serving",
                 absl::StrCat("The server at ", address,
                              " reports that it is not serving."));
}

std::string LocalAddress(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const std::string host = listen.substr(0, colon);
  const bool wildcard = host == "0.0.0.0" || host == "[::]" || host == "*";
  return wildcard ? "localhost" + listen.substr(colon) : listen;
}

}  // namespace dpnmf
