#include "common/tls/address.h"

#include "common/base/error.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

TEST(ParseAddress, ReadsNamesAndNumbers) {
  const struct {
    const char *text, *host, *port;
  } cases[] = {
      {"localhost:7001", "localhost", "7001"},
      {"curator.hospital.example:1", "curator.hospital.example", "1"},
      {"127.0.0.1:65535", "127.0.0.1", "65535"},
      {"[::1]:7001", "::1", "7001"},
  };
  for (const auto& c : cases) {
    const auto address = ParseAddress(c.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->host, c.host);
    EXPECT_EQ(address->port, c.port);
  }
}

TEST(ParseAddress, RefusesEverythingElse) {
  for (const char* text :
       {"", "localhost", ":7001", "localhost:", "localhost:0",
        "localhost:65536", "localhost:-1", "localhost:+1", "localhost:7001x",
        "::1:7001", "a b:1", "[]:1", "http://x:1", "localhost: 1"}) {
    const auto address = ParseAddress(text);
    EXPECT_FALSE(address.ok()) << text;
    EXPECT_EQ(ReasonCode(address.status()), "address-malformed") << text;
  }
}

TEST(ParseListenAddress, TakesPortZeroBesides) {
  EXPECT_EQ(ParseListenAddress("127.0.0.1:0")->port, "0");
  EXPECT_EQ(ParseListenAddress("[::]:7431")->host, "::");
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:65536", "127.0.0.1:-0"})
    EXPECT_EQ(ReasonCode(ParseListenAddress(text).status()),
              "address-malformed")
        << text;
}

TEST(ParseAddress, ShowsWhatItRefusesOnOneShortLine) {
  const auto address =
      ParseAddress("a\nb\x1b[2J" + std::string(10'000, 'c') + ":");
  const absl::string_view sentence = address.status().message();
  EXPECT_EQ(sentence.find('\n'), absl::string_view::npos);
  EXPECT_EQ(sentence.find('\x1b'), absl::string_view::npos);
  EXPECT_NE(sentence.find("a\\nb\\x1b[2J"), absl::string_view::npos);
  EXPECT_LT(sentence.size(), 400u);
}

}  // namespace
}  // namespace dpnmf
