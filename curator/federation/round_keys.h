// The keys that this curator has offered for rounds that are not charged yet.
//
// In memory alone: a restart loses them, and with them the rounds that other
// curators have charged by then. Two streams of one run find the same key, so
// that a broken connection loses nothing.
#ifndef DPNMF_CURATOR_FEDERATION_ROUND_KEYS_H_
#define DPNMF_CURATOR_FEDERATION_ROUND_KEYS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/crypto/sha256.h"
#include "common/threads/mutex.h"
#include "curator/federation/masks.h"

namespace dpnmf::curator {

// Thread-safe. One key a run at most: of its latest round that was asked for.
class RoundKeys {
 public:
  // The key of the round; drawn at the first call, and again for another round
  // or another request.
  std::shared_ptr<const ExchangeKey> KeyOf(const std::string& identity,
                                           const std::string& run_id,
                                           std::uint32_t round,
                                           const Digest& request);
  // Returns null if no key is held for exactly this round and request.
  std::shared_ptr<const ExchangeKey> Find(const std::string& identity,
                                          const std::string& run_id,
                                          std::uint32_t round,
                                          const Digest& request) const;
  // Drops the key of a round that is charged, or of a run that is closed.
  void Forget(const std::string& identity, const std::string& run_id);

 private:
  struct Held {
    std::uint32_t round = 0;
    Digest request{};
    std::shared_ptr<const ExchangeKey> key;
  };
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Held> held_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FEDERATION_ROUND_KEYS_H_
