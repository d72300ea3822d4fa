// Offers that the curators of a federation sign for a round, and the check that
// all of them have signed the same.
//
// Each curator draws an X25519 key for the round and signs it with the key of
// its receipts, together with everything that the round is about. The analyst
// carries the offers between the curators and is not trusted: each curator
// checks all of them itself, against the keys that are pinned in
// federation.json.
//
// Pure; safe from any thread.
#ifndef DPNMF_COMMON_FEDERATION_OFFER_H_
#define DPNMF_COMMON_FEDERATION_OFFER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/crypto/ed25519.h"
#include "common/crypto/sha256.h"
#include "common/federation/federation.h"
#include "common/nmf/noised_matrix.h"
#include "common/privacy/run_plan.h"

namespace dpnmf {

// An X25519 public key (RFC 7748).
using ExchangePublicKey = std::array<std::uint8_t, 32>;

// Facts that every offer of a round must state alike.
struct OfferedRound {
  Digest federation{};  // SHA-256 of federation.json
  std::string analyst;  // the identity that is charged
  std::string run_id;
  std::uint32_t round = 0;
  Digest plan{};                     // HashOf(the share's plan)
  Digest request{};                  // of parameters, round, W, rows
  std::vector<std::string> members;  // U

  friend bool operator==(const OfferedRound&, const OfferedRound&) = default;
};

struct FederationOffer {
  OfferedRound round;
  std::string curator;
  ExchangePublicKey key{};
  Signature signature{};

  friend bool operator==(const FederationOffer&,
                         const FederationOffer&) = default;
};

// Every number of a plan, in a fixed order: bits, bounds, and of each stage its
// rounds, price, parts, shapes, steps, deviations and norms.
Digest HashOf(const RunPlan& plan);

// The names of all members, in the order of the file.
std::vector<std::string> MembersOf(const Federation& federation);

// "dpnmf federation offer 1" and the SHA-256 of all fields but the signature: a
// domain of its own, apart from receipts (common/wire/receipt.h).
std::vector<std::byte> SignedBytes(const FederationOffer& offer);

// The keys of the members in the order of the file, if there is exactly one
// offer of each member and none of anybody else, every offer says `expected`,
// every signature is the pinned key's, and all keys differ.
// FAILED_PRECONDITION "federation-offers-incomplete" (one is missing, twice or
// a stranger's), "federation-offer-differs" (another round, plan, request or
// set), "federation-signature-invalid", "federation-keys-equal".
absl::StatusOr<std::vector<ExchangePublicKey>> CheckOffers(
    const Federation& federation, const OfferedRound& expected,
    const std::vector<FederationOffer>& offers);

// The hash of the round and of all keys, which the charge and every mask are
// bound to: "dpnmf federation round 1".
Digest TranscriptOf(const OfferedRound& round,
                    std::span<const ExchangePublicKey> keys);

// The keys as a part of a release, named kKeysPart: 4 x m words, a column a
// member. Public. They stand last, and are no sum.
inline constexpr char kKeysPart[] = "keys";
NoisedMatrix KeysPart(std::span<const ExchangePublicKey> keys);
// Returns no keys unless the last part is that of `members` keys.
std::vector<ExchangePublicKey> KeysIn(const std::vector<NoisedMatrix>& parts,
                                      std::uint32_t members);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FEDERATION_OFFER_H_
