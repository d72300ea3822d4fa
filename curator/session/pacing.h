// Paced mode: when a reply leaves is a function of a schedule, not of the data.
//
// The operator declares a period T. Ticks are the multiples of T on a steady
// clock. A round whose sums are computed takes two of them:
//
//   slot begins -> sums computed -> first tick >= begin + T -> charge, noise,
//   store -> next tick -> reply
//
// Nothing that others can see (the charge, the lock of the run, the reply)
// happens between the end of the computation and the tick. Slots follow one
// another, so that no other round makes one slower.
//
// Work that is not done by its tick has overrun: it is told to stop, and its
// refusal leaves at the next tick, with nothing charged. At that tick the slot
// ends too, whether or not the work has stopped by then: how long it goes on
// does not show. Work runs on one thread of the pacer, so what still goes on
// takes its time from the slot after it, which may overrun in turn. An identity
// may overrun a fixed number of times, since each overrun may tell one bit.
//
// Not hidden: that bit; what the machine itself shows (a handshake that takes
// longer while cores are busy); differences below the clock's and the
// scheduler's own jitter.
#ifndef DPNMF_CURATOR_SESSION_PACING_H_
#define DPNMF_CURATOR_SESSION_PACING_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/threads/mutex.h"

namespace dpnmf::curator {

// Time since a fixed instant. Thread-safe.
class PaceClock {
 public:
  virtual ~PaceClock() = default;
  virtual std::chrono::nanoseconds Now() const = 0;
  virtual void SleepUntil(std::chrono::nanoseconds instant) = 0;
  // SleepUntil while work is under way; over() tells whether it has ended. Real
  // time goes on whether or not it has. A clock that a test moves waits here
  // for the work, which moves it.
  virtual void SleepWhileWorking(std::chrono::nanoseconds instant,
                                 const std::function<bool()>& over) {
    static_cast<void>(over);
    SleepUntil(instant);
  }
};

// The steady clock. It sleeps until shortly before the instant and then looks
// at the clock, since how late a sleeper wakes depends on how long it slept.
class SteadyPaceClock final : public PaceClock {
 public:
  std::chrono::nanoseconds Now() const override;
  void SleepUntil(std::chrono::nanoseconds instant) override;
};

// Overruns that one identity may cause while a curator runs.
inline constexpr int kMostOverruns = 8;

// Thread-safe.
class Pacer {
 public:
  // True once the time of the work is over; may be called from any thread.
  using Expired = std::function<bool()>;
  using Work = std::function<absl::Status(const Expired& expired)>;

  // `period` > 0; `clock` outlives the pacer.
  Pacer(std::chrono::nanoseconds period, PaceClock* clock);
  // Waits until the last work has ended.
  ~Pacer();
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // Waits for a slot, runs `work` in it, and returns what it returned, or
  // throws what it threw, at the first tick that is at least a period after the
  // slot's begin. UNAVAILABLE "round-overran", one tick later, if the work had
  // not ended by then: it may then still go on, or never begin, and what it
  // uses must live as long as it or as the pacer. FAILED_PRECONDITION
  // "overruns-exhausted", without a slot, once `identity` has overrun
  // kMostOverruns times.
  absl::Status Run(const std::string& identity, Work work);

  // Returns at the first tick after now.
  void AwaitTick() const;

 private:
  struct Job;

  std::chrono::nanoseconds TickFrom(std::chrono::nanoseconds instant) const;
  void Begin(std::shared_ptr<Job> job);
  bool IsOver(const Job& job);
  // Returns whether the job ended in time; one that has not begun never begins.
  bool EndedInTime(const Job& job);
  void WorkUntilStopped();

  const std::chrono::nanoseconds period_;
  PaceClock* const clock_;
  Mutex slot_;  // held from a slot's begin to its end
  std::map<std::string, int> overruns_ ABSL_GUARDED_BY(slot_);
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<Job> next_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it begins when all else is there
};

// Pacer::AwaitTick; returns at once if `pacer` is null: nothing is paced.
inline void AwaitTick(const Pacer* pacer) {
  if (pacer != nullptr) pacer->AwaitTick();
}

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SESSION_PACING_H_
