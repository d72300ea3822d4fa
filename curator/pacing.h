// Paced mode: when a reply leaves is a function of a schedule, not of the data.
//
// The operator declares a period T. Ticks are the multiples of T on a steady
// clock. A round whose sums are computed takes two of them:
//
//   slot begins -> sums computed -> first tick >= begin + T -> charge, noise,
//   store -> next tick -> reply
//
// Nothing that others can see (the charge, the seat of the run, the reply)
// happens between the end of the computation and the tick. Slots follow one
// another, so that no other round makes one slower. Work that is not done by
// its tick is stopped and refused before anything is charged; an identity may
// overrun a fixed number of times, since each overrun may tell one bit.
//
// Not hidden: that bit; what the machine itself shows (a handshake that takes
// longer while cores are busy); differences below the clock's and the
// scheduler's own jitter.
#ifndef DPNMF_CURATOR_PACING_H_
#define DPNMF_CURATOR_PACING_H_

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/base/mutex.h"

namespace dpnmf::curator {

// Time since a fixed instant. Thread-safe.
class PaceClock {
 public:
  virtual ~PaceClock() = default;
  virtual std::chrono::nanoseconds Now() const = 0;
  virtual void SleepUntil(std::chrono::nanoseconds instant) = 0;
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

  // Waits for a slot, runs `work` in it, and returns what it returned at the
  // first tick that is at least a period after the slot's begin. UNAVAILABLE
  // "round-overran" if the work was not done by then, at the tick after it has
  // stopped; FAILED_PRECONDITION "overruns-exhausted", without a slot, once
  // `identity` has overrun kMostOverruns times.
  absl::Status Run(const std::string& identity, const Work& work);

  // Returns at the first tick after now.
  void AwaitTick() const;

 private:
  std::chrono::nanoseconds TickFrom(std::chrono::nanoseconds instant) const;

  const std::chrono::nanoseconds period_;
  PaceClock* const clock_;
  Mutex slot_;  // held by the round that is computed
  std::map<std::string, int> overruns_ ABSL_GUARDED_BY(slot_);
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_PACING_H_
