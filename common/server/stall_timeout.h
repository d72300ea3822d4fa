// Ends calls that make no progress.
//
// gRPC's deadline is wall clock for a whole call; a training run may take days.
// The guard instead cancels a call when nothing has moved on it for a while.
#ifndef DPNMF_COMMON_SERVER_STALL_TIMEOUT_H_
#define DPNMF_COMMON_SERVER_STALL_TIMEOUT_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <thread>

#include "common/threads/mutex.h"

namespace dpnmf {

// Calls `cancel` once, from a thread of its own, when `limit` passes without
// Touch(), unless paused. `cancel` must be safe from any thread
// (grpc::ServerContext::TryCancel and ClientContext::TryCancel are). The
// destructor waits for a cancel under way. Thread-safe.
class StallTimeout {
 public:
  StallTimeout(std::chrono::milliseconds limit, std::function<void()> cancel);
  ~StallTimeout();
  StallTimeout(const StallTimeout&) = delete;
  StallTimeout& operator=(const StallTimeout&) = delete;

  // Something moved: the limit starts again; ends a pause.
  void Touch();
  // The own side is at work: the peer is not to blame for the silence.
  void Pause();
  // Returns true once the limit has passed; set before `cancel` is called.
  bool expired();

 private:
  void Watch();

  const std::chrono::milliseconds limit_;
  const std::function<void()> cancel_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;
  bool expired_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point deadline_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_STALL_TIMEOUT_H_
