#include "common/server/quota.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf {

using std::chrono::steady_clock;

Quota::Quota(const Limits& limits, Clock clock)
    : limits_(limits), clock_(clock ? std::move(clock) : steady_clock::now) {}

Quota::Lease::~Lease() {
  if (quota_ != nullptr) quota_->Leave(identity_);
}

Quota::Lease::Lease(Lease&& other) noexcept
    : quota_(std::exchange(other.quota_, nullptr)),
      identity_(std::move(other.identity_)) {}

absl::Status Quota::Lease::Message() const {
  MutexLock lock(&quota_->mutex_);
  return quota_->TakeMessage(&quota_->UseOf(identity_));
}

Quota::Use& Quota::UseOf(const std::string& identity) {
  const auto [found, is_new] = uses_.try_emplace(identity);
  if (is_new) {
    found->second.messages = 2.0 * limits_.messages_per_second;
    found->second.filled = clock_();
  }
  return found->second;
}

absl::Status Quota::TakeMessage(Use* use) {
  const auto now = clock_();
  const double seconds =
      std::chrono::duration<double>(now - use->filled).count();
  use->messages =
      std::min(2.0 * limits_.messages_per_second,
               use->messages + seconds * limits_.messages_per_second);
  use->filled = now;
  if (use->messages >= 1) {
    use->messages -= 1;
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kUnavailable, "too-many-messages",
                 absl::StrCat("This identity sends more than ",
                              limits_.messages_per_second,
                              " messages a second; wait, then try again."));
}

absl::StatusOr<Quota::Lease> Quota::Enter(const std::string& identity) {
  MutexLock lock(&mutex_);
  Use& use = UseOf(identity);
  if (use.calls >= limits_.calls) {
    return Refusal(absl::StatusCode::kUnavailable, "too-many-calls",
                   absl::StrCat("This identity has ", limits_.calls,
                                " open calls, which is its limit; end one."));
  }
  DPNMF_RETURN_IF_ERROR(TakeMessage(&use));
  ++use.calls;
  return Lease(this, identity);
}

void Quota::Leave(const std::string& identity) {
  MutexLock lock(&mutex_);
  --uses_.at(identity).calls;
  // Forgets identities with no open calls and a refilled bucket.
  const auto now = clock_();
  std::erase_if(uses_, [&](const auto& entry) {
    return entry.second.calls == 0 &&
           now - entry.second.filled > std::chrono::seconds(2);
  });
}

std::size_t Quota::identities() const {
  MutexLock lock(&mutex_);
  return uses_.size();
}

}  // namespace dpnmf
