// Ctrl-C while a command waits: the command ends, the run does not.
#ifndef DPNMF_CLIENT_SESSION_INTERRUPT_H_
#define DPNMF_CLIENT_SESSION_INTERRUPT_H_

#include <condition_variable>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/threads/mutex.h"

namespace dpnmf::cli {

// Takes over SIGINT for its lifetime and gives it back at the end. The first
// signal is noted here; a second one has the default effect. At most one object
// at a time. Thread-safe.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool raised() const;
  // Waits; true as soon as the signal has come.
  bool WaitFor(absl::Duration duration);
  // `action` runs once when the signal comes, on another thread; at once if it
  // has come already. {} takes it back: it does not run after that returns.
  void OnRaise(std::function<void()> action);

 private:
  void Listen();

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  bool raised_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> action_ ABSL_GUARDED_BY(mutex_);
  int pipe_[2];
  std::thread listener_;
};

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_SESSION_INTERRUPT_H_
