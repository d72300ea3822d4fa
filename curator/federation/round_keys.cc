#include "curator/federation/round_keys.h"

namespace dpnmf::curator {

std::shared_ptr<const ExchangeKey> RoundKeys::KeyOf(const std::string& identity,
                                                    const std::string& run_id,
                                                    std::uint32_t round,
                                                    const Digest& request) {
  MutexLock lock(&mutex_);
  Held& held = held_[{identity, run_id}];
  if (held.key == nullptr || held.round != round || held.request != request) {
    held = {round, request,
            std::make_shared<const ExchangeKey>(ExchangeKey::Generate())};
  }
  return held.key;
}

std::shared_ptr<const ExchangeKey> RoundKeys::Find(
    const std::string& identity, const std::string& run_id, std::uint32_t round,
    const Digest& request) const {
  MutexLock lock(&mutex_);
  const auto found = held_.find({identity, run_id});
  if (found == held_.end() || found->second.round != round ||
      found->second.request != request) {
    return nullptr;
  }
  return found->second.key;
}

void RoundKeys::Forget(const std::string& identity, const std::string& run_id) {
  MutexLock lock(&mutex_);
  held_.erase({identity, run_id});
}

}  // namespace dpnmf::curator
