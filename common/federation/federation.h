// A federation: curators that release sums of all their people together, as
// federation.json declares it. The file is the same, byte for byte, at every
// curator and at the analyst; its SHA-256 is in everything that a curator signs
// for a round.
//
//   {"federation": "hospitals", "colluders": 1, "copies": 1,
//    "adjacency": "replace_one", "conversion": "rdp", "features": 64,
//    "normalisation": "l2", "column_bound": 1, "max_rank": 64,
//    "max_rounds": 1000, "epsilon_if_others_collude": 20,
//    "members": [{"name": "a", "dataset": "digits-a", "users": 599,
//                 "receipt_key": "<64 hexadecimal digits>",
//                 "address": "a.example:7431"}, ...]}
//
// Pure; safe from any thread.
#ifndef DPNMF_COMMON_FEDERATION_FEDERATION_H_
#define DPNMF_COMMON_FEDERATION_FEDERATION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/crypto/ed25519.h"
#include "common/crypto/sha256.h"
#include "common/privacy/noise_shares.h"
#include "common/privacy/run_plan.h"

namespace dpnmf {

inline constexpr std::uint32_t kMostMembers = kMostShares;

struct FederationMember {
  std::string name;         // [a-z0-9][a-z0-9._-]{0,63}, of no other member
  std::string dataset;      // its own data set's name
  std::uint64_t users = 0;  // its N_i, or N0_i
  PublicKey receipt_key{};  // pinned; of no other member
  std::string address;      // HOST:PORT, for the analyst's server
};

struct Federation {
  std::string name;             // of the data set that runs name
  std::uint32_t colluders = 0;  // t: 1 to m - 1
  std::uint32_t copies = 1;     // s: 1 to m
  Adjacency adjacency = Adjacency::kReplaceOne;
  Conversion conversion = Conversion::kRdp;
  std::uint64_t features = 0;
  std::string normalisation;  // "l2" or "none"
  double column_bound = 1;
  std::uint32_t max_rank = 0;
  std::uint32_t max_rounds = 0;
  // Cap on what each population may lose to an analyst that has all other
  // curators on its side, at the population's delta and conversion: (0, 1000].
  double epsilon_if_others_collude = 0;
  std::vector<FederationMember> members;  // U, 2 to kMostMembers
  Digest sha256{};                        // of the file

  std::uint32_t size() const {
    return static_cast<std::uint32_t>(members.size());
  }
  // {m - t, s}.
  NoiseShares shares() const { return {size() - colluders, copies}; }
};

// Checks the form of a member's name: [a-z0-9][a-z0-9._-]{0,63}.
bool IsMemberName(std::string_view text);

// INVALID_ARGUMENT "federation-malformed" with the first thing that is wrong.
absl::StatusOr<Federation> ParseFederation(std::string_view json);
// Besides: NOT_FOUND "federation-unreadable".
absl::StatusOr<Federation> ReadFederation(const std::string& path);

// The facts that every plan of the federation follows from. users: N, the sum
// of all N_i; under add_remove_one the sum of all N0_i and 512 (m - 1), so that
// 2 users + 1024 is what all curators may hold together and the 2^62 bound
// counts everybody. `population` is the federation's name.
DatasetFacts FactsOf(const Federation& federation);

// INVALID_ARGUMENT "federation-mechanism" unless the run releases plain sums
// (Mechanism::may_be_federated).
absl::Status CheckFederatedMechanism(std::string_view mechanism);

// Gain of federating: one sentence for a plan. `members` of FederationFacts.
std::string SharesSentence(std::uint32_t members, std::uint32_t colluders);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FEDERATION_FEDERATION_H_
