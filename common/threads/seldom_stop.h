// A question of whether to stop that costs much, asked seldom.
#ifndef DPNMF_COMMON_THREADS_SELDOM_STOP_H_
#define DPNMF_COMMON_THREADS_SELDOM_STOP_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "common/threads/stop.h"

namespace dpnmf {

inline constexpr std::chrono::milliseconds kStopInterval{10};

// `stop`, asked at first and then at most once in kStopInterval, by all copies
// together: for an answer that costs more than a look at the clock. gRPC takes
// tens of microseconds to say whether a call was cancelled, and matrix products
// ask thousands of times a second. `now` tells the time.
inline Stop AskedSeldom(Stop stop,
                        std::function<std::chrono::steady_clock::time_point()>
                            now = std::chrono::steady_clock::now) {
  struct State {
    std::optional<std::chrono::steady_clock::time_point> asked;
    bool stopped = false;
  };
  return [stop = std::move(stop), now = std::move(now),
          state = std::make_shared<State>()] {
    if (state->stopped) return true;
    const auto time = now();
    if (state->asked.has_value() && time - *state->asked < kStopInterval)
      return false;
    state->asked = time;
    state->stopped = Stopped(stop);
    return state->stopped;
  };
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_THREADS_SELDOM_STOP_H_
