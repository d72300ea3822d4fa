// Watching a run to its end over a connection that may break.
#ifndef DPNMF_CLIENT_SESSION_WATCHER_H_
#define DPNMF_CLIENT_SESSION_WATCHER_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/session/client.h"
#include "client/session/interrupt.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

// How often a lost server is tried again: pauses double from first to largest,
// and start over with every event.
struct RetryPolicy {
  absl::Duration first_pause = absl::Milliseconds(500);
  absl::Duration largest_pause = absl::Seconds(10);
  // Pauses in a row, added up, after which the watch ends with an error.
  absl::Duration give_up_after = absl::Minutes(2);
};

struct WatchOutcome {
  bool interrupted = false;
  v1::Run run;  // as it stands at the end; unset if interrupted
};

struct WatchCallbacks {
  // Each event once, in order.
  std::function<void(const v1::RunEvent&)> on_event;
  // Between events: the share of learning that is done. May be null.
  std::function<void(double)> on_learning = {};
  // Before a pause: why, and how long.
  std::function<void(const absl::Status&, absl::Duration)> on_retry;
};

// Follows the run until it has ended. After a lost connection it asks again
// from the last event seen. UNAVAILABLE "unreachable" after give_up_after;
// other errors of the service at once.
absl::StatusOr<WatchOutcome> WatchToEnd(const AnalystClient& client,
                                        const std::string& run_id,
                                        const RetryPolicy& policy,
                                        const WatchCallbacks& callbacks,
                                        Interrupt* interrupt);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_WATCHER_H_
