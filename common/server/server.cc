#include "common/server/server.h"

#include <pthread.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tls/address.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/security/auth_metadata_processor.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

namespace dpnmf {
namespace {

// Dead connections are noticed within about half a minute; peers may ping idle
// streams as often.
void SetKeepalive(grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

sigset_t BlockTerminationSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int WaitForSignal(const sigset_t& signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  return signal;
}

RpcServer::RpcServer() = default;
RpcServer::~RpcServer() = default;

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const Options& options) {
  DPNMF_RETURN_IF_ERROR(ParseListenAddress(options.listen).status());
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  if (options.gate != nullptr)
    options.credentials->SetAuthMetadataProcessor(options.gate);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options.listen, options.credentials, &port);
  builder.RegisterService(options.service);
  SetKeepalive(&builder);
  grpc::ResourceQuota threads("calls");
  threads.SetMaxThreads(options.most_threads);
  builder.SetResourceQuota(threads);
  std::unique_ptr<RpcServer> server(new RpcServer());
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || port == 0) {
    return Refusal(
        absl::StatusCode::kUnavailable, "listen-failed",
        absl::StrCat(
            "Cannot listen on ", options.listen,
            ": the address is in use or does not belong to this machine, or "
            "this user may not use its port; choose another with ",
            options.flag, "."));
  }
  const std::string host = options.listen.substr(0, options.listen.rfind(':'));
  server->address_ = absl::StrCat(host, ":", port);
  server->port_ = port;
  server->shutdown_seconds_ = options.shutdown_seconds;
  return server;
}

void RpcServer::Shutdown() {
  if (auto* health = server_->GetHealthCheckService())
    health->SetServingStatus(false);
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::seconds(shutdown_seconds_));
  server_->Wait();
}

}  // namespace dpnmf
