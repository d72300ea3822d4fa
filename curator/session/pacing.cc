#include "curator/session/pacing.h"

#include <exception>
#include <thread>
#include <utility>

#include "common/base/error.h"
#include "common/log/log.h"

namespace dpnmf::curator {
namespace {

using std::chrono::nanoseconds;

// Longer than a sleeper is late on an idle machine.
constexpr nanoseconds kWatch = std::chrono::microseconds(200);

absl::Status Overran() {
  return Refusal(absl::StatusCode::kUnavailable, "round-overran",
                 "The round was not computed in the time that the operator has "
                 "set, and nothing was charged: ask for it again, or start a "
                 "run with a smaller rank or fewer inner iterations.");
}

absl::Status OverrunsExhausted() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "overruns-exhausted",
                 "Rounds of this identity exceeded the time that the operator "
                 "has set too often: the operator must set a longer time.");
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

// Fields but the first two are guarded by the pacer's mutex_.
struct Pacer::Job {
  Work work;  // of the pacer's thread
  nanoseconds deadline;
  bool over = false;
  nanoseconds ended{};
  absl::Status status;
  std::exception_ptr failure;
};

Pacer::Pacer(nanoseconds period, PaceClock* clock)
    : period_(period), clock_(clock), thread_([this] { WorkUntilStopped(); }) {}

Pacer::~Pacer() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// ceil(instant / T) T.
nanoseconds Pacer::TickFrom(nanoseconds instant) const {
  return (instant + period_ - nanoseconds(1)) / period_ * period_;
}

void Pacer::AwaitTick() const {
  clock_->SleepUntil(TickFrom(clock_->Now() + nanoseconds(1)));
}

void Pacer::Begin(std::shared_ptr<Job> job) {
  {
    MutexLock lock(&mutex_);
    next_ = std::move(job);
  }
  changed_.notify_all();
}

bool Pacer::IsOver(const Job& job) {
  MutexLock lock(&mutex_);
  return job.over;
}

bool Pacer::EndedInTime(const Job& job) {
  MutexLock lock(&mutex_);
  if (next_.get() == &job) next_.reset();
  return job.over && job.ended <= job.deadline;
}

void Pacer::WorkUntilStopped() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      MutexLock lock(&mutex_);
      while (next_ == nullptr && !stopped_) changed_.wait(mutex_);
      if (stopped_) return;
      job = std::move(next_);
      next_ = nullptr;
    }
    absl::Status status;
    std::exception_ptr failure;
    try {
      status =
          job->work([this, &job] { return clock_->Now() > job->deadline; });
    } catch (...) {
      failure = std::current_exception();
    }
    const nanoseconds ended = clock_->Now();
    // This thread's own. It may free H, which takes long: nobody waits for it.
    job->work = nullptr;
    MutexLock lock(&mutex_);
    job->status = std::move(status);
    job->failure = std::move(failure);
    job->ended = ended;
    job->over = true;
  }
}

absl::Status Pacer::Run(const std::string& identity, Work work) {
  MutexLock slot(&slot_);
  int& overruns = overruns_[identity];
  if (overruns >= kMostOverruns) return OverrunsExhausted();
  const nanoseconds deadline = TickFrom(clock_->Now() + period_);
  const auto job = std::make_shared<Job>();
  job->work = std::move(work);
  job->deadline = deadline;
  Begin(job);
  clock_->SleepWhileWorking(deadline, [&] { return IsOver(*job); });
  if (EndedInTime(*job)) {
    if (job->failure != nullptr) std::rethrow_exception(job->failure);
    return job->status;
  }
  ++overruns;
  LogWarning("a round of {} overran its time ({} of {} allowed)", identity,
             overruns, kMostOverruns);
  clock_->SleepUntil(deadline + period_);
  return Overran();
}

}  // namespace dpnmf::curator
