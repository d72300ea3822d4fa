#include "client/session/watcher.h"

#include <algorithm>
#include <cstdint>

#include "common/base/error.h"
#include "common/wire/run_state.h"
#include "common/wire/status.h"

namespace dpnmf::cli {
namespace {

// A server that stops, restarts or cannot be reached; not a refusal.
bool IsTransient(const absl::Status& status) {
  return IsConnectionFailure(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

// Doubling pauses with a limit on their sum.
class Pauses {
 public:
  explicit Pauses(const RetryPolicy& policy) : policy_(policy) { Reset(); }
  void Reset() {
    next_ = policy_.first_pause;
    total_ = absl::ZeroDuration();
  }
  bool exhausted() const { return total_ >= policy_.give_up_after; }
  absl::Duration Next() {
    const absl::Duration pause = next_;
    total_ += pause;
    next_ = std::min(2 * next_, policy_.largest_pause);
    return pause;
  }

 private:
  const RetryPolicy policy_;
  absl::Duration next_;
  absl::Duration total_;
};

}  // namespace

absl::StatusOr<WatchOutcome> WatchToEnd(const AnalystClient& client,
                                        const std::string& run_id,
                                        const RetryPolicy& policy,
                                        const WatchCallbacks& callbacks,
                                        Interrupt* interrupt) {
  std::uint64_t cursor = 0;
  Pauses pauses(policy);
  WatchOutcome outcome;
  for (;;) {
    absl::Status status = client.WatchRun(
        run_id, cursor, interrupt, [&](const v1::RunEvent& event) {
          if (event.has_learning()) {
            if (callbacks.on_learning) callbacks.on_learning(event.learning());
            return;
          }
          if (event.cursor() <= cursor) return;  // seen before
          cursor = event.cursor();
          pauses.Reset();
          callbacks.on_event(event);
        });
    if (interrupt->raised()) {
      outcome.interrupted = true;
      return outcome;
    }
    if (status.ok()) {
      // The stream also ends when a server shuts down in an orderly way.
      auto run = client.GetRun(run_id);
      if (run.ok() && IsFinal(run->state())) {
        outcome.run = *std::move(run);
        return outcome;
      }
      status = run.ok() ? Refusal(absl::StatusCode::kUnavailable, "unreachable",
                                  "The server ended the stream of events.")
                        : run.status();
    }
    if (!IsTransient(status) || pauses.exhausted()) return status;
    const absl::Duration pause = pauses.Next();
    callbacks.on_retry(status, pause);
    if (interrupt->WaitFor(pause)) {
      outcome.interrupted = true;
      return outcome;
    }
  }
}

}  // namespace dpnmf::cli
