// Whom a server refuses, and what its log says of each: one sentence a reason.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/tls/peer_check.h"
#include "common/tls/tls.h"
#include "common/wire/status.h"
#include "dpnmf/v1/curator.grpc.pb.h"
#include "gtest/gtest.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

// Refusals of peers that are reported to the log, in order.
class Told {
 public:
  Told() {
    OnPeerRefused([this](const std::string& code, const std::string& sentence) {
      const std::lock_guard lock(mutex_);
      codes_.push_back(code);
      last_ = sentence;
      changed_.notify_all();
    });
  }
  ~Told() { OnPeerRefused(nullptr); }
  // The next code that has not been taken; "" after ten seconds without one.
  std::string Next() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, seconds(10),
                      [&] { return taken_ < codes_.size(); });
    if (taken_ == codes_.size()) return "";
    const std::string code = codes_[taken_];
    taken_ = codes_.size();  // gRPC may have tried more than once
    return code;
  }
  std::string last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> codes_;
  std::size_t taken_ = 0;
  std::string last_;
};

class CheckingService final : public v1::CuratorService::Service {
 public:
  explicit CheckingService(TlsFiles files) : files_(std::move(files)) {}

 private:
  grpc::Status ListDatasets(grpc::ServerContext* context,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply*) override {
    return ToGrpc(CheckPeerStillValid(*context, files_));
  }
  const TlsFiles files_;
};

class RefusedPeers : public ::testing::Test {
 protected:
  RefusedPeers() : files_(ca_.Issue("server", "--dns localhost")) {
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~RefusedPeers() override {
    if (server_ != nullptr) server_->Shutdown(system_clock::now() + seconds(2));
  }
  void Serve() {
    const auto credentials = ServerTls(files_);
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    service_ = std::make_unique<CheckingService>(files_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port_);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
  }
  void ServeWithList() {
    MakeList();
    files_.crl_file = ca_.directory() + "/ca/ca.crl";
    Serve();
  }
  void MakeList() { Certs("crl " + ca_.directory()); }
  void Certs(const std::string& arguments) {
    std::string output;
    ASSERT_EQ(RunShell(CertsScript() + " " + arguments, &output), 0) << output;
  }
  // A peer that keeps to none of this library's rules.
  std::unique_ptr<v1::CuratorService::Stub> Dial(const TlsFiles& client) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadAll(ca_.ca_file());
    if (!client.certificate_file.empty()) {
      options.pem_cert_chain = ReadAll(client.certificate_file);
      options.pem_private_key = ReadAll(client.key_file);
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::CuratorService::NewStub(
        grpc::CreateCustomChannel(absl::StrCat("localhost:", port_),
                                  grpc::SslCredentials(options), arguments));
  }
  static absl::Status Ask(v1::CuratorService::Stub* stub) {
    grpc::ClientContext context;
    context.set_deadline(system_clock::now() + seconds(20));
    v1::ListDatasetsReply reply;
    return FromGrpc(stub->ListDatasets(&context, {}, &reply));
  }
  absl::Status Ask(const TlsFiles& client) { return Ask(Dial(client).get()); }

  TestCertificates ca_;
  TlsFiles files_;
  Told told_;
  int port_ = 0;
  std::unique_ptr<CheckingService> service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(RefusedPeers, EachReasonHasItsOwnSentenceInTheLog) {
  TestCertificates other;
  ServeWithList();
  const TlsFiles good = ca_.IssueOdd("good", "subjectAltName=DNS:alice");
  const TlsFiles revoked = ca_.Issue("revoked", "--dns bob");
  Certs("revoke " + ca_.directory() + " " + revoked.certificate_file);
  ASSERT_TRUE(Ask(good).ok()) << Ask(good);
  const struct {
    TlsFiles files;
    const char* code;
  } cases[] = {
      {other.Issue("alice"), "certificate-unknown-ca"},
      {ca_.IssueOdd("expired", "subjectAltName=DNS:alice", -1),
       "certificate-expired"},
      {ca_.IssueForTheFuture("future"), "certificate-not-yet-valid"},
      {ca_.IssueOdd("nameless", ""), "certificate-nameless"},
      {ca_.IssueOdd("server_only",
                    "subjectAltName=DNS:alice\nextendedKeyUsage=serverAuth"),
       "certificate-wrong-purpose"},
      {revoked, "certificate-revoked"},
      {TlsFiles{}, "certificate-missing"}};
  for (const auto& c : cases) {
    EXPECT_EQ(ReasonCode(Ask(c.files)), "unreachable") << c.code;
    EXPECT_EQ(told_.Next(), c.code);
  }
  EXPECT_TRUE(Ask(good).ok());
  Ask(revoked).IgnoreError();
  EXPECT_EQ(told_.Next(), "certificate-revoked");
  EXPECT_NE(told_.last().find("dns:bob"), std::string::npos) << told_.last();
}

// The far end of a connection that speaks no more than this.
void SendTo(int port, const std::string& bytes) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(descriptor, reinterpret_cast<sockaddr*>(&address),
                    sizeof(address)),
            0);
  ASSERT_GT(send(descriptor, bytes.data(), bytes.size(), 0), 0);
  char answer[256];
  while (recv(descriptor, answer, sizeof(answer), 0) > 0) {
  }
  close(descriptor);
}

TEST_F(RefusedPeers, AnOlderProtocolAndPlainTextHaveTheirSentencesToo) {
  Serve();
  SendTo(port_, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(told_.Next(), "tls-missing");
  // A client that offers TLS 1.2 and nothing newer.
  std::string output;
  RunShell(absl::StrCat("OPENSSL_CONF=/dev/null openssl s_client -tls1_2 "
                        "-connect 127.0.0.1:",
                        port_, " </dev/null"),
           &output);
  EXPECT_EQ(told_.Next(), "tls-too-old") << output;
}

TEST_F(RefusedPeers, AListThatIsGoneOrExpiredLetsNobodyIn) {
  ServeWithList();
  const TlsFiles alice = ca_.Issue("alice");
  ASSERT_TRUE(Ask(alice).ok()) << Ask(alice);
  const std::string list = ReadAll(files_.crl_file);
  const auto put = [&](const std::string& content) {
    std::filesystem::remove(files_.crl_file);
    WriteAll(files_.crl_file, content);
  };
  put("");
  EXPECT_EQ(ReasonCode(Ask(alice)), "unreachable");
  EXPECT_EQ(told_.Next(), "revocation-list-missing");
  std::filesystem::remove(files_.crl_file);
  EXPECT_EQ(ReasonCode(Ask(alice)), "unreachable");
  EXPECT_EQ(told_.Next(), "revocation-list-missing");
  // A list of another CA with the same name: not signed by this CA.
  TestCertificates other;
  Certs("crl " + other.directory());
  put(ReadAll(other.directory() + "/ca/ca.crl"));
  EXPECT_EQ(ReasonCode(Ask(alice)), "unreachable");
  EXPECT_EQ(told_.Next(), "revocation-list-missing");
  put(list);
  EXPECT_TRUE(Ask(alice).ok()) << Ask(alice);

  const std::vector<X509Pointer> chain =
      ReadCertificates(alice.certificate_file).value();
  const TrustFiles trust{ca_.ca_file(), files_.crl_file};
  const std::int64_t now = std::time(nullptr), day = 24 * 3600;
  EXPECT_TRUE(
      CheckPeerCertificate(chain, PeerKind::kClient, trust, now + 29 * day)
          .ok());
  EXPECT_EQ(ReasonCode(CheckPeerCertificate(chain, PeerKind::kClient, trust,
                                            now + 31 * day)),
            "revocation-list-expired");
}

TEST_F(RefusedPeers, ARevokedPeerIsRefusedOnTheConnectionThatItHas) {
  ServeWithList();
  const TlsFiles alice = ca_.Issue("alice");
  const auto stub = Dial(alice);
  ASSERT_TRUE(Ask(stub.get()).ok());
  Certs("revoke " + ca_.directory() + " " + alice.certificate_file);
  EXPECT_EQ(ReasonCode(Ask(stub.get())), "certificate-revoked");
}

TEST_F(RefusedPeers, AServerDoesNotStartWithABadList) {
  const auto code_with = [&](const std::string& path) {
    TlsFiles files = files_;
    files.crl_file = path;
    return ReasonCode(ServerTls(files).status());
  };
  EXPECT_EQ(code_with("/nonexistent/ca.crl"), "tls-crl-invalid");
  EXPECT_EQ(code_with(ca_.ca_file()), "tls-crl-invalid");
  TestCertificates other;
  Certs("crl " + other.directory());
  EXPECT_EQ(code_with(other.directory() + "/ca/ca.crl"), "tls-crl-invalid");
  MakeList();
  EXPECT_EQ(code_with(ca_.directory() + "/ca/ca.crl"), "");
}

// An intermediate CA between the trusted one and the peer: its certificate
// travels with the peer's.
TEST_F(RefusedPeers, AnIntermediateIsFollowedAndItsPurposeHeld) {
  Serve();
  const TlsFiles leaf = ca_.Issue("leaf");
  const std::string work = ca_.directory() + "/leaf";
  const auto chain_with = [&](const std::string& middle_extensions) {
    WriteAll(work + "/middle.ext", middle_extensions);
    WriteAll(work + "/leaf.ext", "subjectAltName=DNS:alice\n");
    const std::string root = ca_.directory() + "/ca/ca";
    std::string output;
    EXPECT_EQ(
        RunShell(
            absl::StrCat(
                "cd ", work,
                " && openssl req -new -newkey rsa:2048 -noenc -keyout mid.key "
                "-subj /CN=middle -out mid.csr && openssl x509 -req -in "
                "mid.csr -CA ",
                root, ".crt -CAkey ", root,
                ".key -set_serial 5 -days 9 -extfile middle.ext -out mid.crt "
                "&& openssl req -new -key tls.key -subj /CN=x -out leaf.csr && "
                "openssl x509 -req -in leaf.csr -CA mid.crt -CAkey mid.key "
                "-set_serial 6 -days 9 -extfile leaf.ext -out own.crt && cat "
                "own.crt mid.crt > chain.crt"),
            &output),
        0)
        << output;
    return TlsFiles{.certificate_file = work + "/chain.crt",
                    .key_file = leaf.key_file};
  };
  // The CA of certs.sh signs no other CA: pathlen 0.
  EXPECT_EQ(ReasonCode(Ask(chain_with("basicConstraints=critical,CA:TRUE\n"))),
            "unreachable");
  EXPECT_EQ(told_.Next(), "certificate-refused");
  EXPECT_EQ(ReasonCode(Ask(chain_with("basicConstraints=critical,CA:FALSE\n"))),
            "unreachable");
  EXPECT_NE(told_.Next(), "");
}

// The other way round: what a client's log says of a server.
TEST_F(RefusedPeers, AServerOfAnotherNameOrARevokedOneHasItsSentence) {
  files_ = ca_.Issue("server", "--dns other.example --dns localhost");
  MakeList();
  Serve();
  TlsFiles alice = ca_.Issue("alice");
  alice.crl_file = ca_.directory() + "/ca/ca.crl";
  const auto ask = [&](const char* host) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = v1::CuratorService::NewStub(grpc::CreateCustomChannel(
        absl::StrCat(host, ":", port_), ChannelTls(alice).value(), arguments));
    return ReasonCode(Ask(stub.get()));
  };
  ASSERT_EQ(ask("localhost"), "");
  EXPECT_EQ(ask("127.0.0.1"), "certificate-wrong-name");
  EXPECT_EQ(told_.Next(), "certificate-wrong-name");
  Certs("revoke " + ca_.directory() + " " + files_.certificate_file);
  EXPECT_EQ(ask("localhost"), "certificate-revoked");
  EXPECT_EQ(told_.Next(), "certificate-revoked");
  TestCertificates other;
  alice = other.Issue("alice");
  EXPECT_EQ(ask("localhost"), "certificate-refused");
  EXPECT_EQ(told_.Next(), "certificate-refused");
}

TEST(PeerName, IsTheOneThatWasDialled) {
  TestCertificates ca;
  const auto chain =
      ReadCertificates(
          ca.Issue("a", "--dns a.example --ip 10.0.0.1").certificate_file)
          .value();
  EXPECT_TRUE(CheckPeerName(*chain.front(), "a.example").ok());
  EXPECT_TRUE(CheckPeerName(*chain.front(), "10.0.0.1").ok());
  const absl::Status wrong = CheckPeerName(*chain.front(), "b.example");
  EXPECT_EQ(ReasonCode(wrong), "certificate-wrong-name");
  EXPECT_NE(wrong.message().find("states (a.example, 10.0.0.1)"),
            std::string::npos)
      << wrong;
}

}  // namespace
}  // namespace dpnmf
