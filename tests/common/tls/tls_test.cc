// Mutual TLS over real sockets on loopback.

#include "common/tls/tls.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tls/certificate.h"
#include "common/wire/status.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;
using ::testing::ElementsAre;

// Answers with the caller's identities; echoes every message of a stream.
class EchoService final : public v1::CuratorService::Service {
 public:
  explicit EchoService(TlsFiles files) : files_(std::move(files)) {}

 private:
  grpc::Status ListDatasets(grpc::ServerContext* context,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply* reply) override {
    for (const std::string& identity : PeerIdentities(*context)) {
      reply->add_datasets()->set_name(identity);
    }
    const absl::Status valid = CheckPeerStillValid(*context, files_);
    reply->set_version(valid.ok() ? "valid" : ReasonCode(valid));
    return grpc::Status::OK;
  }
  grpc::Status Train(grpc::ServerContext*,
                     grpc::ServerReaderWriter<v1::TrainReply, v1::TrainRequest>*
                         stream) override {
    v1::TrainRequest request;
    while (stream->Read(&request) && stream->Write(v1::TrainReply())) {
    }
    return grpc::Status::OK;
  }

  const TlsFiles files_;
};

class EchoServer {
 public:
  explicit EchoServer(const TlsFiles& files) : service_(files) {
    auto credentials = ServerTls(files);
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~EchoServer() { server_->Shutdown(system_clock::now() + seconds(2)); }
  int port() const { return port_; }

 private:
  EchoService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

std::unique_ptr<v1::CuratorService::Stub> Dial(
    const std::shared_ptr<grpc::ChannelCredentials>& credentials, int port,
    const std::string& host = "127.0.0.1") {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::CuratorService::NewStub(grpc::CreateCustomChannel(
      absl::StrCat(host, ":", port), credentials, arguments));
}

std::unique_ptr<v1::CuratorService::Stub> Dial(
    const TlsFiles& files, int port, const std::string& host = "127.0.0.1") {
  auto credentials = ChannelTls(files);
  EXPECT_TRUE(credentials.ok()) << credentials.status();
  return Dial(*credentials, port, host);
}

// A peer that keeps to none of this library's rules: any files, TLS 1.3.
std::shared_ptr<grpc::ChannelCredentials> Unruly(
    const std::string& ca_file, const std::string& certificate_file = "",
    const std::string& key_file = "") {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = ReadAll(ca_file);
  if (!certificate_file.empty()) {
    options.pem_cert_chain = ReadAll(certificate_file);
    options.pem_private_key = ReadAll(key_file);
  }
  return grpc::SslCredentials(options);
}

absl::StatusOr<v1::ListDatasetsReply> Ask(v1::CuratorService::Stub* stub) {
  grpc::ClientContext context;
  context.set_deadline(system_clock::now() + seconds(20));
  v1::ListDatasetsReply reply;
  const absl::Status status =
      FromGrpc(stub->ListDatasets(&context, {}, &reply));
  if (!status.ok()) return status;
  return reply;
}

std::vector<std::string> IdentitiesSeen(v1::CuratorService::Stub* stub) {
  const auto reply = Ask(stub);
  EXPECT_TRUE(reply.ok()) << reply.status();
  std::vector<std::string> identities;
  if (!reply.ok()) return identities;
  for (const auto& dataset : reply->datasets()) {
    identities.push_back(dataset.name());
  }
  return identities;
}

class TlsTest : public ::testing::Test {
 protected:
  TlsTest()
      : server_files_(ca_.Issue("server", "--dns localhost --ip 127.0.0.1")) {
    // A peer that hangs up during a handshake of the tests' own sockets is an
    // answer.
    std::signal(SIGPIPE, SIG_IGN);
  }
  TestCertificates ca_;
  TlsFiles server_files_;
};

TEST_F(TlsTest, BothSidesKnowEachOther) {
  EchoServer server(server_files_);
  const TlsFiles alice = ca_.Issue(
      "alice", "--dns Alice.Client --uri spiffe://site/alice --dns second");
  EXPECT_THAT(
      IdentitiesSeen(Dial(alice, server.port()).get()),
      ElementsAre("dns:alice.client", "uri:spiffe://site/alice", "dns:second"));
  EXPECT_EQ(Ask(Dial(alice, server.port(), "localhost").get())->version(),
            "valid");
}

TEST_F(TlsTest, ServersAndChannelsRefuseBadFilesBeforeTheyStart) {
  TlsFiles missing = server_files_;
  missing.key_file = "/nonexistent";
  EXPECT_EQ(ReasonCode(ServerTls(missing).status()), "tls-file-unreadable");
  EXPECT_EQ(ReasonCode(ChannelTls(missing).status()), "tls-file-unreadable");
}

TEST_F(TlsTest, TheServerRefusesEveryBadClient) {
  TestCertificates other;
  EchoServer server(server_files_);
  const TlsFiles stranger = other.Issue("alice");
  const TlsFiles expired =
      ca_.IssueOdd("expired", "subjectAltName=DNS:alice", -1);
  const TlsFiles future = ca_.IssueForTheFuture("future");
  const TlsFiles nameless = ca_.IssueOdd("nameless", "");
  const TlsFiles address_only =
      ca_.IssueOdd("address", "subjectAltName=IP:127.0.0.1");
  const TlsFiles server_only = ca_.IssueOdd(
      "server_only", "subjectAltName=DNS:alice\nextendedKeyUsage=serverAuth");
  const TlsFiles good = ca_.IssueOdd("good", "subjectAltName=DNS:alice");
  const auto ask = [&](const TlsFiles& files) {
    return Ask(Dial(Unruly(ca_.ca_file(), files.certificate_file,
                           files.key_file),
                    server.port())
                   .get())
        .status();
  };
  // The twin that is let in: what differs below is what is refused.
  EXPECT_TRUE(ask(good).ok()) << ask(good);
  const struct {
    const char* what;
    TlsFiles files;
  } cases[] = {
      {"another CA", stranger},           {"expired", expired},
      {"not yet valid", future},          {"no names", nameless},
      {"an address alone", address_only}, {"for servers", server_only}};
  for (const auto& c : cases) {
    EXPECT_EQ(ReasonCode(ask(c.files)), "unreachable") << c.what;
  }
  const auto without = Ask(Dial(Unruly(ca_.ca_file()), server.port()).get());
  EXPECT_EQ(ReasonCode(without.status()), "unreachable") << "no certificate";
}

TEST_F(TlsTest, TheServerRefusesPlainText) {
  EchoServer server(server_files_);
  const auto stub = Dial(grpc::InsecureChannelCredentials(), server.port());
  EXPECT_EQ(ReasonCode(Ask(stub.get()).status()), "unreachable");
}

TEST_F(TlsTest, TheClientRefusesAServerOfAnotherName) {
  const TlsFiles alice = ca_.Issue("alice");
  EchoServer server(ca_.Issue("other", "--dns other.example"));
  for (const char* host : {"localhost", "127.0.0.1"}) {
    EXPECT_EQ(ReasonCode(Ask(Dial(alice, server.port(), host).get()).status()),
              "certificate-wrong-name")
        << host;
  }
}

// The common name of this certificate is "localhost".
TEST_F(TlsTest, TheClientNeverLooksAtTheCommonName) {
  const TlsFiles alice = ca_.Issue("alice");
  EchoServer server(
      ca_.IssueOdd("uri_only", "subjectAltName=URI:spiffe://a/b"));
  EXPECT_EQ(
      ReasonCode(Ask(Dial(alice, server.port(), "localhost").get()).status()),
      "certificate-wrong-name");
  EchoServer named(ca_.IssueOdd("named", "subjectAltName=DNS:localhost"));
  EXPECT_TRUE(Ask(Dial(alice, named.port(), "localhost").get()).ok());
}

// This server trusts both CAs, so that it is the client alone that refuses.
TEST_F(TlsTest, TheClientRefusesAServerOfAnotherCa) {
  TestCertificates other;
  TlsFiles files = other.Issue("server", "--dns localhost");
  files.ca_file = other.directory() + "/both.crt";
  WriteAll(files.ca_file, ReadAll(other.ca_file()) + ReadAll(ca_.ca_file()));
  EchoServer server(files);
  TlsFiles alice = ca_.Issue("alice");
  EXPECT_EQ(
      ReasonCode(Ask(Dial(alice, server.port(), "localhost").get()).status()),
      "certificate-refused");
  alice.ca_file = files.ca_file;
  EXPECT_TRUE(Ask(Dial(alice, server.port(), "localhost").get()).ok());
}

// ---- The protocol's version, with OpenSSL alone on the other side ----

using ContextPointer = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using SslPointer = std::unique_ptr<SSL, decltype(&SSL_free)>;

// A context that allows this version and no other, whatever the process's
// configuration says.
ContextPointer OnlyVersion(int version, const TlsFiles& files) {
  ContextPointer context(SSL_CTX_new(TLS_method()), &SSL_CTX_free);
  SSL_CTX_clear_options(context.get(), SSL_OP_NO_TLSv1_2 | SSL_OP_NO_TLSv1_3);
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  EXPECT_EQ(
      SSL_CTX_use_certificate_file(
          context.get(), files.certificate_file.c_str(), SSL_FILETYPE_PEM),
      1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), files.key_file.c_str(),
                                        SSL_FILETYPE_PEM),
            1);
  const unsigned char h2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), h2, sizeof(h2));
  return context;
}

int ConnectTo(int port) {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(socket_fd, reinterpret_cast<sockaddr*>(&address),
                    sizeof(address)),
            0);
  return socket_fd;
}

// Returns true if a handshake at only this version succeeds. If not null,
// *server_certificate receives its subject hash and its dates.
bool HandshakeSucceeds(int port, int version, const TlsFiles& files,
                       std::string* server_certificate = nullptr) {
  const ContextPointer context = OnlyVersion(version, files);
  const SslPointer ssl(SSL_new(context.get()), &SSL_free);
  const int socket_fd = ConnectTo(port);
  SSL_set_fd(ssl.get(), socket_fd);
  const bool succeeded = SSL_connect(ssl.get()) == 1;
  if (succeeded && server_certificate != nullptr) {
    const X509Pointer peer(SSL_get1_peer_certificate(ssl.get()));
    *server_certificate = absl::StrCat(X509_subject_name_hash(peer.get()), " ",
                                       NotBefore(*peer), " ", NotAfter(*peer));
  }
  close(socket_fd);
  return succeeded;
}

TEST_F(TlsTest, TheServerTakesTls13AndNothingOlder) {
  EchoServer server(server_files_);
  const TlsFiles alice = ca_.Issue("alice");
  EXPECT_TRUE(HandshakeSucceeds(server.port(), TLS1_3_VERSION, alice));
  EXPECT_FALSE(HandshakeSucceeds(server.port(), TLS1_2_VERSION, alice));
}

// Accepts one connection at this version alone; true if the handshake succeeds.
bool AcceptsOnce(int version, const TlsFiles& server_files,
                 const TlsFiles& client_files) {
  const ContextPointer context = OnlyVersion(version, server_files);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  bool accepted = false;
  std::thread server([&] {
    const int connection = accept(listener, nullptr, nullptr);
    const SslPointer ssl(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(ssl.get(), connection);
    accepted = SSL_accept(ssl.get()) == 1;
    close(connection);
  });
  // There is no gRPC behind this server: the call fails either way.
  EXPECT_FALSE(Ask(Dial(client_files, ntohs(address.sin_port)).get()).ok());
  server.join();
  close(listener);
  return accepted;
}

TEST_F(TlsTest, TheClientTakesTls13AndNothingOlder) {
  const TlsFiles alice = ca_.Issue("alice");
  EXPECT_TRUE(AcceptsOnce(TLS1_3_VERSION, server_files_, alice));
  EXPECT_FALSE(AcceptsOnce(TLS1_2_VERSION, server_files_, alice));
}

// ---- Renewal ----

// Asks again until the condition holds; false after 30 seconds.
template <typename Condition>
bool Eventually(const Condition& condition) {
  const auto deadline = system_clock::now() + seconds(30);
  while (!condition()) {
    if (system_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TEST_F(TlsTest, ARenewedServerCertificateIsTakenUpAndStreamsGoOn) {
  const TlsFiles alice = ca_.Issue("alice");
  EchoServer server(server_files_);
  const auto stub = Dial(alice, server.port());
  grpc::ClientContext context;
  const auto stream = stub->Train(&context);
  v1::TrainReply reply;
  ASSERT_TRUE(stream->Write(v1::TrainRequest()) && stream->Read(&reply));

  std::string before, now;
  ASSERT_TRUE(HandshakeSucceeds(server.port(), TLS1_3_VERSION, alice, &before));
  ca_.Issue("server", "--dns localhost --ip 127.0.0.1 --days 20");
  EXPECT_TRUE(Eventually([&] {
    return HandshakeSucceeds(server.port(), TLS1_3_VERSION, alice, &now) &&
           now != before;
  }));
  EXPECT_TRUE(stream->Write(v1::TrainRequest()) && stream->Read(&reply));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(Ask(Dial(alice, server.port()).get()).ok());
}

TEST_F(TlsTest, ARenewedCaIsTakenUpAndTheOldOneRefused) {
  TestCertificates successor;
  EchoServer server(server_files_);
  const TlsFiles old_client = ca_.Issue("alice");
  const TlsFiles new_client = successor.Issue("alice");
  const auto ask = [&](const TlsFiles& files) {
    return Ask(Dial(Unruly(ca_.ca_file(), files.certificate_file,
                           files.key_file),
                    server.port())
                   .get())
        .ok();
  };
  ASSERT_TRUE(ask(old_client));
  ASSERT_FALSE(ask(new_client));
  WriteAll(server_files_.ca_file + ".new", ReadAll(successor.ca_file()));
  ASSERT_EQ(rename((server_files_.ca_file + ".new").c_str(),
                   server_files_.ca_file.c_str()),
            0);
  EXPECT_TRUE(Eventually([&] { return ask(new_client); }));
  EXPECT_FALSE(ask(old_client));
}

TEST_F(TlsTest, ARenewedClientCertificateIsTakenUpByItsChannel) {
  EchoServer server(server_files_);
  const TlsFiles files = ca_.Issue("alice", "--dns alice.old");
  const auto credentials = *ChannelTls(files);
  EXPECT_THAT(IdentitiesSeen(Dial(credentials, server.port()).get()),
              ElementsAre("dns:alice.old"));
  ca_.Issue("alice", "--dns alice.new");
  EXPECT_TRUE(Eventually([&] {
    const auto reply = Ask(Dial(credentials, server.port()).get());
    return reply.ok() && reply->datasets_size() == 1 &&
           reply->datasets(0).name() == "dns:alice.new";
  }));
}

TEST(PeerIdentities, AreEmptyWithoutAConnection) {
  grpc::ServerContext context;
  EXPECT_TRUE(PeerIdentities(context).empty());
  TestCertificates ca;
  EXPECT_EQ(ReasonCode(CheckPeerStillValid(context,
                                           TlsFiles{.ca_file = ca.ca_file()})),
            "certificate-missing");
}

}  // namespace
}  // namespace dpnmf
