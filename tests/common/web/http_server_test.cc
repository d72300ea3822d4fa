// The server of pages, over sockets: what fails ends one reply, not the
// program; and it holds its port on both loopback addresses or on neither.
#include "common/web/http_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

// Errors of the next calls of bind() for a port of [::1], the first of them
// first; 0: the call is made. And what socket() says of IPv6, or 0.
std::vector<int> six_errors;
int no_six = 0;
// The socket that was bound last.
int last_bound = -1;

int Failed(int error) {
  errno = error;
  return -1;
}

}  // namespace

// Replace the functions of the C library.
extern "C" int bind(int socket, const sockaddr* address,
                    socklen_t length) noexcept {
  const bool six = address->sa_family == AF_INET6;
  if (six && !six_errors.empty()) {
    const int error = six_errors.front();
    six_errors.erase(six_errors.begin());
    if (error != 0) return Failed(error);
  }
  last_bound = socket;
  return static_cast<int>(::syscall(SYS_bind, socket, address, length));
}
extern "C" int socket(int family, int type, int protocol) noexcept {
  if (family == AF_INET6 && no_six != 0) return Failed(no_six);
  return static_cast<int>(::syscall(SYS_socket, family, type, protocol));
}

namespace dpnmf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A socket of another program. `family`: AF_INET or AF_INET6.
class Peer {
 public:
  explicit Peer(int family)
      : family_(family),
        socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Peer() { ::close(socket_); }

  int get() const { return socket_; }
  bool Connect(std::uint32_t port) const {
    return With(port, [this](const sockaddr* address, socklen_t length) {
      return ::connect(socket_, address, length) == 0;
    });
  }
  bool Listen(std::uint32_t port) const {
    const int yes = 1;
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return With(port, [this](const sockaddr* address, socklen_t length) {
      return ::syscall(SYS_bind, socket_, address, length) == 0 &&
             ::listen(socket_, 1) == 0;
    });
  }

 private:
  template <typename Call>
  bool With(std::uint32_t port, Call call) const {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(port));
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = four.sin_port;
    six.sin6_addr = in6addr_loopback;
    return family_ == AF_INET
               ? call(reinterpret_cast<const sockaddr*>(&four), sizeof four)
               : call(reinterpret_cast<const sockaddr*>(&six), sizeof six);
  }

  const int family_;
  const int socket_;
};

bool HasSix() {
  static const bool has = Peer(AF_INET6).Listen(0);
  return has;
}

// The families of the loopback addresses that this machine has.
std::vector<int> Families() {
  return HasSix() ? std::vector<int>{AF_INET, AF_INET6}
                  : std::vector<int>{AF_INET};
}

// A port that is free on both addresses. The system gives it to nobody who
// names none, and no other test takes it: a name in the abstract namespace is
// held for each port in use, as tests/web/browsing.py does.
class FreePort {
 public:
  FreePort() {
    while (!(IsClaimed() && IsFree())) ++port_;
  }
  ~FreePort() { ::close(claim_); }
  FreePort(const FreePort&) = delete;
  FreePort& operator=(const FreePort&) = delete;

  std::uint32_t get() const { return port_; }

 private:
  bool IsClaimed() {
    ::close(claim_);
    claim_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::string name = absl::StrCat("dpnmf-test-port-", port_);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const std::size_t length =
        offsetof(sockaddr_un, sun_path) + 1 + name.size();
    return ::syscall(SYS_bind, claim_, &address, length) == 0;
  }
  bool IsFree() const {
    for (const int family : Families())
      if (!Peer(family).Listen(port_)) return false;
    return true;
  }

  std::uint32_t port_ = 20000;
  int claim_ = -1;
};

HttpReply ReplyTo(const HttpRequest& request) {
  if (request.path == "/reply") throw std::bad_alloc();
  if (request.path == "/events") {
    return {.events = [](EventWriter* writer) {
      writer->Send("1");
      throw std::bad_alloc();
    }};
  }
  return {.body = "good"};
}

const HttpServer::Handlers kHandlers = {
    .admit = [](const HttpRequest&) { return std::nullopt; },
    .handle = ReplyTo};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    thread_ = std::thread([this] { served_ = server_->Serve(kHandlers); });
  }
  ~HttpServerTest() override {
    server_->Stop();
    thread_.join();
    EXPECT_EQ(served_, absl::OkStatus());
  }

  // All that the server sends until it closes the connection.
  std::string Get(const std::string& path, int family = AF_INET) {
    const Peer peer(family);
    EXPECT_TRUE(peer.Connect(server_->port()));
    const std::string request = absl::StrCat(
        "GET ", path,
        " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(::send(peer.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string reply;
    char bytes[4096];
    for (ssize_t n; (n = ::recv(peer.get(), bytes, sizeof bytes, 0)) > 0;)
      reply.append(bytes, static_cast<std::size_t>(n));
    return reply;
  }

  const std::unique_ptr<HttpServer> server_ = HttpServer::Listen(0).value();
  absl::Status served_;
  std::thread thread_;
};

TEST_F(HttpServerTest, AnswersAtBothLoopbackAddresses) {
  for (const int family : Families()) {
    EXPECT_THAT(Get("/", family), HasSubstr("good"));
    EXPECT_THAT(Get("/events", family), HasSubstr("data: 1\n\n"));
    EXPECT_FALSE(Peer(family).Listen(server_->port()));
  }
}

TEST(ListensAt, BothAddressesBeforeItServes) {
  const auto server = HttpServer::Listen(0).value();
  for (const int family : Families()) {
    EXPECT_TRUE(Peer(family).Connect(server->port()));
    EXPECT_FALSE(Peer(family).Listen(server->port()));
  }
}

TEST(ListensAt, NoPortOfWhichAnotherProgramHoldsOneAddress) {
  for (const int family : Families()) {
    const FreePort free_port;
    const std::uint32_t port = free_port.get();
    const Peer other(family);
    ASSERT_TRUE(other.Listen(port));
    const auto server = HttpServer::Listen(port);
    ASSERT_FALSE(server.ok());
    EXPECT_EQ(ReasonCode(server.status()), "port-unavailable");
    EXPECT_EQ(std::string(server.status().message()),
              absl::StrCat("Port ", port, " of ",
                           family == AF_INET ? "127.0.0.1" : "[::1]",
                           " cannot be used; give another --port, or leave it "
                           "out to take a free one."));
    // Addresses that the failed call held itself are free again.
    for (const int free : Families())
      EXPECT_EQ(Peer(free).Listen(port), free != family);
  }
}

TEST(ListensAt, AnotherFreePortIfTheFirstIsTakenOnOneAddress) {
  // The probe for [::1], then three ports of it that somebody holds.
  six_errors = {0, EADDRINUSE, 0, EADDRINUSE, 0, EADDRINUSE};
  const auto server = HttpServer::Listen(0);
  EXPECT_EQ(six_errors.empty(), HasSix());
  six_errors.clear();
  ASSERT_TRUE(server.ok()) << server.status();
  for (const int family : Families())
    EXPECT_TRUE(Peer(family).Connect((*server)->port()));
}

TEST(ListensAt, NoPortIfAllAreTakenOnOneAddress) {
  for (int i = 0; i < 1000; ++i) {
    six_errors.push_back(0);
    six_errors.push_back(EADDRINUSE);
  }
  const auto server = HttpServer::Listen(0);
  EXPECT_FALSE(six_errors.empty()) << "it tries without end";
  six_errors.clear();
  ASSERT_EQ(server.ok(), !HasSix());
  EXPECT_EQ(ReasonCode(server.status()), HasSix() ? "port-unavailable" : "");
}

TEST(ListensAt, TheOneAddressOfAMachineWithoutTheOther) {
  for (const int error : {0, EAFNOSUPPORT}) {  // turned off, or unknown
    const FreePort port;
    no_six = error;
    six_errors = {EADDRNOTAVAIL};
    const auto server = HttpServer::Listen(port.get());
    no_six = 0;
    six_errors.clear();
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_TRUE(Peer(AF_INET).Connect((*server)->port()));
    EXPECT_FALSE(Peer(AF_INET6).Connect((*server)->port()));
  }
}

TEST(ListensAt, BothAddressesIfTheProbeFailsForAnotherReason) {
  for (const int error : {EACCES, EADDRINUSE, ENOBUFS}) {
    six_errors = {error};
    const auto server = HttpServer::Listen(0);
    EXPECT_EQ(server.ok() && Peer(AF_INET6).Connect((*server)->port()),
              HasSix());
  }
  no_six = EMFILE;
  const auto server = HttpServer::Listen(0);
  no_six = 0;
  EXPECT_FALSE(server.ok());
}

TEST(ListensAt, NothingAfterStopWhetherItComesFirstOrLast) {
  for (const bool first : {true, false}) {
    const FreePort port;
    const auto server = HttpServer::Listen(port.get()).value();
    absl::Status served = absl::UnknownError("does not end");
    if (first) server->Stop();
    std::thread serving([&] { served = server->Serve(kHandlers); });
    server->Stop();
    serving.join();
    EXPECT_EQ(served, absl::OkStatus());
    for (const int family : Families())
      EXPECT_FALSE(Peer(family).Connect(server->port()));
  }
}

// An address that is no longer held ends the page, and its program says so.
TEST(ListensAt, NothingOnceOneAddressHasEnded) {
  const FreePort port;
  const auto server = HttpServer::Listen(port.get()).value();
  ASSERT_EQ(::shutdown(last_bound, SHUT_RDWR), 0);
  const absl::Status served = server->Serve(kHandlers);
  EXPECT_EQ(ReasonCode(served), "web-ended");
  EXPECT_EQ(served.message(),
            "The page has ended: its port failed. Start it again.");
  for (const int family : Families())
    EXPECT_FALSE(Peer(family).Connect(server->port()));
}

TEST_F(HttpServerTest, AnExceptionOfAHandlerIsAnInternalError) {
  EXPECT_THAT(Get("/reply"), AllOf(StartsWith("HTTP/1.1 500"),
                                   HasSubstr("\"code\":\"internal-error\"")));
  EXPECT_THAT(Get("/"), HasSubstr("good"));
}

TEST_F(HttpServerTest, AnExceptionBetweenEventsEndsTheStreamWithAnError) {
  EXPECT_THAT(Get("/events"),
              AllOf(HasSubstr("data: 1\n\n"), HasSubstr("\n\r\n0\r\n"),
                    HasSubstr("data: {\"error\":{\"code\":"
                              "\"internal-error\"")));
  EXPECT_THAT(Get("/"), HasSubstr("good"));
}

}  // namespace
}  // namespace dpnmf
