#include "common/wire/status.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "dpnmf/v1/privacy.pb.h"

namespace dpnmf {
namespace {

constexpr std::size_t kLongestCode = 64;

bool IsReasonCode(std::string_view code) {
  return !code.empty() && code.size() <= kLongestCode &&
         std::all_of(code.begin(), code.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

// The code that came with the status; empty if none did or it is not one.
std::string CodeOf(const grpc::Status& status) {
  v1::ErrorDetail detail;
  if (status.error_details().empty() ||
      !detail.ParseFromString(status.error_details()) ||
      !IsReasonCode(detail.code())) {
    return "";
  }
  return detail.code();
}

absl::StatusCode KindOf(grpc::StatusCode code) {
  return code > grpc::StatusCode::OK &&
                 code <= grpc::StatusCode::UNAUTHENTICATED
             ? static_cast<absl::StatusCode>(code)
             : absl::StatusCode::kUnknown;
}

// Returns true for the codes of CheckPeerCertificate and CheckPeerName: an
// answer that only looks like a refusal by this side has another.
bool IsOfCertificates(std::string_view code) {
  return IsReasonCode(code) &&
         (code.starts_with("certificate-") ||
          code.starts_with("revocation-list-") || code == "ca-missing");
}

// The refusal of the server's certificate by this side that the text holds; OK
// if it holds none.
absl::Status OwnRefusal(const std::string& text) {
  constexpr absl::StatusCode kKind = absl::StatusCode::kUnauthenticated;
  constexpr std::string_view kBefore = "failed with error: UNAUTHENTICATED: ";
  if (text.find("certificate verify failed") != std::string::npos)
    return Refusal(
        kKind, "certificate-refused",
        absl::StrCat(kCertificateRefused, " Run doctor to see which."));
  const std::size_t found = text.find(kBefore);
  if (found == std::string::npos) return absl::OkStatus();
  const std::string rest = text.substr(found + kBefore.size());
  const std::size_t open = rest.rfind(" [");
  if (open == std::string::npos) return absl::OkStatus();
  const std::size_t close = rest.find(']', open);
  const std::string code = rest.substr(open + 2, close - open - 2);
  if (close == std::string::npos || !IsOfCertificates(code))
    return absl::OkStatus();
  return Refusal(kKind, code, rest.substr(0, open));
}

// "127.0.0.1:17432" of the text of a connection that was not made, which gRPC
// ends with "ipv4:127.0.0.1:17432: Failed to connect ..."; empty if it names no
// address.
std::string AddressIn(const std::string& text) {
  for (const std::string_view scheme : {"ipv4:", "ipv6:"}) {
    const std::size_t begin = text.rfind(scheme);
    if (begin == std::string::npos) continue;
    const std::size_t end = text.find(": ", begin);
    if (end == std::string::npos) continue;
    return absl::StrReplaceAll(
        text.substr(begin + scheme.size(), end - begin - scheme.size()),
        {{"%5B", "["}, {"%5D", "]"}});
  }
  return "";
}

constexpr char kEnded[] = " ended the connection";

// Sentence for a connection that there is not.
std::string UnreachableText(const std::string& text, const std::string& peer) {
  const std::size_t through = text.find("; through ");
  if (through != std::string::npos)
    return absl::StrCat("The other side cannot be reached",
                        text.substr(through),
                        ". Check that proxy, the address, and that the server "
                        "runs.");
  std::string address = AddressIn(text);
  if (address.empty()) address = AddressIn(absl::StrCat(peer, ": "));
  if (!address.empty() && text.find("refused") != std::string::npos)
    return absl::StrCat("Nothing answers at ", address,
                        "; check that the server runs, and its address.");
  constexpr std::string_view kLookup = "DNS resolution failed for ";
  if (const std::size_t name = text.find(kLookup); name != std::string::npos) {
    const std::size_t begin = name + kLookup.size();
    return absl::StrCat("The name in ",
                        text.substr(begin, text.find(": ", begin) - begin),
                        " has no address; check its spelling and the DNS "
                        "server.");
  }
  if (text.find("handshake failed") != std::string::npos)
    return absl::StrCat(
        "The other side", address.empty() ? "" : " at ", address,
        " answers, but the two did not agree on TLS: check that a dpnmf server "
        "has this address, and that the certificates and CAs of both sides "
        "are in date and known to each other; doctor tells which.");
  if (text.find("losed") != std::string::npos ||
      text.find("reset") != std::string::npos ||
      text.find("Broken pipe") != std::string::npos)
    return absl::StrCat(
        "The other side", address.empty() ? "" : " at ", address, kEnded,
        ": it stops, or it refuses this side's "
        "certificate (revoked, expired, or of a CA that it does not know).");
  return absl::StrCat(
      "There is no connection to the other side", address.empty() ? "" : " at ",
      address, "; check that the server runs, its address, and firewalls.");
}

// A status that the transport made, not the other program.
absl::Status FromTransport(const grpc::Status& status,
                           const std::string& peer) {
  const absl::StatusCode kind = KindOf(status.error_code());
  const std::string text = status.error_message();
  switch (kind) {
    case absl::StatusCode::kUnavailable:
      DPNMF_RETURN_IF_ERROR(OwnRefusal(text));
      return Refusal(kind, "unreachable", UnreachableText(text, peer));
    case absl::StatusCode::kDeadlineExceeded:
      return Refusal(kind, "deadline-exceeded",
                     "The other side did not answer in time; try again.");
    case absl::StatusCode::kCancelled:
      return Refusal(kind, "cancelled", "The call was cancelled.");
    case absl::StatusCode::kUnauthenticated:
      return Refusal(kind, "not-authenticated",
                     absl::StrCat("The other side does not accept this "
                                  "certificate (",
                                  text, ")."));
    case absl::StatusCode::kUnimplemented:
      return Refusal(kind, "rpc-failed",
                     "The other side does not know this call: another program "
                     "uses the address, or the versions differ; check the "
                     "address, and install the same version on both sides.");
    case absl::StatusCode::kResourceExhausted:
      // gRPC's own words once RpcServer::Options::most_threads are at work.
      if (text == "Server Threadpool Exhausted") {
        return Refusal(
            absl::StatusCode::kUnavailable, "busy",
            "The other side has reached its limit of open calls; try again.");
      }
      // The budget's kind belongs to refusals with a code; from the transport
      // it means a message or a queue that is too large.
      return Refusal(
          absl::StatusCode::kInternal, "rpc-failed",
          absl::StrCat("The call failed: ", absl::StripSuffix(text, "."), "."));
    default:
      return Refusal(
          kind, "rpc-failed",
          absl::StrCat("The call failed: ", absl::StripSuffix(text, "."), "."));
  }
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  v1::ErrorDetail detail;
  detail.set_code(ReasonCode(status));
  if (detail.code().empty()) {
    detail.set_code("internal-error");
    return grpc::Status(
        grpc::StatusCode::INTERNAL,
        "The request failed for an internal reason; the server's operator "
        "finds the reason in the server's log.",
        detail.SerializeAsString());
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message()),
                      detail.SerializeAsString());
}

bool IsConnectionFailure(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnauthenticated(status);
}

bool IsEndedConnection(const absl::Status& status) {
  return absl::StrContains(status.message(), kEnded);
}

std::string HandshakeText(const absl::Status& refusal) {
  return absl::StrCat(refusal.message(), " [", ReasonCode(refusal), "]");
}

absl::Status FromGrpc(const grpc::Status& status, const std::string& peer) {
  if (status.ok()) return absl::OkStatus();
  const std::string code = CodeOf(status);
  if (code.empty()) return FromTransport(status, peer);
  return Refusal(KindOf(status.error_code()), code, status.error_message());
}

}  // namespace dpnmf
