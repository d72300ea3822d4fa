// Seconds since a moment, for what a program says about its own speed.
#ifndef DPNMF_COMMON_BASE_STOPWATCH_H_
#define DPNMF_COMMON_BASE_STOPWATCH_H_

#include <chrono>

namespace dpnmf {

// Runs from its construction; assign Stopwatch() to begin again.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_STOPWATCH_H_
