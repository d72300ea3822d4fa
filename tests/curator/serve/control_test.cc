#include "curator/control/control.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/base/failing_allocation.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ControlTest : public testing::Test {
 protected:
  static ControlHandlers Handlers() {
    return {{"echo", [](const json& request) { return request.at("text"); }},
            {"refuse",
             [](const json&) -> absl::StatusOr<json> {
               return Refusal(absl::StatusCode::kResourceExhausted,
                              "budget-exhausted", "Nothing is left.");
             }},
            {"throw",
             [](const json&) -> absl::StatusOr<json> {
               throw std::runtime_error("the disk is gone");
             }},
            {"throw-a-number",
             [](const json&) -> absl::StatusOr<json> { throw 7; }}};
  }
  std::unique_ptr<ControlServer> Start(const std::string& data_dir) {
    auto server = ControlServer::Start(data_dir, Handlers());
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }
  absl::StatusOr<json> Ask(const json& request) {
    return AskControl(scratch_.path(), request);
  }
  // Returns the server's answer to these bytes; the server gets nothing more.
  std::string Raw(const std::string& bytes) {
    const int peer = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, ControlSocket(scratch_.path()).c_str(),
                 sizeof(address.sun_path) - 1);
    EXPECT_EQ(
        ::connect(peer, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
        0);
    // A peer that is cut off may have closed the connection already.
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent =
          ::send(peer, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<std::size_t>(sent);
    }
    ::shutdown(peer, SHUT_WR);
    std::string answer;
    char buffer[4096];
    for (ssize_t count = 0;
         (count = ::recv(peer, buffer, sizeof(buffer), 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(count));
    ::close(peer);
    return answer;
  }

  Scratch scratch_;
};

TEST_F(ControlTest, AnswersRequests) {
  const auto server = Start(scratch_.path());
  const auto answer = Ask({{"request", "echo"}, {"text", "a\nb \xc3\xa9"}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, "a\nb \xc3\xa9");
  const std::string large(1 << 15, 'x');
  EXPECT_EQ(Ask({{"request", "echo"}, {"text", large}}).value(), large);
}

TEST_F(ControlTest, OnlyItsOwnUserCanConnect) {
  const auto server = Start(scratch_.path());
  struct stat there {};
  ASSERT_EQ(::stat(ControlSocket(scratch_.path()).c_str(), &there), 0);
  EXPECT_TRUE(S_ISSOCK(there.st_mode));
  EXPECT_EQ(there.st_mode & 07777u, 0600u);
}

TEST_F(ControlTest, ARefusalComesAsItIs) {
  const auto server = Start(scratch_.path());
  const absl::Status refused = Ask({{"request", "refuse"}}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonCode(refused), "budget-exhausted");
  EXPECT_EQ(refused.message(), "Nothing is left.");
  const absl::Status thrown = Ask({{"request", "throw"}}).status();
  EXPECT_EQ(ReasonCode(thrown), "internal-error");
  EXPECT_THAT(std::string(thrown.message()), HasSubstr("the disk is gone"));
}

TEST_F(ControlTest, WhateverIsThrownTheServerServesOn) {
  const auto server = Start(scratch_.path());
  EXPECT_EQ(ReasonCode(Ask({{"request", "throw-a-number"}}).status()),
            "internal-error");
  // Memory fails where the request is read, before any handler has the request.
  const json request = {{"request", "echo"}, {"text", "longer than a word"}};
  FailNextAllocationElsewhere();
  EXPECT_EQ(ReasonCode(Ask(request).status()), "control-failed");
  EXPECT_TRUE(AllocationHasFailed());
  EXPECT_TRUE(Ask(request).ok());
}

TEST_F(ControlTest, ARefusalWithoutAWholeStatusIsNoAnswer) {
  for (const char* status : {"1.5", "1e42", "-1", "17", "true", "\"5\""}) {
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, ControlSocket(scratch_.path()).c_str(),
                 sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address),
                     sizeof(address)),
              0);
    ASSERT_EQ(::listen(listener, 1), 0);
    std::thread server([&] {
      const int peer = ::accept(listener, nullptr, nullptr);
      char request[4096];
      EXPECT_GT(::recv(peer, request, sizeof(request), 0), 0);
      const std::string answer = absl::StrCat(
          R"({"error":{"code":"a","message":"b","status":)", status, "}}\n");
      EXPECT_EQ(::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
      ::close(peer);
    });
    EXPECT_EQ(ReasonCode(Ask({{"request", "refuse"}}).status()),
              "control-failed")
        << status;
    server.join();
    ::close(listener);
    ::unlink(address.sun_path);
  }
}

TEST_F(ControlTest, WhatIsNoRequestIsRefusedAndTheNextOneIsAnswered) {
  const auto server = Start(scratch_.path());
  for (const json& request :
       {json("echo"), json(), json{{"request", 3}}, json{{"request", "other"}},
        json{{"request", "echo"}}}) {
    EXPECT_EQ(ReasonCode(Ask(request).status()), "control-request-malformed")
        << request;
  }
  EXPECT_THAT(Raw("{\n"), HasSubstr("control-request-malformed"));
  EXPECT_EQ(Raw("{\"request\": \"echo\""), "") << "there is no line";
  EXPECT_EQ(Raw(std::string(1 << 20, '{')), "") << "too long for a request";
  EXPECT_TRUE(Ask({{"request", "echo"}, {"text", 1}}).ok());
}

TEST_F(ControlTest, ManyAtOnceAreAnsweredOneAfterTheOther) {
  const auto server = Start(scratch_.path());
  std::vector<std::thread> threads;
  std::vector<json> answers(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto answer = Ask({{"request", "echo"}, {"text", i}});
      if (answer.ok()) answers[static_cast<std::size_t>(i)] = *answer;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(answers[static_cast<std::size_t>(i)], i);
}

TEST_F(ControlTest, WithoutAServerThereIsNoAnswer) {
  EXPECT_EQ(ReasonCode(Ask({{"request", "echo"}}).status()),
            "server-not-running");
  Start(scratch_.path()).reset();
  EXPECT_FALSE(std::filesystem::exists(ControlSocket(scratch_.path())));
  EXPECT_EQ(ReasonCode(Ask({{"request", "echo"}}).status()),
            "server-not-running");
}

// A server that was killed leaves its socket.
TEST_F(ControlTest, ReplacesTheSocketOfAServerThatHasEnded) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, ControlSocket(scratch_.path()).c_str(),
               sizeof(address.sun_path) - 1);
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(
      ::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(dead);
  EXPECT_EQ(ReasonCode(Ask({{"request", "echo"}}).status()),
            "server-not-running");
  const auto server = Start(scratch_.path());
  EXPECT_TRUE(Ask({{"request", "echo"}, {"text", 1}}).ok());
}

TEST_F(ControlTest, AFileInItsPlaceIsNotReplaced) {
  scratch_.Write("control.sock", "mine");
  EXPECT_EQ(
      ReasonCode(ControlServer::Start(scratch_.path(), Handlers()).status()),
      "storage-failed");
  EXPECT_EQ(ReadAll(ControlSocket(scratch_.path())), "mine");
}

TEST_F(ControlTest, ItsPathMayBeLongerThanASocketsAddress) {
  const std::string data_dir =
      scratch_.path() + "/" + std::string(120, 'a') + "/" + std::string(9, 'b');
  std::filesystem::create_directories(data_dir);
  const auto server = Start(data_dir);
  EXPECT_EQ(AskControl(data_dir, {{"request", "echo"}, {"text", 1}}).value(),
            1);
}

}  // namespace
}  // namespace dpnmf::curator
