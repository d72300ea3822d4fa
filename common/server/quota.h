// Limits on one identity's use of a server at once: open calls, and messages a
// second. A call holds a thread and its buffers, so the limits bound both.
#ifndef DPNMF_COMMON_SERVER_QUOTA_H_
#define DPNMF_COMMON_SERVER_QUOTA_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/threads/mutex.h"

namespace dpnmf {

// Thread-safe.
class Quota {
 public:
  struct Limits {
    std::uint32_t calls = 64;  // open at once
    // Messages received a second; as many again may come at once.
    std::uint32_t messages_per_second = 20'000;
  };
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  explicit Quota(const Limits& limits, Clock clock = {});

  // One open call; ends when destroyed. The quota must outlive it.
  class Lease {
   public:
    ~Lease();
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    // One message more. UNAVAILABLE "too-many-messages".
    absl::Status Message() const;

   private:
    friend class Quota;
    Lease(Quota* quota, std::string identity)
        : quota_(quota), identity_(std::move(identity)) {}
    Quota* quota_;
    std::string identity_;
  };
  // UNAVAILABLE "too-many-calls". The first message is the call's own.
  absl::StatusOr<Lease> Enter(const std::string& identity);

  // Identities that are known now: those with calls or with messages of the
  // last seconds.
  std::size_t identities() const;

 private:
  struct Use {
    std::uint32_t calls = 0;
    double messages = 0;  // that may still come now
    std::chrono::steady_clock::time_point filled;
  };
  absl::Status TakeMessage(Use* use) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Use& UseOf(const std::string& identity) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(const std::string& identity);

  const Limits limits_;
  const Clock clock_;
  mutable Mutex mutex_;
  std::map<std::string, Use> uses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_SERVER_QUOTA_H_
