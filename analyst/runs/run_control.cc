#include "analyst/runs/run_control.h"

namespace dpnmf::analyst {

void RunControl::Cancel() {
  MutexLock lock(&mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

void RunControl::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
  if (stream_ != nullptr) stream_->Cancel();
  changed_.notify_all();
}

bool RunControl::cancelled() const {
  MutexLock lock(&mutex_);
  return cancelled_;
}

bool RunControl::stopped() const {
  MutexLock lock(&mutex_);
  return stopped_;
}

bool RunControl::SetLearning(double share) {
  constexpr double kStep = 0.02;
  MutexLock lock(&mutex_);
  if (share < 0 || share >= 1) {
    learning_ = -1;
    return false;
  }
  if (learning_ >= 0 && share < learning_ + kStep) return false;
  learning_ = share;
  return true;
}

double RunControl::learning() const {
  MutexLock lock(&mutex_);
  return learning_;
}

void RunControl::Wait(std::chrono::milliseconds duration, bool wake_on_cancel) {
  const auto until = std::chrono::steady_clock::now() + duration;
  MutexLock lock(&mutex_);
  while (!stopped_ && !(wake_on_cancel && cancelled_)) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) return;
  }
}

void RunControl::Attach(RunStream* stream) {
  MutexLock lock(&mutex_);
  stream_ = stream;
  if (stopped_ && stream_ != nullptr) stream_->Cancel();
}

}  // namespace dpnmf::analyst
