// CuratorConnection over gRPC, against a scripted curator in this process.
#include "analyst/curators/curator_client.h"

#include <functional>
#include <memory>

#include "common/base/error.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/status.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

namespace dpnmf::analyst {
namespace {

using Stream = grpc::ServerReaderWriter<v1::TrainReply, v1::TrainRequest>;

class ScriptedCurator final : public v1::CuratorService::Service {
 public:
  grpc::Status Train(grpc::ServerContext* context, Stream* stream) override {
    return script(context, stream);
  }
  grpc::Status ListDatasets(grpc::ServerContext*,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply*) override {
    return ToGrpc(Refusal(absl::StatusCode::kPermissionDenied,
                          "identity-unknown", "No."));
  }
  grpc::Status ListItems(grpc::ServerContext*,
                         const v1::ListItemsRequest* request,
                         v1::ListItemsReply* reply) override {
    reply->set_first(request->first());
    reply->add_items()->set_id("one of " + request->dataset());
    return grpc::Status::OK;
  }
  std::function<grpc::Status(grpc::ServerContext*, Stream*)> script;
};

class CuratorClientTest : public testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.RegisterService(&curator_);
    server_ = builder.BuildAndStart();
    Connect(std::chrono::seconds(60));
  }
  void TearDown() override {
    connection_.reset();
    server_->Shutdown(std::chrono::system_clock::now());
  }
  void Connect(std::chrono::milliseconds silence_limit) {
    connection_ = ConnectCurator(server_->InProcessChannel({}), silence_limit);
  }

  ScriptedCurator curator_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<CuratorConnection> connection_;
};

v1::TrainReply OpenedReply() {
  v1::TrainReply reply;
  reply.mutable_opened()->set_next_round(3);
  reply.mutable_opened()->set_users(40);
  return reply;
}

TEST_F(CuratorClientTest, OpensSendsTheDictionaryTakesTheReleaseAndCloses) {
  const Eigen::MatrixXd w =
      Eigen::MatrixXd::Random(70'000, 10).cwiseAbs();  // 5.6 MB
  Eigen::MatrixXd received;
  curator_.script = [&](grpc::ServerContext*, Stream* stream) {
    v1::TrainRequest request;
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_EQ(request.open().run_id(), "run");
    EXPECT_EQ(request.open().parameters().rank(), 10u);
    stream->Write(OpenedReply());
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_EQ(request.round().round(), 3u);
    auto reader =
        *RealMatrixReader::Create(request.round().shape(), 1 << 20, 1 << 20);
    while (!reader.complete() && stream->Read(&request)) {
      EXPECT_TRUE(reader.Add(request.dictionary()).ok());
    }
    received = reader.Take();
    NoisedMatrix part;
    part.name = "B";
    part.rows = 70'000;
    part.columns = 10;
    part.lattice.assign(700'000, 5);
    v1::TrainReply reply;
    reply.mutable_release()->set_round(3);
    *reply.mutable_release()->add_parts() = HeaderOf(part);
    stream->Write(reply);
    WritePart(
        part,
        [&](const v1::LatticeChunk& chunk) {
          *reply.mutable_lattice() = chunk;
          return stream->Write(reply);
        },
        [](const v1::RealChunk&) { return false; });
    reply.mutable_end()->set_round(3);
    reply.mutable_end()->mutable_charged()->set_units("77");
    reply.mutable_end()->set_row_hash(std::string(32, 'r'));
    reply.mutable_end()->mutable_ledger()->set_row_count(9);
    stream->Write(reply);
    EXPECT_TRUE(stream->Read(&request));
    EXPECT_TRUE(request.has_close());
    reply.mutable_closed()->mutable_returned()->set_units("5");
    stream->Write(reply);
    return grpc::Status::OK;
  };
  const auto stream = connection_->NewStream();
  v1::RunParameters parameters;
  parameters.set_rank(10);
  const auto opened = stream->Open("run", parameters);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->next_round, 3u);
  EXPECT_EQ(opened->users, 40u);
  const auto result = stream->Round(3, w);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(received, w);
  ASSERT_EQ(result->parts.size(), 1u);
  EXPECT_EQ(result->parts[0].lattice.size(), 700'000u);
  EXPECT_EQ(result->cost, MuSquared::FromUnits(77));
  EXPECT_EQ(result->ledger.row_count(), 9u);
  const auto closed = stream->Close();
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_EQ(closed->returned, MuSquared::FromUnits(5));
}

TEST_F(CuratorClientTest, AsksForItemsAndSendsNumbers) {
  const auto page = connection_->ListItems("films", 7);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->first(), 7u);
  EXPECT_EQ(page->items(0).id(), "one of films");
  v1::RoundStart received;
  curator_.script = [&](grpc::ServerContext*, Stream* stream) {
    v1::TrainRequest request;
    stream->Read(&request);
    stream->Write(OpenedReply());
    stream->Read(&request);
    received = request.round();
    return grpc::Status::OK;
  };
  const auto stream = connection_->NewStream();
  ASSERT_TRUE(stream->Open("run", {}).ok());
  RoundInput input;
  input.rows = {2, 5};
  input.numbers = {0.25, -1};
  EXPECT_FALSE(stream->Round(3, input).ok());
  EXPECT_EQ(
      std::vector<double>(received.numbers().begin(), received.numbers().end()),
      input.numbers);
  EXPECT_EQ(received.rows_size(), 2);
}

// The client of this analyst would look at its own certificate.
TEST_F(CuratorClientTest, SaysThatTheServerIsNotAdmittedAndNotTheClient) {
  const absl::Status refused = connection_->ListDatasets().status();
  EXPECT_EQ(ReasonCode(refused), "analyst-not-admitted");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("not your certificate (identity-unknown)"),
            std::string::npos)
      << refused;
}

TEST_F(CuratorClientTest, NamesTheCauseIfTheServersCertificateIsRefused) {
  const struct {
    const char* code;
    const char* words;
  } cases[] = {{"certificate-revoked", "it was revoked (certificate-revoked)"},
               {"certificate-expired", "it has expired (certificate-expired)"},
               {"certificate-unknown-ca", "of a CA that the curator does not"}};
  for (const auto& one : cases) {
    curator_.script = [&](grpc::ServerContext*, Stream*) {
      return ToGrpc(Refusal(absl::StatusCode::kUnauthenticated, one.code, "."));
    };
    const auto status = connection_->NewStream()->Open("run", {}).status();
    EXPECT_EQ(ReasonCode(status), "analyst-not-admitted");
    EXPECT_NE(status.message().find(one.words), std::string::npos) << status;
    EXPECT_NE(status.message().find("not yours"), std::string::npos) << status;
    EXPECT_EQ(status.message().find("access"), std::string::npos) << status;
  }
}

TEST_F(CuratorClientTest, KeepsTheNamesOfARefusedCertificateToItself) {
  curator_.script = [](grpc::ServerContext*, Stream*) {
    return grpc::Status(
        grpc::StatusCode::UNAVAILABLE,
        "failed with error: UNAUTHENTICATED: Not for inner.example."
        " [certificate-wrong-name]");
  };
  const auto status = connection_->NewStream()->Open("run", {}).status();
  EXPECT_EQ(ReasonCode(status), "certificate-wrong-name");
  EXPECT_EQ(status.message().find("inner.example"), std::string::npos)
      << status;
}

TEST_F(CuratorClientTest, GivesTheRefusalWithItsCode) {
  curator_.script = [](grpc::ServerContext*, Stream* stream) {
    v1::TrainRequest request;
    stream->Read(&request);
    return ToGrpc(Refusal(absl::StatusCode::kResourceExhausted,
                          "budget-exhausted", "Over."));
  };
  const auto status = connection_->NewStream()->Open("run", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonCode(status), "budget-exhausted");
  EXPECT_EQ(status.message(), "Over.");
}

// A refusal in the midst of a large W: the write fails, the reason arrives.
TEST_F(CuratorClientTest, GivesTheReasonOfARefusalInTheMidstOfADictionary) {
  curator_.script = [](grpc::ServerContext*, Stream* stream) {
    v1::TrainRequest request;
    stream->Read(&request);
    stream->Write(OpenedReply());
    stream->Read(&request);
    return ToGrpc(Refusal(absl::StatusCode::kFailedPrecondition,
                          "round-out-of-order", "Order."));
  };
  const auto stream = connection_->NewStream();
  ASSERT_TRUE(stream->Open("run", {}).ok());
  const auto result =
      stream->Round(9, Eigen::MatrixXd(Eigen::MatrixXd::Zero(100'000, 50)));
  EXPECT_EQ(ReasonCode(result.status()), "round-out-of-order");
}

TEST_F(CuratorClientTest, AnAnswerOutOfOrderIsAViolation) {
  curator_.script = [](grpc::ServerContext*, Stream* stream) {
    v1::TrainRequest request;
    stream->Read(&request);
    v1::TrainReply reply;
    reply.mutable_closed();
    stream->Write(reply);
    return grpc::Status::OK;
  };
  EXPECT_EQ(ReasonCode(connection_->NewStream()->Open("run", {}).status()),
            "protocol-violation");
}

TEST_F(CuratorClientTest, AStreamThatEndsEarlyIsUnreachableNotFailed) {
  curator_.script = [](grpc::ServerContext*, Stream* stream) {
    v1::TrainRequest request;
    stream->Read(&request);
    return grpc::Status::OK;
  };
  const auto status = connection_->NewStream()->Open("run", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(CuratorClientTest, ASilentCuratorIsGivenUp) {
  Connect(std::chrono::milliseconds(50));
  curator_.script = [](grpc::ServerContext*, Stream* stream) {
    v1::TrainRequest request;
    while (stream->Read(&request)) {  // never answers
    }
    return grpc::Status::OK;
  };
  const auto status = connection_->NewStream()->Open("run", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonCode(status), "peer-silent");
}

TEST_F(CuratorClientTest, CancelBreaksACallOff) {
  std::unique_ptr<RunStream> stream;
  curator_.script = [&](grpc::ServerContext*, Stream* server_side) {
    v1::TrainRequest request;
    server_side->Read(&request);
    stream->Cancel();  // while the client waits for the answer
    while (server_side->Read(&request)) {
    }
    return grpc::Status::OK;
  };
  stream = connection_->NewStream();
  const auto status = stream->Open("run", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ReasonCode(status), "cancelled");
}

}  // namespace
}  // namespace dpnmf::analyst
