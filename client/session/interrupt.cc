#include "client/session/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace dpnmf::cli {
namespace {

constexpr char kSignal = 's';
constexpr char kEnd = 'e';

// Pipe of the handler; a handler may use nothing else of the object.
std::atomic<int> signal_pipe{-1};
// Known at once, before the listener has read the pipe.
std::atomic<bool> signal_came{false};
struct sigaction previous_action;

void HandleSignal(int) {
  const int saved_errno = errno;
  signal_came = true;
  const char byte = kSignal;
  [[maybe_unused]] const ssize_t written = write(signal_pipe, &byte, 1);
  errno = saved_errno;
}

}  // namespace

Interrupt::Interrupt() {
  if (pipe2(pipe_, O_CLOEXEC) != 0) std::abort();
  signal_pipe = pipe_[1];
  signal_came = false;
  listener_ = std::thread([this] { Listen(); });
  struct sigaction action = {};
  action.sa_handler = HandleSignal;
  // The second signal does what it always did: the way out if all else hangs.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, &previous_action);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &previous_action, nullptr);
  [[maybe_unused]] const ssize_t written = write(pipe_[1], &kEnd, 1);
  listener_.join();
  signal_pipe = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

void Interrupt::Listen() {
  for (char byte = 0;;) {
    const ssize_t count = read(pipe_[0], &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1 || byte == kEnd) return;
    MutexLock lock(&mutex_);
    raised_ = true;
    if (action_) std::exchange(action_, nullptr)();
    changed_.notify_all();
  }
}

bool Interrupt::raised() const { return signal_came; }

bool Interrupt::WaitFor(absl::Duration duration) {
  const auto until =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(duration);
  MutexLock lock(&mutex_);
  while (!raised_) {
    if (changed_.wait_until(mutex_, until) == std::cv_status::timeout) break;
  }
  return raised_;
}

void Interrupt::OnRaise(std::function<void()> action) {
  MutexLock lock(&mutex_);
  action_ = std::move(action);
  if (raised_ && action_) std::exchange(action_, nullptr)();
}

}  // namespace dpnmf::cli
