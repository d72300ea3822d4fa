// How other threads reach a learner: to cancel its run, or to stop it when the
// server goes down.
#ifndef DPNMF_ANALYST_RUNS_RUN_CONTROL_H_
#define DPNMF_ANALYST_RUNS_RUN_CONTROL_H_

#include <chrono>
#include <condition_variable>

#include "analyst/curators/curator_connection.h"
#include "common/threads/mutex.h"

namespace dpnmf::analyst {

// Thread-safe.
class RunControl {
 public:
  // Ends the run: learning is broken off, the round under way is fetched.
  void Cancel();
  // Leaves the run as it is stored; the call under way is broken off.
  void Stop();

  bool cancelled() const;
  bool stopped() const;

  // How far learning, or a fit, is: the share that is done, in [0, 1); below 0:
  // nothing is under way. SetLearning is true if watchers should hear of it.
  bool SetLearning(double share);
  double learning() const;

  // Waits for `duration`; returns early when stopped, or when cancelled if
  // `wake_on_cancel`.
  void Wait(std::chrono::milliseconds duration, bool wake_on_cancel);

  // The stream that Stop breaks off; nullptr when there is none. A stream
  // attached after Stop is cancelled at once.
  void Attach(RunStream* stream);

 private:
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  RunStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  double learning_ ABSL_GUARDED_BY(mutex_) = -1;
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_RUN_CONTROL_H_
