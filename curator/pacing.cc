#include "curator/pacing.h"

#include <thread>

#include "common/base/error.h"
#include "common/base/log.h"

namespace dpnmf::curator {
namespace {

using std::chrono::nanoseconds;

// Longer than a sleeper is late on an idle machine.
constexpr nanoseconds kWatch = std::chrono::microseconds(200);

absl::Status Overran() {
  return Refusal(
      absl::StatusCode::kUnavailable, "round-overran",
      "the round was not computed in the time that the operator has "
      "set; nothing was charged: ask for it again, or start a run of "
      "a smaller rank or with fewer inner iterations.");
}

absl::Status OverrunsExhausted() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "overruns-exhausted",
                 "rounds of this identity overran the time that the operator "
                 "has set too often: the operator must set a longer one.");
}

}  // namespace

nanoseconds SteadyPaceClock::Now() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void SteadyPaceClock::SleepUntil(nanoseconds instant) {
  std::this_thread::sleep_until(
      std::chrono::steady_clock::time_point(instant - kWatch));
  while (Now() < instant) {
  }
}

Pacer::Pacer(nanoseconds period, PaceClock* clock)
    : period_(period), clock_(clock) {}

// ceil(instant / T) T.
nanoseconds Pacer::TickFrom(nanoseconds instant) const {
  return (instant + period_ - nanoseconds(1)) / period_ * period_;
}

void Pacer::AwaitTick() const {
  clock_->SleepUntil(TickFrom(clock_->Now() + nanoseconds(1)));
}

absl::Status Pacer::Run(const std::string& identity, const Work& work) {
  MutexLock lock(&slot_);
  int& overruns = overruns_[identity];
  if (overruns >= kMostOverruns) return OverrunsExhausted();
  const nanoseconds deadline = TickFrom(clock_->Now() + period_);
  const absl::Status done =
      work([this, deadline] { return clock_->Now() > deadline; });
  if (clock_->Now() <= deadline) {
    clock_->SleepUntil(deadline);
    return done;
  }
  ++overruns;
  LogWarning("a round of {} overran its time ({} of {} allowed)", identity,
             overruns, kMostOverruns);
  AwaitTick();
  return Overran();
}

}  // namespace dpnmf::curator
