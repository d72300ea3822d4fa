// Watching a run: rounds as they come, reconnection and Ctrl-C.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <string>

#include "common/base/error.h"
#include "common/base/exit_code.h"
#include "common/wire/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/program_fixture.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::ptrdiff_t LinesOf(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST_F(Program, AFailedRunIsExitCodeNineAndSaysWhy) {
  v1::Run& run = analyst().runs[0];
  run.set_state(v1::RUN_STATE_FAILED);
  run.set_error("The disk is full.");
  run.set_error_code("store-full");
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitRunFailed);
  EXPECT_THAT(err_.str(), HasSubstr("The disk is full. [store-full]"));
}

TEST_F(Program, WatchReconnectsWithItsCursorAndRepeatsNothing) {
  analyst().after_event = [](int attempt, std::uint64_t sent) {
    return attempt <= 2 && sent == 1
               ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost")
               : grpc::Status::OK;
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitOk);
  EXPECT_THAT(analyst().watch_cursors, ElementsAre(0, 1, 2));
  for (const char* round : {"round 1/3", "round 2/3", "round 3/3"}) {
    const std::size_t first = out_.str().find(round);
    ASSERT_NE(first, std::string::npos) << round;
    EXPECT_EQ(out_.str().find(round, first + 1), std::string::npos) << round;
  }
  EXPECT_THAT(err_.str(), HasSubstr("trying again"));
}

TEST_F(Program, HowFarAFitIsIsForTerminals) {
  v1::RunEvent learning = analyst().events.front();
  learning.set_learning(0.409);
  analyst().events.insert(analyst().events.begin() + 1, learning);
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("fitting")));
  EXPECT_EQ(Run({"watch", "3f9a", "--format", "json"}), kExitOk);
  EXPECT_THAT(out_.str(), Not(HasSubstr("learning")));
  environment_.terminal_width = 80;
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitOk);
  EXPECT_THAT(out_.str(), HasSubstr("fitting 40 %"));
}

TEST_F(Program, WatchGivesUpAfterAWhileWithExitCodeFive) {
  analyst().after_event = [](int, std::uint64_t) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost");
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitUnreachable);
  // Pauses of 1, 2, 4, 4, 4, 4, 4 ms make 23, the first sum of 20 or more.
  EXPECT_EQ(analyst().watch_cursors.size(), 8u);
  // The loss is told once, then the end.
  EXPECT_THAT(err_.str(), StartsWith("dpnmf: the server stopped, or the "
                                     "connection was lost ("));
  EXPECT_EQ(LinesOf(err_.str()), 2) << err_.str();
}

TEST_F(Program, AServerThatStopsIsOneLine) {
  analyst().after_event = [](int attempt, std::uint64_t sent) {
    return attempt == 1 && sent == 1
               ? grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED")
               : grpc::Status::OK;
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitOk);
  EXPECT_THAT(err_.str(), AllOf(StartsWith("dpnmf: the server stopped, or the "
                                           "connection was lost; trying again"),
                                Not(HasSubstr("cancelled"))));
  EXPECT_EQ(LinesOf(err_.str()), 1);
}

// Certificates are renewed in place.
TEST_F(Program, WatchWaitsForTheServersNewCertificate) {
  analyst().after_event = [](int attempt, std::uint64_t) {
    return attempt == 1
               ? grpc::Status(grpc::StatusCode::UNAVAILABLE,
                              "failed with error: UNAUTHENTICATED: Expired. "
                              "[certificate-expired]")
               : grpc::Status::OK;
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitOk) << err_.str();
  EXPECT_THAT(err_.str(), HasSubstr("Expired."));
}

TEST_F(Program, WatchDoesNotRetryARefusal) {
  analyst().after_event = [](int, std::uint64_t) {
    return ToGrpc(Refusal(absl::StatusCode::kPermissionDenied, "role-missing",
                          "Not yours."));
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitDenied);
  EXPECT_EQ(analyst().watch_cursors.size(), 1u);
}

TEST_F(Program, AStreamThatEndsBeforeTheRunIsWatchedAgain) {
  analyst().runs[0].set_state(v1::RUN_STATE_RUNNING);
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitUnreachable);
  EXPECT_GT(analyst().watch_cursors.size(), 1u);
}

TEST_F(Program, CtrlCLeavesTheRunGoingAndSaysSo) {
  // The second event never comes: only the signal ends the watch.
  // The handler may outlive this function, so it holds its own share.
  std::promise<void> ended;
  const std::shared_future<void> until = ended.get_future().share();
  analyst().after_event = [until](int, std::uint64_t sent) {
    if (sent == 1) {
      kill(getpid(), SIGINT);
      until.wait();
    }
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitInterrupted);
  EXPECT_THAT(err_.str(), HasSubstr("run 3f9a01234567 continues"));
  EXPECT_THAT(analyst().cancelled, IsEmpty());
  ended.set_value();
}

TEST_F(Program, CtrlCWhileARunStartsSaysThatItMayHaveStarted) {
  std::promise<void> ended;
  const std::shared_future<void> until = ended.get_future().share();
  analyst().on_start = [until] {
    kill(getpid(), SIGINT);
    until.wait();
  };
  EXPECT_EQ(RunWith("train"), kExitInterrupted);
  EXPECT_THAT(err_.str(),
              HasSubstr("it may have started. 'dpnmf runs' shows it"));
  ended.set_value();
}

TEST_F(Program, CtrlCEndsAPauseBetweenAttempts) {
  environment_.retry.first_pause = absl::Hours(1);
  environment_.retry.give_up_after = absl::Hours(2);
  analyst().after_event = [](int, std::uint64_t) {
    kill(getpid(), SIGINT);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost");
  };
  EXPECT_EQ(Run({"watch", "3f9a"}), kExitInterrupted);
}

}  // namespace
}  // namespace dpnmf::cli
