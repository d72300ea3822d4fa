#include "common/base/exit_code.h"

#include "common/base/error.h"

namespace dpnmf {
namespace {

// The own certificate, its key or the CA is no good.
bool IsAboutOwnTlsFiles(const absl::Status& status) {
  const std::string code = ReasonCode(status);
  return code.starts_with("tls-") && code != "tls-files-missing";
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (IsAboutOwnTlsFiles(status)) return kExitDenied;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kResourceExhausted:
      return kExitBudget;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitDenied;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return kExitState;
    case absl::StatusCode::kDataLoss:
      return kExitDataLoss;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitInternal;
  }
}

}  // namespace dpnmf
