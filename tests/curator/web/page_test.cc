// The operator's page without a browser and without a curator. tests/web/run.sh
// has both.
#include "curator/web/page.h"

#include <string>
#include <vector>

#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::web {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class OperatorPageTest : public ::testing::Test {
 protected:
  HttpReply Ask(const std::string& path, const std::string& method = "GET") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    return page_.Handle(request);
  }

  std::vector<std::string> asked_;
  absl::StatusOr<json> answer_ = json{{"version", "1"}};
  const OperatorPage page_{[this](const std::string& request) {
                             asked_.push_back(request);
                             return answer_;
                           },
                           {"1.2.3", "/var/lib/x"}};
};

TEST_F(OperatorPageTest, HandsOutItsFilesAndNoOther) {
  EXPECT_THAT(Ask("/").body, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(Ask("/operator.js").content_type, StartsWith("text/javascript"));
  EXPECT_THAT(Ask("/page.css").content_type, StartsWith("text/css"));
  for (const char* path : {"/app.js", "/uplot.js", "/../page.cc", "/etc/passwd",
                           "/api/", "/api/ledger", "/api/statu"})
    EXPECT_EQ(Ask(path).status, 404) << path;
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(OperatorPageTest, AsksTheCuratorForStatusAndChecksAlone) {
  EXPECT_EQ(json::parse(Ask("/api/status").body), json({{"version", "1"}}));
  EXPECT_EQ(Ask("/api/doctor").status, 200);
  EXPECT_THAT(asked_, ElementsAre("status", "doctor"));
  EXPECT_EQ(json::parse(Ask("/api/facts").body),
            json({{"version", "1.2.3"}, {"data_dir", "/var/lib/x"}}));
}

// Others of the control socket, which change something, have no address here.
TEST_F(OperatorPageTest, IsReadOnly) {
  for (const char* path : {"/api/status", "/api/doctor", "/api/declare",
                           "/api/reload", "/", "/operator.js"})
    EXPECT_EQ(Ask(path, "POST").status, 404) << path;
  for (const char* path : {"/api/declare", "/api/reload"})
    EXPECT_EQ(Ask(path).status, 404) << path;
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(OperatorPageTest, AServerThatDoesNotRunIsWaitedFor) {
  answer_ = Refusal(absl::StatusCode::kFailedPrecondition, "server-not-running",
                    "No server.");
  const HttpReply reply = Ask("/api/status");
  EXPECT_EQ(reply.status, 503);
  const json error = json::parse(reply.body)["error"];
  EXPECT_EQ(error["kind"], "UNAVAILABLE");
  EXPECT_EQ(error["code"], "server-not-running");
}

TEST_F(OperatorPageTest, ARefusalKeepsItsCodeAndSentence) {
  answer_ = Refusal(absl::StatusCode::kDataLoss, "ledger-damaged", "Row 7.");
  const HttpReply reply = Ask("/api/doctor");
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body, HasSubstr("ledger-damaged"));
  EXPECT_THAT(reply.body, HasSubstr("Row 7."));
}

// A name in the ledger may hold bytes that are no UTF-8.
TEST_F(OperatorPageTest, BytesThatAreNoTextAreReplaced) {
  answer_ = json{{"name", "a\xff"}};
  EXPECT_EQ(json::parse(Ask("/api/status").body)["name"], "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace dpnmf::curator::web
