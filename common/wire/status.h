// One mapping between absl::Status and grpc::Status in each direction.
#ifndef DPNMF_COMMON_WIRE_STATUS_H_
#define DPNMF_COMMON_WIRE_STATUS_H_

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
// "not-authenticated"; other statuses without a detail get "rpc-failed".
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_WIRE_STATUS_H_
