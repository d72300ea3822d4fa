// Exit codes of all programs; docs/reference/errors.md lists them.
#ifndef DPNMF_COMMON_BASE_EXIT_CODE_H_
#define DPNMF_COMMON_BASE_EXIT_CODE_H_

#include "absl/status/status.h"

namespace dpnmf {

enum ExitCode : int {
  kExitOk = 0,
  kExitInternal = 1,       // a fault of the program or the machine
  kExitUsage = 2,          // bad flags, arguments or input
  kExitBudget = 3,         // refused: over budget
  kExitNotFound = 4,       // no such data set, run or file
  kExitUnreachable = 5,    // the other side cannot be reached
  kExitDenied = 6,         // certificate, identity or role
  kExitState = 7,          // in use, exists already, wrong state
  kExitDataLoss = 8,       // ledger or file damaged
  kExitRunFailed = 9,      // the run ended without completing
  kExitInterrupted = 130,  // by the user
};

// Codes "tls-..." 6, but for "tls-files-missing"; else by the kind: OK 0;
// INVALID_ARGUMENT, OUT_OF_RANGE 2; RESOURCE_EXHAUSTED 3; NOT_FOUND 4;
// UNAVAILABLE, DEADLINE_EXCEEDED 5; PERMISSION_DENIED, UNAUTHENTICATED 6;
// FAILED_PRECONDITION, ALREADY_EXISTS, ABORTED 7; DATA_LOSS 8; CANCELLED 130;
// else 1.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_EXIT_CODE_H_
