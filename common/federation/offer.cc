#include "common/federation/offer.h"

#include <bit>
#include <cstring>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"

namespace dpnmf {
namespace {

// Words of keys are read as the machine stores them.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kSignedWhat = "dpnmf federation offer 1";
constexpr std::size_t kKeyWords = 4;

absl::Status Differs(std::string_view code, std::string_view sentence) {
  return Refusal(absl::StatusCode::kFailedPrecondition, code, sentence);
}

Sha256& AddDigest(const Digest& digest, Sha256* hash) {
  return hash->AddBytes(std::as_bytes(std::span(digest)));
}

void AddRound(const OfferedRound& round, Sha256* hash) {
  AddDigest(round.federation, hash)
      .AddString(round.analyst)
      .AddString(round.run_id)
      .AddInteger(round.round);
  AddDigest(round.plan, hash);
  AddDigest(round.request, hash).AddInteger(round.members.size());
  for (const std::string& member : round.members) hash->AddString(member);
}

void AddCost(MuSquared cost, Sha256* hash) {
  hash->AddInteger(static_cast<std::uint64_t>(cost.units()))
      .AddInteger(static_cast<std::uint64_t>(cost.units() >> 64));
}

void AddPart(const PartPlan& part, Sha256* hash) {
  hash->AddString(part.name)
      .AddInteger(part.rows)
      .AddInteger(part.columns)
      .AddInteger(part.symmetric ? 1 : 0)
      .AddInteger(static_cast<std::uint64_t>(part.step_exponent))
      .AddInteger(part.stddev_steps)
      .AddInteger(part.diagonal_stddev_steps)
      .AddInteger(part.left_norm_steps)
      .AddInteger(part.right_norm_steps)
      .AddInteger(part.whole_sensitivity ? 1 : 0);
}

}  // namespace

Digest HashOf(const RunPlan& plan) {
  Sha256 hash;
  hash.AddString("dpnmf federation plan 1")
      .AddInteger(static_cast<std::uint64_t>(plan.coefficient_bits))
      .AddInteger(static_cast<std::uint64_t>(plan.data_bits))
      .AddDouble(plan.coefficient_bound)
      .AddDouble(plan.data_bound)
      .AddInteger(plan.stages.size());
  for (const StagePlan& stage : plan.stages) {
    hash.AddString(stage.release)
        .AddInteger(stage.rounds)
        .AddInteger(stage.parts.size());
    for (const PartPlan& part : stage.parts) AddPart(part, &hash);
    AddCost(stage.cost_per_round, &hash);
  }
  AddCost(plan.cost, &hash);
  return hash.Finish();
}

std::vector<std::string> MembersOf(const Federation& federation) {
  std::vector<std::string> names;
  for (const FederationMember& member : federation.members)
    names.push_back(member.name);
  return names;
}

std::vector<std::byte> SignedBytes(const FederationOffer& offer) {
  Sha256 hash;
  AddRound(offer.round, &hash);
  hash.AddString(offer.curator).AddBytes(std::as_bytes(std::span(offer.key)));
  const Digest digest = hash.Finish();
  std::vector<std::byte> bytes;
  for (const char c : kSignedWhat) bytes.push_back(static_cast<std::byte>(c));
  for (const std::uint8_t b : digest) bytes.push_back(std::byte{b});
  return bytes;
}

absl::StatusOr<std::vector<ExchangePublicKey>> CheckOffers(
    const Federation& federation, const OfferedRound& expected,
    const std::vector<FederationOffer>& offers) {
  const auto incomplete = [] {
    return Differs("federation-offers-incomplete",
                   "A round needs exactly one offer of each curator of the "
                   "federation, and no others: send all of them.");
  };
  if (offers.size() != federation.members.size()) return incomplete();
  std::vector<ExchangePublicKey> keys;
  std::set<ExchangePublicKey> seen;
  for (const FederationMember& member : federation.members) {
    const FederationOffer* found = nullptr;
    for (const FederationOffer& offer : offers) {
      if (offer.curator == member.name) found = &offer;
    }
    if (found == nullptr) return incomplete();
    if (found->round != expected) {
      return Differs(
          "federation-offer-differs",
          absl::StrCat("The offer of `", member.name,
                       "` is for another round, plan, dictionary or set of "
                       "curators: ask all curators for the same round, and "
                       "give all of them the same federation.json."));
    }
    if (!Verify(member.receipt_key, SignedBytes(*found), found->signature)) {
      return Differs(
          "federation-signature-invalid",
          absl::StrCat(
              "The offer of `", member.name,
              "` is not signed with its receipt key in federation.json."));
    }
    if (!seen.insert(found->key).second) {
      return Differs("federation-keys-equal",
                     absl::StrCat("The offer of `", member.name,
                                  "` has the key of another curator, so its "
                                  "masks would hide nothing."));
    }
    keys.push_back(found->key);
  }
  return keys;
}

Digest TranscriptOf(const OfferedRound& round,
                    std::span<const ExchangePublicKey> keys) {
  Sha256 hash;
  hash.AddString("dpnmf federation round 1");
  AddRound(round, &hash);
  hash.AddInteger(keys.size());
  for (const ExchangePublicKey& key : keys)
    hash.AddBytes(std::as_bytes(std::span(key)));
  return hash.Finish();
}

NoisedMatrix KeysPart(std::span<const ExchangePublicKey> keys) {
  NoisedMatrix part;
  part.name = kKeysPart;
  part.rows = kKeyWords;
  part.columns = keys.size();
  part.lattice.resize(kKeyWords * keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    std::memcpy(&part.lattice[kKeyWords * i], keys[i].data(), keys[i].size());
  return part;
}

std::vector<ExchangePublicKey> KeysIn(const std::vector<NoisedMatrix>& parts,
                                      std::uint32_t members) {
  if (parts.empty()) return {};
  const NoisedMatrix& last = parts.back();
  if (last.name != kKeysPart || !last.is_lattice || last.symmetric ||
      last.rows != kKeyWords || last.columns != members ||
      last.lattice.size() != kKeyWords * members) {
    return {};
  }
  std::vector<ExchangePublicKey> keys(members);
  for (std::size_t i = 0; i < keys.size(); ++i)
    std::memcpy(keys[i].data(), &last.lattice[kKeyWords * i], keys[i].size());
  return keys;
}

}  // namespace dpnmf
