// `dpnmf train --datasets`: one dictionary from the second moments of several
// data sets, released or not yet.
#ifndef DPNMF_CLIENT_COMMANDS_TRAIN_JOINT_H_
#define DPNMF_CLIENT_COMMANDS_TRAIN_JOINT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/flags/order_flags.h"
#include "client/flags/prior_flags.h"
#include "client/flags/run_flags.h"
#include "client/session/session.h"
#include "common/base/exit_code.h"

namespace dpnmf::cli {

// Takes of each data set the completed run of moments with the least noise,
// else one that is under way, else starts one, which is charged as always; what
// a plan refuses is refused before anything is started. Waits for these runs,
// and starts the fit to the sum of their releases, which is free
// (Refit.joined_run_ids). The same command again goes on where this one ended.
// Above the limit of rows all new runs take the rows of the first release.
//
// flags.epsilon is NaN where none is given: needed for a data set without a
// run. INVALID_ARGUMENT "usage"; CANCELLED "interrupted"; ABORTED
// "joint-run-failed" if a run of a data set fails.
absl::StatusOr<ExitCode> TrainJointly(const Session& session,
                                      const RunFlags& flags,
                                      const std::vector<std::string>& datasets,
                                      const PriorFlags& of_priors,
                                      const OrderFlags& of_order,
                                      const std::string& request_id, bool wait);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_COMMANDS_TRAIN_JOINT_H_
