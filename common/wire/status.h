// One mapping between absl::Status and grpc::Status in each direction.
#ifndef DPNMF_COMMON_WIRE_STATUS_H_
#define DPNMF_COMMON_WIRE_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace dpnmf {

// The codes are numbered alike. The reason code (common/base/error.h) travels
// as a serialised dpnmf.v1.ErrorDetail in the status details. A status without
// a reason code is not meant for the peer: it is replaced by INTERNAL
// "internal-error" and a fixed sentence that says nothing of its text.
grpc::Status ToGrpc(const absl::Status& status);

// The inverse. Codes that the transport makes itself get the reason codes
// "unreachable" (UNAVAILABLE), "deadline-exceeded", "cancelled",
// "not-authenticated"; other statuses without a detail get "rpc-failed". If
// this side refused the server's certificate, which the transport calls
// UNAVAILABLE, the status is that refusal: UNAUTHENTICATED "certificate-...".
// `peer` is ClientContext::peer(): the address, for texts that name none.
absl::Status FromGrpc(const grpc::Status& status, const std::string& peer = "");

// Returns true if the connection failed, not the call: the other side cannot be
// reached, or one side does not accept the other's certificate. Certificates
// are renewed in place, so a later connection may do.
bool IsConnectionFailure(const absl::Status& status);

// Returns true for "unreachable" of a connection that was made and then ended:
// a refusal of a certificate within the handshake can have no other sign.
bool IsEndedConnection(const absl::Status& status);

// The text in which a check of certificates within a handshake hands its
// refusal to the transport, such that FromGrpc finds it again.
std::string HandshakeText(const absl::Status& refusal);

// Sentence for a server's certificate that OpenSSL refused before that check.
inline constexpr char kCertificateRefused[] =
    "The server's certificate has expired, or is not signed by the CA that "
    "this side trusts, or comes without the intermediate CA's.";

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_STATUS_H_
