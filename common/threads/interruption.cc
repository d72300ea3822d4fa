#include "common/threads/interruption.h"

#include <csignal>
#include <string>

#include "common/base/error.h"

namespace dpnmf {
namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void InterruptGently() {
  const auto handler = [](int signal) {
    interrupted = 1;
    std::signal(signal, SIG_DFL);
  };
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

bool Interrupted() { return interrupted != 0; }

absl::Status AsInterruption(absl::Status status) {
  if (!Interrupted() || !absl::IsCancelled(status) ||
      ReasonCode(status) != "cancelled")
    return status;
  return Refusal(absl::StatusCode::kCancelled, "interrupted",
                 std::string(status.message()));
}

}  // namespace dpnmf
