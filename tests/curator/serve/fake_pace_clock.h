// A clock for paced mode that the test moves. Thread safe, but for
// `before_sleep`, which is set while nobody sleeps.
#ifndef DPNMF_TESTS_CURATOR_SERVE_FAKE_PACE_CLOCK_H_
#define DPNMF_TESTS_CURATOR_SERVE_FAKE_PACE_CLOCK_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "curator/session/pacing.h"

namespace dpnmf::curator {

class FakeClock final : public PaceClock {
 public:
  std::chrono::nanoseconds Now() const override {
    return std::chrono::nanoseconds(now_.fetch_add(each_reading_) +
                                    each_reading_);
  }
  void SleepUntil(std::chrono::nanoseconds instant) override {
    if (before_sleep) before_sleep();
    now_ = std::max<std::int64_t>(now_, instant.count());
    ++sleeps;
  }
  // Waits until the work has ended or has moved the clock past the instant.
  void SleepWhileWorking(std::chrono::nanoseconds instant,
                         const std::function<bool()>& over) override {
    ++waits;
    while (!over() && now() <= instant) std::this_thread::yield();
    SleepUntil(instant);
  }
  void Pass(std::chrono::nanoseconds time) { now_ += time.count(); }
  void PassAtEachReading(std::chrono::nanoseconds time) {
    each_reading_ = time.count();
  }
  std::chrono::nanoseconds now() const {
    return std::chrono::nanoseconds(now_);
  }

  std::function<void()> before_sleep;
  std::atomic<int> sleeps = 0;
  std::atomic<int> waits = 0;  // for work, begun

 private:
  mutable std::atomic<std::int64_t> now_ = 0;
  std::atomic<std::int64_t> each_reading_ = 0;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_SERVE_FAKE_PACE_CLOCK_H_
