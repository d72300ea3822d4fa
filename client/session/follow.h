// Shows a run's progress until it ends, and how it ended.
#ifndef DPNMF_CLIENT_SESSION_FOLLOW_H_
#define DPNMF_CLIENT_SESSION_FOLLOW_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/session/client.h"
#include "client/session/session.h"
#include "common/base/exit_code.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

// Shows a run until it ends. As JSON: the events, one a line, and at the end
// the run on a line if `print_run`. Returns kExitOk if the run completed,
// kExitRunFailed if not; kExitInterrupted after Ctrl-C, which leaves the run
// going and says so.
absl::StatusOr<ExitCode> FollowRun(const Session& session,
                                   const AnalystClient& client,
                                   const v1::Run& run, bool print_run);

// Waits for a run to end, with the progress of its fit on standard error: the
// output is for scripts. The run as it ended; CANCELLED "interrupted" with the
// sentence after Ctrl-C.
absl::StatusOr<v1::Run> AwaitRun(const Session& session,
                                 const AnalystClient& client,
                                 const std::string& run_id,
                                 const std::string& if_interrupted);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_FOLLOW_H_
