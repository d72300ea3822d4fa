// Health and reflection are for those on the allow-list, over real mutual TLS.
#include "common/server/peer_authorizer.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/server/health.h"
#include "common/server/server.h"
#include "common/wire/status.h"
#include "common/wire/trace_metadata.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf {
namespace {

// Answers with the request's trace.
class EchoingService final : public v1::CuratorService::Service {
  grpc::Status ListDatasets(grpc::ServerContext* context,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply* reply) override {
    reply->set_version(ReceivedTrace(*context).Text());
    return grpc::Status::OK;
  }
};

class PeerAuthorizerTest : public ::testing::Test {
 protected:
  PeerAuthorizerTest() : files_(ca_.Issue("server", "--dns localhost")) {
    ca_.Issue("crl-holder");
    std::string output;
    RunShell(CertsScript() + " crl " + ca_.directory(), &output);
    files_.crl_file = ca_.directory() + "/ca/ca.crl";
    RpcServer::Options options;
    options.listen = "localhost:0";
    options.credentials = ServerTls(files_).value();
    options.service = &service_;
    options.gate = MakePeerAuthorizer(
        files_,
        OrOneself(files_, [](const std::vector<std::string>& identities) {
          return identities == std::vector<std::string>{"dns:listed"}
                     ? absl::OkStatus()
                     : absl::PermissionDeniedError("no");
        }));
    server_ = RpcServer::Start(options).value();
  }
  ~PeerAuthorizerTest() override { server_->Shutdown(); }

  std::shared_ptr<grpc::Channel> Dial(const TlsFiles& files) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(server_->address(),
                                     ChannelTls(files).value(), arguments);
  }
  grpc::StatusCode Health(const TlsFiles& files) {
    return static_cast<grpc::StatusCode>(
        CheckHealth(server_->address(), ChannelTls(files).value(), 10).code());
  }
  // A stream of the reflection service, opened and ended.
  grpc::StatusCode Reflection(const TlsFiles& files) {
    grpc::GenericStub stub(Dial(files));
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareCall(
        &context,
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        &queue);
    grpc::Status status;
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(nullptr);
    queue.Next(&tag, &ok);
    call->WritesDone(nullptr);
    queue.Next(&tag, &ok);
    call->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    return status.error_code();
  }
  grpc::Status Ask(grpc::ClientContext* context, const TlsFiles& files,
                   v1::ListDatasetsReply* reply) {
    return v1::CuratorService::NewStub(Dial(files))
        ->ListDatasets(context, {}, reply);
  }

  TestCertificates ca_;
  TlsFiles files_;
  EchoingService service_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(PeerAuthorizerTest, HealthAndReflectionAreForTheListAndForOneself) {
  const TlsFiles listed = ca_.Issue("listed"), stranger = ca_.Issue("stranger");
  EXPECT_EQ(Health(listed), grpc::StatusCode::OK);
  EXPECT_EQ(Health(files_), grpc::StatusCode::OK);
  EXPECT_EQ(Health(stranger), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Reflection(listed), grpc::StatusCode::OK);
  EXPECT_EQ(Reflection(stranger), grpc::StatusCode::PERMISSION_DENIED);
}

// Own methods know roles: they decide themselves.
TEST_F(PeerAuthorizerTest, OwnMethodsDecideThemselves) {
  grpc::ClientContext context;
  v1::ListDatasetsReply reply;
  EXPECT_TRUE(Ask(&context, ca_.Issue("stranger"), &reply).ok());
}

TEST_F(PeerAuthorizerTest, ARevokedPeerIsRefusedAtItsNextCall) {
  const TlsFiles listed = ca_.Issue("listed");
  const auto stub = v1::CuratorService::NewStub(Dial(listed));
  const auto ask = [&] {
    grpc::ClientContext context;
    v1::ListDatasetsReply reply;
    return stub->ListDatasets(&context, {}, &reply);
  };
  ASSERT_TRUE(ask().ok());
  std::string output;
  ASSERT_EQ(RunShell(CertsScript() + " revoke " + ca_.directory() + " " +
                         listed.certificate_file,
                     &output),
            0)
      << output;
  const grpc::Status refused = ask();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_NE(refused.error_message().find("revoked"), std::string::npos);
}

TEST_F(PeerAuthorizerTest, ARequestIsNamedAlikeOnBothSides) {
  const TlsFiles listed = ca_.Issue("listed");
  grpc::ClientContext context;
  const Trace sent = SendTrace(&context, std::string(32, 'a'));
  v1::ListDatasetsReply reply;
  ASSERT_TRUE(Ask(&context, listed, &reply).ok());
  EXPECT_EQ(reply.version(), sent.Text());
  EXPECT_EQ(sent.id, std::string(32, 'a'));
  // Nonsense is not taken over.
  grpc::ClientContext odd;
  odd.AddMetadata("traceparent", "00-x");
  ASSERT_TRUE(Ask(&odd, listed, &reply).ok());
  EXPECT_EQ(reply.version().size(), 49u);
}

}  // namespace
}  // namespace dpnmf
