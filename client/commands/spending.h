// Stops before budget is spent on what is free, or on a run that gives little.
#ifndef DPNMF_CLIENT_COMMANDS_SPENDING_H_
#define DPNMF_CLIENT_COMMANDS_SPENDING_H_

#include <string>

#include "absl/status/status.h"
#include "client/session/session.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

// Asks on a terminal, and refuses without one or if the answer is not yes, in
// this order:
// - "release-paid": one of `runs` has paid for what the planned run would pay
//   for, or will: a second moment of the data set, if the planned run is one
//   fit to such a moment, which `dpnmf refit` gives at no cost; else a model of
//   the same mechanism, rank and rounds at this epsilon or a larger one. Not
//   asked if the planned run has a request id, which names another release.
// - "run-unreliable": less than half of the parts can be expected to be
//   reliable; unless the run is to start even if none is.
// `plan` would not be refused.
absl::Status ConfirmSpending(const Session& session,
                             const v1::PlanRunReply& plan,
                             const v1::ListRunsReply& runs);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_COMMANDS_SPENDING_H_
