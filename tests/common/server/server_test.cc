#include "common/server/server.h"

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/base/error.h"
#include "common/server/health.h"
#include "common/tls/tls.h"
#include "common/wire/status.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

class ServerTest : public ::testing::Test {
 protected:
  RpcServer::Options Options(const std::string& listen) {
    RpcServer::Options options;
    options.listen = listen;
    options.credentials = grpc::InsecureServerCredentials();
    options.service = &service_;
    return options;
  }
  v1::CuratorService::Service service_;
};

TEST_F(ServerTest, TakesAFreePortAndAnswersHealthChecks) {
  const auto server = RpcServer::Start(Options("127.0.0.1:0")).value();
  EXPECT_GT(server->port(), 0);
  EXPECT_TRUE(
      CheckHealth(server->address(), grpc::InsecureChannelCredentials(), 10)
          .ok());
  server->Shutdown();
}

TEST_F(ServerTest, RefusesAnAddressInUse) {
  const auto first = RpcServer::Start(Options("127.0.0.1:0")).value();
  v1::CuratorService::Service second_service;
  RpcServer::Options second = Options(first->address());
  second.service = &second_service;
  OnPeerRefused(nullptr);  // takes over gRPC's log, as both servers do
  ::testing::internal::CaptureStderr();
  second.flag = "--recommend-listen";
  const absl::Status status = RpcServer::Start(second).status();
  EXPECT_EQ(ReasonCode(status), "listen-failed");
  EXPECT_TRUE(
      std::string(status.message()).ends_with("with --recommend-listen."))
      << status;
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  first->Shutdown();
}

TEST_F(ServerTest, AServerThatIsGoneIsNotHealthy) {
  const auto server = RpcServer::Start(Options("127.0.0.1:0")).value();
  server->Shutdown();
  const absl::Status health =
      CheckHealth(server->address(), grpc::InsecureChannelCredentials(), 1);
  EXPECT_EQ(ReasonCode(health), "port-closed");
  EXPECT_EQ(health.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(health.message().find("No server listens"), std::string::npos);
}

// gRPC reads a missing port as 443, and a large one modulo 65536.
TEST_F(ServerTest, RefusesWhatIsNoAddress) {
  for (const char* listen : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:99999",
                             "127.0.0.1:http", ":7431", "::1:7431"}) {
    EXPECT_EQ(ReasonCode(RpcServer::Start(Options(listen)).status()),
              "address-malformed")
        << listen;
  }
}

// Calls that do not return until told to.
class StuckService : public v1::CuratorService::Service {
 public:
  grpc::Status ListDatasets(grpc::ServerContext*,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply*) override {
    ++inside;
    go.WaitForNotification();
    return grpc::Status::OK;
  }
  std::atomic<int> inside{0};
  absl::Notification go;
};

TEST_F(ServerTest, RefusesCallsBeyondItsThreads) {
  StuckService stuck;
  RpcServer::Options options = Options("127.0.0.1:0");
  options.service = &stuck;
  options.most_threads = 8;
  const auto server = RpcServer::Start(options).value();
  const auto channel = grpc::CreateChannel(server->address(),
                                           grpc::InsecureChannelCredentials());
  const auto stub = v1::CuratorService::NewStub(channel);
  std::atomic<int> busy{0}, served{0};
  std::vector<std::thread> callers;
  constexpr int kCallers = 24;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] {
      grpc::ClientContext context;
      v1::ListDatasetsReply reply;
      const absl::Status status =
          FromGrpc(stub->ListDatasets(&context, {}, &reply));
      if (status.ok()) ++served;
      if (ReasonCode(status) == "busy") ++busy;
    });
  }
  while (busy == 0) std::this_thread::yield();
  EXPECT_LT(stuck.inside, 8);
  stuck.go.Notify();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(served + busy, kCallers);
  EXPECT_GT(served, 0);
  EXPECT_GT(busy, 0);
  server->Shutdown();
}

TEST(LocalAddress, TurnsWildcardsIntoThisMachine) {
  EXPECT_EQ(LocalAddress("0.0.0.0:7431"), "localhost:7431");
  EXPECT_EQ(LocalAddress("[::]:7431"), "localhost:7431");
  EXPECT_EQ(LocalAddress("127.0.0.1:7431"), "127.0.0.1:7431");
}

}  // namespace
}  // namespace dpnmf
