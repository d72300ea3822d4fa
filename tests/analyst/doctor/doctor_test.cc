#include "client/doctor/doctor.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/wire/status.h"
#include "dpnmf/v1/analyst.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tls/test_certificates.h"

namespace dpnmf::cli {
namespace {

// An analyst's server that answers ListDatasets with a version or a refusal.
class FakeAnalyst final : public v1::AnalystService::Service {
 public:
  explicit FakeAnalyst(const TlsFiles& files)
      : FakeAnalyst(ServerTls(files).value()) {}
  explicit FakeAnalyst(std::shared_ptr<grpc::ServerCredentials> credentials) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials, &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return absl::StrCat("localhost:", port_); }
  absl::Status answer;
  std::string version = "1.2.3";

 private:
  grpc::Status ListDatasets(grpc::ServerContext*,
                            const v1::ListDatasetsRequest*,
                            v1::ListDatasetsReply* reply) override {
    reply->set_version(version);
    return ToGrpc(answer);
  }
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    for (const char* name :
         {"grpc_proxy", "https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy",
          "ALL_PROXY", "no_grpc_proxy", "no_proxy", "NO_PROXY"})
      unsetenv(name);
    options_.tls = ca_.Issue("alice", "--dns alice.client");
    options_.version = "1.2.3";
    options_.data_directory = ca_.directory();
  }
  // A server with a certificate for localhost, which `options_` then dials.
  std::unique_ptr<FakeAnalyst> Serve() {
    auto server =
        std::make_unique<FakeAnalyst>(ca_.Issue("analyst", "--dns localhost"));
    options_.server = server->address();
    return server;
  }
  // The named check; its result is "absent" if it was left out.
  v1::DoctorCheck Find(const std::string& name) {
    if (report_.checks().empty()) report_ = RunDoctor(options_);
    for (const v1::DoctorCheck& check : report_.checks()) {
      if (check.name() == name) return check;
    }
    v1::DoctorCheck absent;
    absent.set_result("absent");
    return absent;
  }
  void ExpectFailed(const std::string& name, const std::string& finding) {
    const v1::DoctorCheck check = Find(name);
    EXPECT_EQ(check.result(), "failed") << report_.DebugString();
    EXPECT_TRUE(absl::StrContains(check.finding(), finding)) << check.finding();
    EXPECT_NE(check.remedy(), "");
    EXPECT_FALSE(report_.ok());
  }

  TestCertificates ca_;
  DoctorOptions options_;
  v1::DoctorReport report_;
};

TEST_F(DoctorTest, FindsNothingWrongWhereAllIsWell) {
  const auto server = Serve();
  report_ = RunDoctor(options_);
  EXPECT_TRUE(report_.ok());
  EXPECT_EQ(report_.checks_size(), 21);
  for (const v1::DoctorCheck& check : report_.checks()) {
    EXPECT_EQ(check.result(), "ok") << check.DebugString();
    EXPECT_NE(check.finding(), "") << check.name();
    EXPECT_EQ(check.remedy(), "") << check.name();
  }
  EXPECT_TRUE(absl::StrContains(Find("certificate names").finding(),
                                "dns:alice.client"));
}

TEST_F(DoctorTest, SaysWhichFileIsMissing) {
  options_.tls.key_file = "/nonexistent/tls.key";
  options_.tls.ca_file = "";
  ExpectFailed("key file", "/nonexistent/tls.key");
  ExpectFailed("ca file", "No file is named");
  EXPECT_EQ(Find("certificate file").result(), "ok");
  EXPECT_EQ(Find("certificate key").result(), "absent");
}

TEST_F(DoctorTest, LooksAtTheKeysMode) {
  chmod(options_.tls.key_file.c_str(), 0440);
  EXPECT_EQ(Find("key mode").result(), "warning");
  report_.Clear();
  chmod(options_.tls.key_file.c_str(), 0444);
  ExpectFailed("key mode", "Every user");
}

TEST_F(DoctorTest, CountsTheDaysThatACertificateHasLeft) {
  options_.tls = ca_.Issue("short", "--days 10");
  const v1::DoctorCheck check = Find("certificate dates");
  EXPECT_EQ(check.result(), "warning");
  EXPECT_THAT(check.finding(), ::testing::ContainsRegex(" (9|10) days left"));
}

TEST_F(DoctorTest, FindsAnExpiredCertificateAndTheServersRefusal) {
  const auto server = Serve();
  options_.tls = ca_.IssueOdd("expired", "subjectAltName=DNS:alice", -1);
  ExpectFailed("certificate dates", "expired on");
  ExpectFailed("certificate signature", "is signed by the CA");
  ExpectFailed("certificate signature", "has expired");
  EXPECT_EQ(Find("certificate signature").remedy(), "Have it renewed.");
  ExpectFailed("certificate accepted", "connection was closed");
  EXPECT_EQ(Find("service").result(), "absent");
}

TEST_F(DoctorTest, FindsACertificateWithoutAName) {
  const auto server = Serve();
  options_.tls = ca_.IssueOdd("nameless", "");
  ExpectFailed("certificate names", "no DNS or URI entry");
  ExpectFailed("certificate accepted", "connection was closed");
}

TEST_F(DoctorTest, FindsACertificateThatIsForServersAlone) {
  options_.tls = ca_.IssueOdd(
      "server_only", "subjectAltName=DNS:a\nextendedKeyUsage=serverAuth");
  ExpectFailed("certificate purpose", "client may not use it");
}

TEST_F(DoctorTest, FindsACertificateOfAnotherCa) {
  const auto server = Serve();
  TestCertificates other;
  const TlsFiles stranger = other.Issue("alice");
  options_.tls.certificate_file = stranger.certificate_file;
  options_.tls.key_file = stranger.key_file;
  ExpectFailed("certificate signature", "not signed by the CA");
  ExpectFailed("certificate accepted", "connection was closed");
  EXPECT_EQ(Find("server signature").result(), "ok");
}

TEST_F(DoctorTest, FindsAServerOfAnotherCa) {
  TestCertificates other;
  FakeAnalyst server(other.Issue("analyst", "--dns localhost"));
  options_.server = server.address();
  ExpectFailed("server signature", "not signed by the CA");
}

TEST_F(DoctorTest, FindsAKeyOfAnotherCertificate) {
  options_.tls.key_file = ca_.Issue("bob").key_file;
  ExpectFailed("certificate key", "not the private key");
}

TEST_F(DoctorTest, FindsAServerOfAnotherName) {
  FakeAnalyst server(
      ca_.Issue("analyst", "--dns analyst.example --ip 10.0.0.7"));
  options_.server = server.address();
  ExpectFailed("server name", "analyst.example, 10.0.0.7");
  ExpectFailed("service", "not for the name localhost");
  EXPECT_TRUE(absl::StrContains(Find("service").remedy(),
                                "Connect to a name that it states"));
}

TEST_F(DoctorTest, FindsABadAddressNameAndPort) {
  options_.server = "localhost";
  ExpectFailed("address", "localhost");
  report_.Clear();
  // RFC 6761: .invalid never resolves.
  options_.server = "nowhere.invalid:7001";
  ExpectFailed("name resolution", "nowhere.invalid");
  EXPECT_EQ(Find("port").result(), "absent");
}

// A bound port on loopback; nobody else can take it meanwhile.
class BoundPort {
 public:
  BoundPort() : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~BoundPort() { close(socket_); }
  void Listen() { EXPECT_EQ(listen(socket_, 1), 0); }
  std::string address() const { return address_; }

 private:
  int socket_;
  std::string address_;
};

TEST_F(DoctorTest, FindsAPortThatNobodyListensOn) {
  const BoundPort port;
  options_.server = port.address();
  ExpectFailed("port", "refused");
}

TEST_F(DoctorTest, DoesNotWaitForAServerThatIsSilent) {
  BoundPort port;
  port.Listen();
  options_.server = port.address();
  options_.timeout = std::chrono::milliseconds(100);
  ExpectFailed("tls handshake", "no answer in time");
}

TEST_F(DoctorTest, NamesAProxyAndUsesItOnlyIfItIsAskedFor) {
  const auto server = Serve();
  const BoundPort nobody;
  setenv("https_proxy", ("http://ann:secret@" + nobody.address()).c_str(), 1);
  EXPECT_EQ(Find("service").result(), "ok") << report_.DebugString();
  EXPECT_EQ(Find("proxy").result(), "ok");
  EXPECT_TRUE(absl::StrContains(
      Find("proxy").finding(),
      absl::StrCat("Not used: the proxy http://", nobody.address())));
  options_.use_proxy = true;
  report_.Clear();
  ExpectFailed("proxy connection", "that https_proxy names: Nothing accepts");
  EXPECT_TRUE(absl::StrContains(Find("proxy connection").remedy(),
                                "no_proxy=localhost"));
  EXPECT_EQ(Find("service").result(), "absent");
  setenv("no_proxy", "localhost", 1);
  report_.Clear();
  EXPECT_EQ(Find("service").result(), "ok") << report_.DebugString();
  unsetenv("no_proxy");
  setenv("https_proxy", "socks5://ann:secret@localhost:1", 1);
  report_.Clear();
  ExpectFailed("proxy", "https_proxy names no HTTP proxy");
  EXPECT_FALSE(absl::StrContains(report_.DebugString(), "secret"));
  unsetenv("https_proxy");
}

TEST_F(DoctorTest, FindsAServerThatDoesNotSpeakTls) {
  FakeAnalyst server(grpc::InsecureServerCredentials());
  options_.server = server.address();
  EXPECT_EQ(Find("port").result(), "ok");
  ExpectFailed("tls handshake", "handshake failed");
}

TEST_F(DoctorTest, FindsAClockThatIsWrong) {
  const auto server = Serve();
  options_.unix_seconds = [] { return std::time(nullptr) - 86400; };
  ExpectFailed("clock", "before the server's certificate became valid");
  ExpectFailed("certificate dates", "not valid before");
  report_.Clear();
  options_.unix_seconds = [] {
    return std::time(nullptr) + std::int64_t{86400} * 5000;
  };
  EXPECT_EQ(Find("clock").result(), "warning");
  ExpectFailed("server dates", "expired on");
}

TEST_F(DoctorTest, WarnsOfAnotherVersion) {
  const auto server = Serve();
  server->version = "0.9";
  const v1::DoctorCheck check = Find("version");
  EXPECT_EQ(check.result(), "warning");
  EXPECT_TRUE(absl::StrContains(check.finding(), "0.9")) << check.finding();
  EXPECT_TRUE(report_.ok());
}

TEST_F(DoctorTest, RepeatsTheServersRefusal) {
  const auto server = Serve();
  server->answer = Refusal(absl::StatusCode::kPermissionDenied, "role-denied",
                           "The identity dns:alice.client is not allowed.");
  ExpectFailed("service", "dns:alice.client is not allowed");
  EXPECT_EQ(Find("certificate accepted").result(), "ok");
}

TEST_F(DoctorTest, LooksAtTheDisk) {
  options_.data_directory = "/nonexistent";
  ExpectFailed("disk", "/nonexistent");
}

}  // namespace
}  // namespace dpnmf::cli
