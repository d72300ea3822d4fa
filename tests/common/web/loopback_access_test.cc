// The access to a page, without a server.
#include "common/web/loopback_access.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::uint32_t kPort = 4711;

// Returns the part between "http://" and the path.
std::string HostOf(const LoopbackAccess& access) {
  const std::string address = access.Address();
  return address.substr(7, address.find('/', 7) - 7);
}

class WebDoor : public ::testing::Test {
 protected:
  HttpRequest Request(const std::string& path) const {
    HttpRequest request;
    request.path = path;
    request.hosts = {HostOf(access_)};
    return request;
  }
  HttpRequest WithToken() const {
    HttpRequest request = Request("/");
    const std::string address = access_.Address();
    request.query["token"] = address.substr(address.find('=') + 1);
    return request;
  }
  // Opens the page and returns the call for the key.
  HttpRequest KeyCall() {
    const std::string cookie =
        access_.Admit(WithToken())->headers.at("Set-Cookie");
    HttpRequest call = Request("/api/key");
    call.method = "POST";
    call.content_type = "application/json";
    call.cookie = "other=1; " + cookie.substr(0, cookie.find(';'));
    return call;
  }
  // Opens the page, takes the key and returns a call of the session.
  HttpRequest Call() {
    const HttpRequest asked = KeyCall();
    HttpRequest call = Request("/api/runs");
    call.cookie = asked.cookie;
    call.key = KeyIn(access_.Admit(asked));
    return call;
  }
  static std::string KeyIn(const std::optional<HttpReply>& reply) {
    return reply.value().body.substr(std::string("{'key':'").size(), 64);
  }
  int StatusOf(const HttpRequest& request) {
    const auto reply = access_.Admit(request);
    return reply.has_value() ? reply->status : 200;
  }

  LoopbackAccess access_{kPort, "dpnmf web"};
};

TEST_F(WebDoor, TheAddressIsANameOfItsOwnAndAToken) {
  EXPECT_THAT(
      access_.Address(),
      MatchesRegex(
          "http://[0-9a-f]{32}\\.localhost:4711/\\?token=[0-9a-f]{64}"));
  const LoopbackAccess next(kPort, "dpnmf web");
  EXPECT_NE(HostOf(access_), HostOf(next));
  EXPECT_NE(access_.Address().substr(access_.Address().find('=')),
            next.Address().substr(next.Address().find('=')));
}

// Browsers leave the port of HTTP out of Host.
TEST_F(WebDoor, ThePortOfHttpIsNotPartOfTheHost) {
  LoopbackAccess access(80, "dpnmf web");
  EXPECT_THAT(HostOf(access), MatchesRegex("[0-9a-f]{32}\\.localhost"));
  HttpRequest request = Request("/icon.svg");
  request.hosts = {HostOf(access)};
  EXPECT_FALSE(access.Admit(request).has_value());
}

TEST_F(WebDoor, TheTokenGivesTheCookieOnceAndNoKey) {
  const auto first = access_.Admit(WithToken());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->status, 303);
  EXPECT_EQ(first->headers.at("Location"), "/");
  EXPECT_EQ(first->body, "");
  EXPECT_THAT(
      first->headers.at("Set-Cookie"),
      MatchesRegex("dpnmf_web=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict"))
      << "and no Domain";
  const auto second = access_.Admit(WithToken());
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->status, 403);
  EXPECT_EQ(second->headers.count("Set-Cookie"), 0u);
}

TEST_F(WebDoor, AWrongTokenIsRefusedAndTheRightOneStillWorks) {
  HttpRequest wrong = Request("/");
  for (const char* token : {"", "0", "token"}) {
    wrong.query["token"] = token;
    EXPECT_EQ(StatusOf(wrong), 403);
  }
  EXPECT_EQ(StatusOf(WithToken()), 303);
}

TEST_F(WebDoor, TheKeyIsToldToOneTabWithTheCookie) {
  const HttpRequest call = KeyCall();
  HttpRequest other = call;
  other.cookie = "";
  EXPECT_EQ(StatusOf(other), 401);
  other = call;
  other.origin = "http://evil.example";
  EXPECT_EQ(StatusOf(other), 403);
  other = call;
  other.content_type = "text/plain";
  EXPECT_EQ(StatusOf(other), 415);
  other = call;
  other.method = "GET";  // any page may cause one
  EXPECT_EQ(StatusOf(other), 403);
  const auto told = access_.Admit(call);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->status, 200);
  EXPECT_THAT(told->body, MatchesRegex(R"(\{"key":"[0-9a-f]{64}"\})"));
  HttpRequest use = Request("/api/runs");
  use.cookie = call.cookie;
  use.key = KeyIn(told);
  EXPECT_EQ(StatusOf(use), 200);
  const auto again = access_.Admit(call);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->status, 403);
  EXPECT_THAT(again->body, AllOf(HasSubstr("web-key"),
                                 HasSubstr("start dpnmf web again and open "
                                           "the new address")));
}

// A reply that was lost on its way has opened no tab.
TEST_F(WebDoor, TheKeyIsToldAgainUntilACallCarriesIt) {
  const HttpRequest asked = KeyCall();
  HttpRequest call = Request("/api/runs");
  call.cookie = asked.cookie;
  for (int lost = 0; lost < 3; ++lost) {
    call.key = std::string(64, '0');
    EXPECT_EQ(StatusOf(call), 403);
    call.key = KeyIn(access_.Admit(asked));
  }
  EXPECT_EQ(StatusOf(call), 200);
  EXPECT_EQ(StatusOf(asked), 403);
  EXPECT_EQ(StatusOf(call), 200) << "the tab that has it goes on";
}

TEST_F(WebDoor, AUsedAddressLeadsTheSameBrowserBackWithoutTheKey) {
  HttpRequest again = WithToken();
  again.cookie = Call().cookie;
  const auto reply = access_.Admit(again);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->headers.at("Location"), "/");
}

TEST_F(WebDoor, ACallNeedsCookieAndKey) {
  const HttpRequest call = Call();
  EXPECT_EQ(StatusOf(call), 200);
  HttpRequest without = call;
  without.cookie = "";
  EXPECT_EQ(StatusOf(without), 401);
  without = call;
  without.key = "";
  EXPECT_EQ(StatusOf(without), 403);
  without.key = std::string(64, '0');
  EXPECT_EQ(StatusOf(without), 403);
  // The page itself needs the cookie alone.
  without.path = "/";
  EXPECT_EQ(StatusOf(without), 200);
}

TEST_F(WebDoor, AnotherHostIsRefusedWhateverElseItHasAndGetsNoFile) {
  const std::string host = HostOf(access_);
  const std::string name = host.substr(0, host.find(':'));
  const HttpRequest call = Call();
  for (const std::vector<std::string>& hosts :
       std::vector<std::vector<std::string>>{
           {},  // as HTTP/1.0 may be
           {""},
           {"127.0.0.1:4711"},
           {"localhost:4711"},
           {"[::1]:4711"},
           {"127.0.0.1"},
           {"localhost"},
           {name},
           {name + ":80"},
           {name + ".:4711"},
           {"x." + host},
           {host + "0"},
           {"X" + host.substr(1)},
           {std::string(32, '0') + ".localhost:4711"},
           {"evil.example:4711"},
           {host, host},
           {host, "evil.example"}}) {
    for (HttpRequest request : {call, WithToken()}) {
      for (const char* path : {"/", "/api/runs", "/api/key", "/icon.svg",
                               "/closed.css", "/page.css", "/calls.js"}) {
        request.path = path;
        request.hosts = hosts;
        const auto reply = access_.Admit(request);
        ASSERT_TRUE(reply.has_value()) << path;
        EXPECT_EQ(reply->status, 421) << path;
        EXPECT_EQ(reply->headers.size(), 0u) << path;
        EXPECT_THAT(reply->body, Not(HasSubstr("<"))) << path;
      }
    }
  }
}

TEST_F(WebDoor, AnotherOriginIsRefused) {
  HttpRequest call = Call();
  call.origin = "http://" + HostOf(access_);
  EXPECT_EQ(StatusOf(call), 200);
  const std::string host = HostOf(access_);
  for (const std::string& origin :
       {std::string("null"), "https://" + host, "http://" + host + "2",
        std::string("http://127.0.0.1:4711"),
        std::string("http://localhost:4711"), "http://x." + host}) {
    call.origin = origin;
    EXPECT_EQ(StatusOf(call), 403) << origin;
  }
}

TEST_F(WebDoor, OnlyCallsTakePostAndOnlyAsJson) {
  HttpRequest post = Call();
  post.method = "POST";
  EXPECT_EQ(StatusOf(post), 415);
  post.content_type = "text/plain";
  EXPECT_EQ(StatusOf(post), 415);
  post.content_type = "application/json";
  EXPECT_EQ(StatusOf(post), 200);
  post.path = "/";
  EXPECT_EQ(StatusOf(post), 405);
  post.path = "/api/runs";
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"}) {
    post.method = method;
    EXPECT_EQ(StatusOf(post), 405) << method;
  }
}

TEST_F(WebDoor, ThePolicyAllowsOnlyThisProgramsFiles) {
  const std::string policy =
      LoopbackAccess::Headers().at("Content-Security-Policy");
  EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'self';"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("*")));
}

}  // namespace
}  // namespace dpnmf
