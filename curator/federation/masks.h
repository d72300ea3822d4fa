// Masks that cancel in the sum of all curators of a federation.
//
// Each pair of curators agrees on a secret by X25519 with keys that are fresh
// for the round, and both expand
//   key = HKDF-SHA256(secret, salt = "dpnmf federation mask 1",
//                     info = both names, both keys, the transcript)
// to a stream of AES-256 in counter mode. The curator that stands first in
// federation.json adds the stream to its noised sums modulo 2^64, the other
// one subtracts it. The transcript (TranscriptOf of common/federation/offer.h)
// holds U, all keys, the plan, the hash of W, the analyst, the run and the
// round: whoever shows another curator's key as its own gets another stream
// (docs/reference/federation.md, condition 2).
//
// Masks hide a curator's numbers from whoever carries them; what protects its
// people is the noise.
#ifndef DPNMF_CURATOR_FEDERATION_MASKS_H_
#define DPNMF_CURATOR_FEDERATION_MASKS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/federation/offer.h"
#include "common/nmf/noised_matrix.h"

namespace dpnmf::curator {

// 32 bytes, wiped when destroyed. Not copyable.
class Secret {
 public:
  Secret() = default;
  ~Secret();
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&&) = delete;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  std::array<std::uint8_t, 32>& bytes() { return bytes_; }
  const std::array<std::uint8_t, 32>& bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, 32> bytes_{};
};

// A private X25519 key, held in memory alone and wiped by OpenSSL. Thread-safe.
// The process stops if OpenSSL cannot draw one.
class ExchangeKey {
 public:
  static ExchangeKey Generate();
  ~ExchangeKey();
  ExchangeKey(ExchangeKey&& other) noexcept;
  ExchangeKey& operator=(ExchangeKey&&) = delete;
  ExchangeKey(const ExchangeKey&) = delete;
  ExchangeKey& operator=(const ExchangeKey&) = delete;

  const ExchangePublicKey& public_key() const { return public_key_; }
  // Returns nullopt if the other key is not a point of large order: the secret
  // would be all zeros, whoever holds the private keys.
  std::optional<Secret> SharedWith(const ExchangePublicKey& other) const;

 private:
  struct State;
  explicit ExchangeKey(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  ExchangePublicKey public_key_{};
};

// The masks of one curator for one round. Not thread-safe.
class Masks {
 public:
  // `members` and `keys`: of all curators in the order of federation.json;
  // members[self] is this one. FAILED_PRECONDITION "federation-keys-equal" if
  // another curator has this one's key, "federation-key-invalid" for a shared
  // secret of zeros, "federation-key-lost" if keys[self] is not `own`'s.
  static absl::StatusOr<Masks> Create(const ExchangeKey& own, std::size_t self,
                                      std::span<const std::string> members,
                                      std::span<const ExchangePublicKey> keys,
                                      const Digest& transcript);

  // Adds the masks to the lattice integers of all parts, in order, modulo 2^64.
  // A function of the round alone: a second call would add the same again.
  void AddTo(std::vector<NoisedMatrix>* parts) const;

 private:
  struct Pair {
    bool adds = false;
    Secret key;
  };
  std::vector<Pair> pairs_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_FEDERATION_MASKS_H_
