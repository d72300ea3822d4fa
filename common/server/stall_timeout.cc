#include "common/server/stall_timeout.h"

namespace dpnmf {

using std::chrono::steady_clock;

StallTimeout::StallTimeout(std::chrono::milliseconds limit,
                           std::function<void()> cancel)
    : limit_(limit), cancel_(std::move(cancel)) {
  Touch();
  thread_ = std::thread([this] { Watch(); });
}

StallTimeout::~StallTimeout() {
  {
    MutexLock lock(&mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StallTimeout::Touch() {
  {
    MutexLock lock(&mutex_);
    paused_ = false;
    deadline_ = steady_clock::now() + limit_;
  }
  changed_.notify_all();
}

void StallTimeout::Pause() {
  MutexLock lock(&mutex_);
  paused_ = true;
}

bool StallTimeout::expired() {
  MutexLock lock(&mutex_);
  return expired_;
}

void StallTimeout::Watch() {
  MutexLock lock(&mutex_);
  while (!stop_) {
    if (paused_) {
      changed_.wait(mutex_);
    } else if (steady_clock::now() < deadline_) {
      changed_.wait_until(mutex_, steady_clock::time_point(deadline_));
    } else {
      expired_ = true;
      cancel_();
      return;
    }
  }
}

}  // namespace dpnmf
