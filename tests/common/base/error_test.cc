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

std::string SentenceOf(std::string_view text) {
  return std::string(
      Refusal(absl::StatusCode::kInvalidArgument, "input-malformed", text)
          .message());
}

// A sentence goes into strings of protocol buffers, which no reader takes
// unless they are UTF-8.
TEST(Refusal, IsUtf8WhateverItQuotes) {
  for (const char* whole : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x82\xa1",
                            "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(SentenceOf(whole), whole);
  }
  const struct {
    const char *text, *sentence;
  } cases[] = {
      {"a\xff"
       "b",
       "a?b"},                       // in no character
      {"\x80", "?"},                 // continues nothing
      {"\xc3", "?"},                 // cut off
      {"\xc3(", "?("},               // not continued
      {"\xc0\xaf", "??"},            // '/', too long
      {"\xe0\x9f\xbf", "???"},       // too long
      {"\xed\xa0\x80", "???"},       // a surrogate
      {"\xf4\x90\x80\x80", "????"},  // past the last character
      {"\xf0\x9f\x82\xc3\xa9", "???\xc3\xa9"},
  };
  for (const auto& c : cases) EXPECT_EQ(SentenceOf(c.text), c.sentence);
}

// The metadata that carries a refusal to a peer has room for about 8 KiB.
TEST(Refusal, IsNoLongerThan2000Bytes) {
  EXPECT_EQ(SentenceOf(std::string(2000, 'x')), std::string(2000, 'x'));
  EXPECT_EQ(SentenceOf(std::string(2001, 'x')), std::string(1997, 'x') + "...");
  std::string long_text(1996, 'x');
  for (int i = 0; i < 100; ++i) long_text += "\xc3\xa9";
  EXPECT_EQ(SentenceOf(long_text), std::string(1996, 'x') + "...");
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

// The table of docs/reference/errors.md.
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
