#include "common/rpc/server.h"

#include "common/base/error.h"
#include "common/rpc/health.h"
#include "common/rpc/tls.h"
#include "dpnmf/v1/curator.grpc.pb.h"
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
  EXPECT_EQ(ReasonCode(RpcServer::Start(second).status()), "listen-failed");
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
  EXPECT_NE(health.message().find("nothing listens"), std::string::npos);
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

TEST(LocalAddress, TurnsWildcardsIntoThisMachine) {
  EXPECT_EQ(LocalAddress("0.0.0.0:7431"), "localhost:7431");
  EXPECT_EQ(LocalAddress("[::]:7431"), "localhost:7431");
  EXPECT_EQ(LocalAddress("127.0.0.1:7431"), "127.0.0.1:7431");
}

}  // namespace
}  // namespace dpnmf
