// The server of pages, over a socket: what fails ends one reply, not the
// program.
#include "common/web/http_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    thread_ = std::thread([this] {
      server_->Serve({.admit = [](const HttpRequest&) { return std::nullopt; },
                      .handle = ReplyTo});
    });
  }
  ~HttpServerTest() override {
    server_->Stop();
    thread_.join();
  }

  // All that the server sends until it closes the connection.
  std::string Get(const std::string& path) {
    const int peer = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(peer, reinterpret_cast<const sockaddr*>(&address),
                        sizeof address),
              0);
    const std::string request = absl::StrCat(
        "GET ", path,
        " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(::send(peer, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string reply;
    char bytes[4096];
    for (ssize_t n; (n = ::recv(peer, bytes, sizeof bytes, 0)) > 0;)
      reply.append(bytes, static_cast<std::size_t>(n));
    ::close(peer);
    return reply;
  }

  const std::unique_ptr<HttpServer> server_ = HttpServer::Listen(0).value();
  std::thread thread_;
};

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
