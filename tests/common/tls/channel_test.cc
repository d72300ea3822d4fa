#include "common/tls/channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/server/health.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Environment = std::map<std::string, std::string>;

class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() { Clear(); }
  ~ChannelTest() override { Clear(); }

  static void Set(const Environment& environment) {
    Clear();
    for (const auto& [name, value] : environment)
      setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  static void Clear() {
    for (const char* name :
         {"grpc_proxy", "https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy",
          "ALL_PROXY", "no_grpc_proxy", "no_proxy", "NO_PROXY"})
      unsetenv(name);
  }
};

TEST_F(ChannelTest, TheFirstVariableThatIsSetNamesTheProxy) {
  const struct {
    Environment environment;
    const char* text;  // ""; no proxy
    const char* user_info;
  } cases[] = {
      {{}, "", ""},
      {{{"https_proxy", ""}}, "", ""},
      {{{"http_proxy", "http://p:3128"}, {"https_proxy", "http://q:1"}},
       "the proxy http://q:1 that https_proxy names",
       ""},
      {{{"grpc_proxy", "http://g:1"}, {"https_proxy", "http://q:1"}},
       "the proxy http://g:1 that grpc_proxy names",
       ""},
      {{{"HTTPS_PROXY", "HTTP://p:1/"}},
       "the proxy http://p:1 that HTTPS_PROXY names",
       ""},
      {{{"http_proxy", "p:3128"}},
       "the proxy http://p:3128 that http_proxy names",
       ""},
      {{{"all_proxy", "http://[::1]:9"}},
       "the proxy http://[::1]:9 that all_proxy names",
       ""},
      // The password stays out of sentences.
      {{{"ALL_PROXY", "http://ann:secret@p:1"}},
       "the proxy http://p:1 that ALL_PROXY names",
       "ann:secret"},
      // Hosts that are exempt, by their end.
      {{{"https_proxy", "http://p:1"}, {"no_proxy", "a.b, lab.example"}},
       "",
       ""},
      {{{"https_proxy", "http://p:1"}, {"NO_PROXY", ".Example"}}, "", ""},
      {{{"https_proxy", "http://p:1"}, {"no_proxy", "*"}}, "", ""},
      {{{"https_proxy", "http://p:1"},
        {"no_grpc_proxy", "other"},
        {"no_proxy", "example"}},
       "the proxy http://p:1 that https_proxy names",
       ""},
      {{{"https_proxy", "http://p:1"}, {"no_proxy", "lab,, "}},
       "the proxy http://p:1 that https_proxy names",
       ""},
  };
  for (const auto& c : cases) {
    Set(c.environment);
    const auto proxy = ProxyOfEnvironment("analyst.lab.example");
    ASSERT_TRUE(proxy.ok()) << proxy.status();
    const Proxy none;
    EXPECT_EQ(proxy->has_value() ? (*proxy)->Text() : "", c.text);
    EXPECT_EQ(proxy->value_or(none).user_info, c.user_info);
    EXPECT_FALSE(ProxyFor("analyst.lab.example:7432", false)->has_value());
  }
}

TEST_F(ChannelTest, AVariableThatNamesNoHttpProxyIsRefusedIfItIsAskedFor) {
  for (const char* value :
       {"socks5://ann:secret@p:1080", "https://p:1", "http://p", "p", "http://",
        "http://p:1/path", "http://p:99999", "http://ann:secret@x@p:1",
        "http://ann:secret%40@p:1", "http://ann:secret#@p:1",
        "http://ann:secret?@p:1", "http://ann:secret x@p:1",
        "http://ann:secret\n@p:1"}) {
    Set({{"all_proxy", value}});
    const auto proxy = ProxyFor("a:1", true);
    EXPECT_EQ(ReasonCode(proxy.status()), "proxy-unusable") << value;
    EXPECT_TRUE(absl::StrContains(proxy.status().message(), "all_proxy"));
    EXPECT_FALSE(absl::StrContains(proxy.status().message(), "secret"));
    EXPECT_FALSE(ProxyFor("a:1", false)->has_value());
  }
}

TEST_F(ChannelTest, IsDirectUnlessAProxyIsGiven) {
  int port = 0;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  const auto server = builder.BuildAndStart();
  const std::string address = absl::StrCat("127.0.0.1:", port);
  // Port 9 of loopback: nobody listens there.
  for (const char* name : {"grpc_proxy", "https_proxy", "HTTPS_PROXY",
                           "http_proxy", "all_proxy"}) {
    Set({{name, "http://127.0.0.1:9"}});
    const absl::Status health =
        CheckHealth(address, grpc::InsecureChannelCredentials(), 5);
    EXPECT_TRUE(health.ok()) << name << ": " << health;
    const auto proxy = ProxyFor(address, true);
    ASSERT_TRUE(proxy.ok() && proxy->has_value()) << name;
    grpc::GenericStub stub(
        OpenChannel(address, grpc::InsecureChannelCredentials(), *proxy));
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto call =
        stub.PrepareUnaryCall(&context, "/a/B", grpc::ByteBuffer(), &queue);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    void* tag = nullptr;
    bool ok = false;
    call->Finish(&reply, &status, nullptr);
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_TRUE(absl::StrContains(
        status.error_message(),
        absl::StrCat("through the proxy http://127.0.0.1:9 that ", name,
                     " names")))
        << status.error_message();
  }
}

}  // namespace
}  // namespace dpnmf
