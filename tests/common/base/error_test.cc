#include "common/base/error.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/exit_code.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

TEST(Refusal, CarriesKindSentenceAndCode) {
  const absl::Status status =
      Refusal(absl::StatusCode::kInvalidArgument, "rank-out-of-range",
              "`rank` must be from 1 to 64");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "`rank` must be from 1 to 64");
  EXPECT_EQ(ReasonCode(status), "rank-out-of-range");
}

TEST(Refusal, StaysOnOneLineWhateverItQuotes) {
  EXPECT_EQ(Refusal(absl::StatusCode::kInvalidArgument, "input-malformed",
                    std::string_view("a\nb\x1b[2J\0c\x7f", 10))
                .message(),
            "a b [2J c ");
}

TEST(ReasonCode, IsEmptyWhereNoneWasAttached) {
  EXPECT_EQ(ReasonCode(absl::OkStatus()), "");
  EXPECT_EQ(ReasonCode(absl::InternalError("something")), "");
}

TEST(ReasonCode, SurvivesCopies) {
  const absl::Status status =
      Refusal(absl::StatusCode::kNotFound, "dataset-unknown", "none");
  const absl::StatusOr<int> copy = status;
  EXPECT_EQ(ReasonCode(copy.status()), "dataset-unknown");
}

absl::Status Passes(absl::Status status, bool* went_on) {
  DPNMF_RETURN_IF_ERROR(status);
  *went_on = true;
  return absl::OkStatus();
}

TEST(ReturnIfError, LeavesWithTheErrorAndGoesOnWithoutOne) {
  bool went_on = false;
  EXPECT_EQ(ReasonCode(Passes(
                Refusal(absl::StatusCode::kAborted, "code", "text"), &went_on)),
            "code");
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(Passes(absl::OkStatus(), &went_on).ok());
  EXPECT_TRUE(went_on);
}

absl::StatusOr<std::string> Twice(absl::StatusOr<std::string> text) {
  DPNMF_ASSIGN_OR_RETURN(const std::string once, std::move(text));
  return once + once;
}

TEST(AssignOrReturn, GivesTheValueOrLeavesWithTheError) {
  EXPECT_EQ(*Twice(std::string("ab")), "abab");
  EXPECT_EQ(
      ReasonCode(
          Twice(Refusal(absl::StatusCode::kAborted, "code", "text")).status()),
      "code");
}

// The table of docs/errors.md.
TEST(ExitCode, FollowsTheKindOfTheStatus) {
  const std::pair<absl::StatusCode, ExitCode> table[] = {
      {absl::StatusCode::kOk, kExitOk},
      {absl::StatusCode::kInvalidArgument, kExitUsage},
      {absl::StatusCode::kOutOfRange, kExitUsage},
      {absl::StatusCode::kResourceExhausted, kExitBudget},
      {absl::StatusCode::kNotFound, kExitNotFound},
      {absl::StatusCode::kUnavailable, kExitUnreachable},
      {absl::StatusCode::kDeadlineExceeded, kExitUnreachable},
      {absl::StatusCode::kPermissionDenied, kExitDenied},
      {absl::StatusCode::kUnauthenticated, kExitDenied},
      {absl::StatusCode::kFailedPrecondition, kExitState},
      {absl::StatusCode::kAlreadyExists, kExitState},
      {absl::StatusCode::kAborted, kExitState},
      {absl::StatusCode::kDataLoss, kExitDataLoss},
      {absl::StatusCode::kCancelled, kExitInterrupted},
      {absl::StatusCode::kInternal, kExitInternal},
      {absl::StatusCode::kUnknown, kExitInternal},
  };
  for (const auto& [code, expected] : table) {
    EXPECT_EQ(ExitCodeOf(absl::Status(code, "text")), expected);
  }
}

}  // namespace
}  // namespace dpnmf
