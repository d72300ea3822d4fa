#include "common/wire/status.h"

#include "absl/strings/match.h"
#include "common/base/error.h"
#include "dpnmf/v1/analyst.pb.h"
#include "dpnmf/v1/privacy.pb.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

std::string Detail(const std::string& code) {
  v1::ErrorDetail detail;
  detail.set_code(code);
  return detail.SerializeAsString();
}

TEST(Status, EveryCodedRefusalTravelsWhole) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status sent =
        Refusal(static_cast<absl::StatusCode>(code), "rank-out-of-range",
                "`rank` must be 1 to 64.");
    const absl::Status received = FromGrpc(ToGrpc(sent));
    EXPECT_EQ(received, sent) << code;
    EXPECT_EQ(ReasonCode(received), "rank-out-of-range") << code;
  }
  EXPECT_TRUE(FromGrpc(ToGrpc(absl::OkStatus())).ok());
}

TEST(Status, NothingOfAStatusWithoutACodeLeaves) {
  for (int code = 1; code <= 16; ++code) {
    const grpc::Status sent = ToGrpc(
        absl::Status(static_cast<absl::StatusCode>(code), "secret 0.731"));
    EXPECT_EQ(sent.error_code(), grpc::StatusCode::INTERNAL) << code;
    EXPECT_FALSE(absl::StrContains(sent.error_message(), "secret")) << code;
    EXPECT_FALSE(absl::StrContains(sent.error_message(), "731")) << code;
    EXPECT_FALSE(absl::StrContains(sent.error_details(), "secret")) << code;
    EXPECT_EQ(ReasonCode(FromGrpc(sent)), "internal-error") << code;
  }
}

TEST(Status, OtherPayloadsDoNotLeave) {
  absl::Status status =
      Refusal(absl::StatusCode::kNotFound, "dataset-unknown", "No.");
  status.SetPayload("type.example/other", absl::Cord("secret"));
  EXPECT_EQ(ToGrpc(status).error_details(), Detail("dataset-unknown"));
}

// The texts are those of gRPC 1.51.
TEST(Status, WhatCannotBeReachedIsNamedByItsAddressAndWithoutGrpcsWords) {
  const auto sentence = [](const std::string& text) {
    const absl::Status status =
        FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, text));
    EXPECT_EQ(ReasonCode(status), "unreachable");
    return std::string(status.message());
  };
  const std::string all = "failed to connect to all addresses; last error: ";
  EXPECT_EQ(
      sentence(all + "UNKNOWN: ipv4:127.0.0.1:17432: Failed to connect to "
                     "remote host: Connection refused"),
      "Nothing answers at 127.0.0.1:17432; check that the server runs, "
      "and its address.");
  EXPECT_EQ(
      sentence(all + "UNAVAILABLE: ipv6:%5B::1%5D:17432: Failed to connect to "
                     "remote host: Connection refused"),
      "Nothing answers at [::1]:17432; check that the server runs, and "
      "its address.");
  EXPECT_EQ(sentence("DNS resolution failed for nowhere:17432: C-ares status "
                     "is not ARES_SUCCESS qtype=A name=nowhere"),
            "The name in nowhere:17432 has no address; check its spelling and "
            "the DNS server.");
  for (const char* text : {"Socket closed", "Connection reset by peer"})
    EXPECT_EQ(sentence(text),
              "The other side ended the connection: it stops, or it refuses "
              "this side's certificate (revoked, expired, or of a CA that it "
              "does not know).");
  // The address that was dialled, where the text has none.
  EXPECT_TRUE(absl::StartsWith(
      FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed"),
               "ipv4:127.0.0.1:17432")
          .message(),
      "The other side at 127.0.0.1:17432 ended the connection: "));
  EXPECT_EQ(sentence(all + "UNKNOWN: connect timed out; through the proxy "
                           "http://p:1 that https_proxy names"),
            "The other side cannot be reached; through the proxy http://p:1 "
            "that https_proxy names. Check that proxy, the address, and that "
            "the server runs.");
  for (const char* text :
       {"Ssl handshake failed: SSL_ERROR_SSL: error:1408F10B:SSL "
        "routines:ssl3_get_record:wrong version number",
        "Tls handshake failed (TSI_PROTOCOL_FAILURE)"})
    EXPECT_EQ(sentence(all + "UNKNOWN: ipv4:127.0.0.1:17432: " + text),
              "The other side at 127.0.0.1:17432 answers, but the two did not "
              "agree on TLS: check that a dpnmf server has this address, and "
              "that the certificates and CAs of both sides are in date and "
              "known to each other; doctor tells which.");
  EXPECT_EQ(sentence("something else"),
            "There is no connection to the other side; check that the server "
            "runs, its address, and firewalls.");
}

TEST(Status, TransportFailuresGetCodesOfTheirOwn) {
  const struct {
    grpc::StatusCode transport;
    absl::StatusCode kind;
    const char* code;
  } cases[] = {
      {grpc::StatusCode::UNAVAILABLE, absl::StatusCode::kUnavailable,
       "unreachable"},
      {grpc::StatusCode::DEADLINE_EXCEEDED, absl::StatusCode::kDeadlineExceeded,
       "deadline-exceeded"},
      {grpc::StatusCode::CANCELLED, absl::StatusCode::kCancelled, "cancelled"},
      {grpc::StatusCode::UNAUTHENTICATED, absl::StatusCode::kUnauthenticated,
       "not-authenticated"},
      {grpc::StatusCode::UNKNOWN, absl::StatusCode::kUnknown, "rpc-failed"},
      {grpc::StatusCode::INTERNAL, absl::StatusCode::kInternal, "rpc-failed"},
      {grpc::StatusCode::UNIMPLEMENTED, absl::StatusCode::kUnimplemented,
       "rpc-failed"},
      // Not the budget: a message that was too large.
      {grpc::StatusCode::RESOURCE_EXHAUSTED, absl::StatusCode::kInternal,
       "rpc-failed"},
      {static_cast<grpc::StatusCode>(20), absl::StatusCode::kUnknown,
       "rpc-failed"},
  };
  for (const auto& c : cases) {
    const absl::Status status = FromGrpc(grpc::Status(c.transport, "because"));
    EXPECT_EQ(status.code(), c.kind) << c.code;
    EXPECT_EQ(ReasonCode(status), c.code);
  }
}

// The text as gRPC 1.51 makes it; refused_peers_test has the real thing.
TEST(Status, ARefusalWithinTheHandshakeIsFoundInTheTransportsText) {
  const auto unavailable = [](const std::string& text) {
    return FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, text));
  };
  const absl::Status refusal =
      Refusal(absl::StatusCode::kUnauthenticated, "certificate-wrong-name",
              "Not for [::1]; connect to a [name].");
  const std::string text =
      "failed to connect to all addresses; last error: UNKNOWN: "
      "ipv4:127.0.0.1:1: Custom verification check failed with error: "
      "UNAUTHENTICATED: " +
      HandshakeText(refusal);
  for (const char* after : {"", "; through the proxy http://p:1 that a names"})
    EXPECT_EQ(unavailable(text + after), refusal) << after;
  EXPECT_EQ(ReasonCode(unavailable("Tls handshake failed: SSL_ERROR_SSL: "
                                   "error:0A000086:SSL routines::certificate "
                                   "verify failed")),
            "certificate-refused");
  for (const std::string& other :
       {std::string("failed with error: UNAUTHENTICATED: Nothing."),
        std::string("failed with error: UNAUTHENTICATED: Open [no-end"),
        std::string("failed with error: UNAUTHENTICATED: No code [A b]"),
        std::string("failed with error: UNAUTHENTICATED: X [run-closed]"),
        std::string("Connection refused [certificate-wrong-name]")})
    EXPECT_EQ(ReasonCode(unavailable(other)), "unreachable") << other;
}

TEST(Status, AnUnknownCallMayBeAnotherProgramsAddress) {
  const absl::Status status =
      FromGrpc(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""));
  EXPECT_NE(status.message().find("another program uses the address"),
            std::string::npos)
      << status;
}

TEST(Status, DetailsThatAreNotACodeCountAsNone) {
  for (const std::string& details :
       {std::string("\xff\xff garbage"), Detail(""), Detail("UPPER"),
        Detail("a b"), Detail(std::string(65, 'a')), Detail("x\n")}) {
    const absl::Status status = FromGrpc(
        grpc::Status(grpc::StatusCode::UNAVAILABLE, "because", details));
    EXPECT_EQ(ReasonCode(status), "unreachable");
  }
}

TEST(Status, ThePeersTextCannotDriveATerminal) {
  const absl::Status status = FromGrpc(grpc::Status(
      grpc::StatusCode::NOT_FOUND, "a\x1b[2Jb\nc\x7f" + std::string(5000, 'x'),
      Detail("dataset-unknown")));
  EXPECT_TRUE(absl::StartsWith(status.message(), "a [2Jb c x"));
  EXPECT_LE(status.message().size(), 2000u);
}

// The analyst stores it in a run and in its events.
TEST(Status, ThePeersTextFitsAStoredMessage) {
  for (const std::string& text :
       {std::string("caf\xe9"), std::string(1999, 'x') + "\xc3\xa9"}) {
    v1::RunEvent event;
    event.set_message(
        std::string(FromGrpc(grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                                          text, Detail("role-missing")))
                        .message()));
    EXPECT_TRUE(v1::RunEvent().ParseFromString(event.SerializeAsString()))
        << event.message();
  }
}

}  // namespace
}  // namespace dpnmf
