// Data that a curator and an analyst take from other parties of a federation
// and from the ranks beneath a curator: federation.json, the offers of a round,
// masked releases and their sum, commands and answers of ranks. Each is refused
// with a code, or gives exactly what a plain reading of the contract allows: an
// answer that is incomplete or of another command never becomes a sum.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>
#include <span>
#include <thread>

#include "absl/strings/escaping.h"
#include "analyst/curators/federated_curator.h"
#include "common/base/error.h"
#include "common/federation/federation.h"
#include "common/federation/offer.h"
#include "common/federation/offer_wire.h"
#include "common/learning/mechanism.h"
#include "common/wire/convert.h"
#include "common/wire/receipt.h"
#include "common/wire/release.h"
#include "curator/federation/masks.h"
#include "curator/ranks/frames.h"
#include "curator/ranks/rank_answer.h"
#include "curator/ranks/share_sums.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/fuzz_target.h"

namespace dpnmf::fuzz::parties {
namespace {

using curator::ExchangeKey;
using curator::Masks;
using curator::RankCommand;
using nlohmann::json;

constexpr std::uint32_t kMembers = 3, kRank = 2;
constexpr std::uint64_t kFeatures = 4, kPeople = 40;
constexpr char kRunId[] = "0123456789abcdef0123456789abcdef";
constexpr const char* kNames[kMembers] = {"a", "b", "c"};

template <typename Value>
bool Read(const std::string& what, const absl::StatusOr<Value>& value) {
  Count(what + (value.ok() ? " read" : " refused"));
  if (!value.ok()) DemandRefusal(value.status());
  return value.ok();
}

// Counts the code of a refusal.
void Refused(const absl::Status& status) {
  DemandRefusal(status);
  Count(ReasonCode(status));
}

// The same in every process, so that an input means the same.
SigningKey KeyOfMember(std::uint32_t member) {
  const char begin[] =
      "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
  std::string bytes(begin, sizeof begin - 1);
  bytes += std::string(32, static_cast<char>(1 + member));
  return *SigningKey::FromPem("-----BEGIN PRIVATE KEY-----\n" +
                              absl::Base64Escape(bytes) +
                              "\n-----END PRIVATE KEY-----\n");
}

// ---------------------------------------------------------- federation.json

std::string FederationText(const Federation& federation) {
  json members = json::array();
  for (const FederationMember& member : federation.members) {
    members.push_back({{"name", member.name},
                       {"dataset", member.dataset},
                       {"users", member.users},
                       {"receipt_key", HexOf(member.receipt_key)},
                       {"address", member.address}});
  }
  const json all = {
      {"federation", federation.name},
      {"colluders", federation.colluders},
      {"copies", federation.copies},
      {"adjacency", std::string(NameOf(federation.adjacency))},
      {"conversion", std::string(NameOf(federation.conversion))},
      {"features", federation.features},
      {"normalisation", federation.normalisation},
      {"column_bound", federation.column_bound},
      {"max_rank", federation.max_rank},
      {"max_rounds", federation.max_rounds},
      {"epsilon_if_others_collude", federation.epsilon_if_others_collude},
      {"members", members}};
  return all.dump();
}

Federation SomeFederation() {
  Federation federation;
  federation.name = "f";
  federation.colluders = 1;
  federation.features = kFeatures;
  federation.normalisation = "l2";
  federation.max_rank = 8;
  federation.max_rounds = 9;
  federation.epsilon_if_others_collude = 8;
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    FederationMember member;
    member.name = kNames[i];
    member.dataset = std::string("d-") + kNames[i];
    member.users = 100;
    member.receipt_key = KeyOfMember(i).public_key();
    member.address = "localhost:1";
    federation.members.push_back(member);
  }
  return ParseFederation(FederationText(federation)).value();
}

RunParameters RunOn(const DatasetFacts& facts) {
  RunParameters run;
  run.dataset = facts.name;
  run.rank = std::min(kRank, facts.max_rank);
  run.rounds = 1;
  run.epsilon = 1;
  run.delta = 1e-5;
  run.adjacency = facts.adjacency;
  run.conversion = facts.conversion;
  return run;
}

// Demands that the shares add up to the plan's noise and cost no more.
void DemandShares(const Federation& federation) {
  const DatasetFacts facts = FactsOf(federation);
  Uint128 most = 0;
  for (const FederationMember& member : federation.members) {
    DatasetFacts own = facts;
    own.users = member.users;
    most += LargestUserCount(own);
  }
  Demand(LargestUserCount(facts) >= most, "people that no plan counts");
  const auto whole = PlanRun(RunOn(facts), facts);
  if (!Read("plan", whole)) return;
  const NoiseShares shares = federation.shares();
  const auto share = ShareOfPlan(*whole, federation.adjacency, shares);
  if (!Read("share", share)) return;
  Demand(share->cost <= whole->cost, "shares cost more than the whole");
  for (std::size_t p = 0; p < whole->stages[0].parts.size(); ++p) {
    const Uint128 all =
        Uint128{whole->stages[0].parts[p].stddev_steps} * shares.copies;
    const Uint128 own = share->stages[0].parts[p].stddev_steps;
    Demand(shares.honest * own * own >= all * all, "too little noise");
  }
}

void FuzzFederation(FuzzInput* bytes) {
  const std::string text(bytes->Rest());
  const auto federation = ParseFederation(text);
  if (!Read("federation", federation)) return;
  std::set<std::string> names;
  std::set<PublicKey> keys;
  for (const FederationMember& member : federation->members) {
    names.insert(member.name);
    keys.insert(member.receipt_key);
    Demand(member.users >= 1, "a member without people");
  }
  const std::uint32_t m = federation->size();
  Demand(m >= 2 && m <= kMostMembers && names.size() == m && keys.size() == m,
         "members that are not different");
  Demand(federation->colluders >= 1 && federation->colluders < m &&
             federation->copies >= 1 && federation->copies <= m,
         "shares out of range");
  Demand(federation->column_bound > 0 &&
             std::isfinite(federation->column_bound) &&
             federation->epsilon_if_others_collude > 0 &&
             federation->epsilon_if_others_collude <= 1000 &&
             federation->features >= 1 && federation->max_rank >= 1 &&
             federation->max_rounds >= 1 &&
             federation->adjacency != Adjacency::kOneRating,
         "facts out of range");
  const Digest digest =
      Sha256()
          .AddBytes(std::as_bytes(std::span(text.data(), text.size())))
          .Finish();
  Demand(federation->sha256 == digest, "the hash of another file");
  const auto again = ParseFederation(FederationText(*federation));
  Demand(again.ok() && FederationText(*again) == FederationText(*federation),
         "a federation that is not read back");
  DemandShares(*federation);
}

// ------------------------------------------------------- a round of three

struct Round {
  Round() {
    facts = FactsOf(federation);
    parameters = RunOn(facts);
    share = ShareOfPlan(PlanRun(parameters, facts).value(),
                        federation.adjacency, federation.shares())
                .value();
    expected.federation = federation.sha256;
    expected.analyst = "dns:analyst";
    expected.run_id = kRunId;
    expected.round = 1;
    expected.plan = HashOf(share);
    expected.request = Sha256().AddString("request").Finish();
    expected.members = MembersOf(federation);
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      signers.push_back(KeyOfMember(i));
      exchange.push_back(ExchangeKey::Generate());
      keys.push_back(exchange.back().public_key());
      FederationOffer offer;
      offer.round = expected;
      offer.curator = kNames[i];
      offer.key = keys.back();
      offers.push_back(Signed(std::move(offer), i));
    }
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      std::vector<NoisedMatrix> parts = PartsOf(i);
      MasksOf(i, keys).value().AddTo(&parts);
      parts.push_back(KeysPart(keys));
      masked.push_back(std::move(parts));
    }
  }

  FederationOffer Signed(FederationOffer offer, std::uint32_t member) const {
    offer.signature = signers[member].Sign(SignedBytes(offer));
    return offer;
  }
  absl::StatusOr<Masks> MasksOf(
      std::uint32_t self, const std::vector<ExchangePublicKey>& all) const {
    return Masks::Create(exchange[self], self, expected.members, all,
                         TranscriptOf(expected, all));
  }
  // Sums of small numbers in the shape of the plan.
  std::vector<NoisedMatrix> PartsOf(std::uint32_t member) const {
    std::vector<NoisedMatrix> parts;
    for (const PartPlan& plan : share.stages[0].parts) {
      NoisedMatrix part;
      part.name = plan.name;
      part.rows = plan.rows;
      part.columns = plan.columns;
      part.symmetric = plan.symmetric;
      part.step_exponent = plan.step_exponent;
      part.lattice.resize(EntryCount(part.rows, part.columns, part.symmetric));
      for (std::size_t e = 0; e < part.lattice.size(); ++e)
        part.lattice[e] = static_cast<std::int64_t>(100 * member + e) - 50;
      parts.push_back(std::move(part));
    }
    return parts;
  }

  const Federation federation = SomeFederation();
  DatasetFacts facts;
  RunParameters parameters;
  RunPlan share;
  OfferedRound expected;
  std::vector<SigningKey> signers;
  std::vector<ExchangeKey> exchange;  // other ones in every process
  std::vector<ExchangePublicKey> keys;
  std::vector<FederationOffer> offers;
  std::vector<std::vector<NoisedMatrix>> masked;
};

const Round& TheRound() {
  static const Round round;
  return round;
}

// ------------------------------------------------------------------- offers

template <typename Message>
void Merge(FuzzInput* bytes, Message* message) {
  const std::string_view text = bytes->Bytes(bytes->Below(96));
  Message any;
  if (any.ParseFromArray(text.data(), static_cast<int>(text.size())))
    message->MergeFrom(any);
}

void ChangeField(FuzzInput* bytes, FederationOffer* offer) {
  const auto flip = [&](auto* array) {
    (*array)[bytes->Below(static_cast<std::uint32_t>(array->size()))] ^=
        static_cast<std::uint8_t>(bytes->Byte());
  };
  switch (bytes->Byte() % 9) {
    case 0:
      return flip(&offer->round.federation);
    case 1:
      offer->round.analyst = std::string(bytes->Bytes(bytes->Byte() % 16));
      return;
    case 2:
      offer->round.run_id = std::string(bytes->Bytes(bytes->Byte() % 40));
      return;
    case 3:
      offer->round.round = bytes->Byte();
      return;
    case 4:
      return flip(&offer->round.plan);
    case 5:
      return flip(&offer->round.request);
    case 6:
      offer->round.members.resize(bytes->Byte() % 5, "c");
      return;
    case 7:
      offer->curator = std::string(bytes->Bytes(bytes->Byte() % 4));
      return;
    default:
      offer->key = {};
      flip(&offer->key);
  }
}

// The right offers, with some changes.
v1::FederationOffers OffersOf(FuzzInput* bytes) {
  const Round& round = TheRound();
  v1::FederationOffers message = ToProto(round.offers);
  for (int left = bytes->Byte() % 4; left > 0; --left) {
    auto& offers = *message.mutable_offers();
    const int count = offers.size();
    if (count == 0) break;
    const int at =
        static_cast<int>(bytes->Below(static_cast<std::uint32_t>(count)));
    const std::uint8_t change = bytes->Byte() % 6;
    if (change == 0) offers.DeleteSubrange(at, 1);
    if (change == 1) *offers.Add() = v1::FederationOffer(offers[at]);
    if (change == 2) offers.SwapElements(at, (at + 1) % count);
    if (change == 3) Merge(bytes, &offers[at]);
    if (change < 4) continue;
    auto offer = FromProto(offers[at]);
    if (!offer.ok()) continue;
    ChangeField(bytes, &*offer);
    // By its curator, another one, or nobody.
    if (change == 4)
      *offer = round.Signed(*std::move(offer), bytes->Byte() % kMembers);
    offers[at] = ToProto(*offer);
  }
  return message;
}

// The contract of CheckOffers, read plainly.
bool AreRight(const std::vector<FederationOffer>& offers) {
  const Round& round = TheRound();
  if (offers.size() != kMembers) return false;
  std::set<ExchangePublicKey> keys;
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    int found = 0;
    for (const FederationOffer& offer : offers) {
      if (offer.curator != kNames[i]) continue;
      ++found;
      if (!(offer.round == round.expected) ||
          !Verify(round.federation.members[i].receipt_key, SignedBytes(offer),
                  offer.signature))
        return false;
      keys.insert(offer.key);
    }
    if (found != 1) return false;
  }
  return keys.size() == kMembers;
}

// Demands that the masks of honest curators cancel in the sum of all.
void DemandMasks(const std::vector<ExchangePublicKey>& keys) {
  const Round& round = TheRound();
  std::vector<NoisedMatrix> sum = round.PartsOf(0);
  for (NoisedMatrix& part : sum)
    std::fill(part.lattice.begin(), part.lattice.end(), 0);
  const std::vector<NoisedMatrix> nothing = sum;
  std::uint32_t honest = 0;
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    if (keys[i] != round.keys[i]) continue;
    const auto masks = round.MasksOf(i, keys);
    if (!masks.ok()) {
      Refused(masks.status());
      Demand(keys != round.keys, "masks that are refused to honest curators");
      return;
    }
    std::vector<NoisedMatrix> own = nothing;
    masks->AddTo(&own);
    Demand(own != nothing, "a mask of zeros");
    masks->AddTo(&sum);
    ++honest;
  }
  if (honest < kMembers) return;
  Count("masks cancel");
  Demand(sum == nothing, "masks that stay in the sum");
}

void FuzzOffers(FuzzInput* bytes) {
  const Round& round = TheRound();
  v1::FederationOffers message;
  if (bytes->Byte() < 224) {
    message = OffersOf(bytes);
  } else {
    Merge(bytes, &message);
  }
  const auto offers = FromProto(message);
  if (!Read("offers", offers)) return;
  message.DiscardUnknownFields();
  Demand(ToProto(*offers).SerializeAsString() == message.SerializeAsString(),
         "offers that are not written back");
  const auto keys = CheckOffers(round.federation, round.expected, *offers);
  Demand(keys.ok() == AreRight(*offers), "another verdict than a plain one");
  if (!keys.ok()) return Refused(keys.status());
  Count("offers agree");
  for (std::uint32_t i = 0; i < kMembers; ++i) {
    for (const FederationOffer& offer : *offers)
      Demand(offer.curator != kNames[i] || offer.key == (*keys)[i],
             "keys in another order");
  }
  DemandMasks(*keys);
}

// --------------------------------------------------- keys beside a release

NoisedMatrix PartOf(FuzzInput* bytes) {
  NoisedMatrix part;
  part.name = bytes->Byte() < 224 ? kKeysPart : "A";
  part.rows = bytes->Byte() < 224 ? 4 : bytes->LongWord();
  part.columns = bytes->Byte() < 224 ? kMembers : bytes->LongWord();
  part.symmetric = bytes->Byte() >= 240;
  part.is_lattice = bytes->Byte() < 240;
  part.lattice.resize(bytes->Byte() < 224 ? std::size_t{4} * kMembers
                                          : bytes->Byte());
  for (std::int64_t& word : part.lattice)
    word = static_cast<std::int64_t>(bytes->Byte());
  return part;
}

void FuzzKeys(FuzzInput* bytes) {
  const std::uint32_t members =
      bytes->Byte() < 224 ? kMembers : bytes->Byte() % (kMostMembers + 1);
  std::vector<NoisedMatrix> parts;
  for (int left = bytes->Byte() % 3; left > 0; --left)
    parts.push_back(PartOf(bytes));
  const std::vector<ExchangePublicKey> keys = KeysIn(parts, members);
  Count(keys.empty() ? "no keys" : "keys");
  Demand(keys.empty() || (keys.size() == members &&
                          KeysPart(keys).lattice == parts.back().lattice),
         "keys that the part does not have");
}

// ------------------------------------------------------- the sum of a round

// Deviations of one curator from the protocol.
struct Script {
  std::uint32_t member = 0;
  std::uint8_t opened = 0, offered = 0, receipt = 0;
  std::vector<NoisedMatrix> parts;
};

class ScriptedStream final : public analyst::RunStream {
 public:
  explicit ScriptedStream(const Script* script) : script_(*script) {}

  absl::StatusOr<analyst::OpenedRun> Open(const std::string&,
                                          const v1::RunParameters&) override {
    analyst::OpenedRun opened;
    DPNMF_ASSIGN_OR_RETURN(
        opened.plan, ToProto(round_.share, round_.parameters, round_.facts));
    opened.users = round_.facts.users;
    opened.ledger = Position();
    opened.receipt_key = PinnedKey();
    if (script_.opened == 1) opened.users += 1;
    if (script_.opened == 2) opened.receipt_key[0] ^= 1;
    if (script_.opened == 3) opened.plan.mutable_stages(0)->set_rounds(7);
    if (script_.opened == 4) opened.plan.clear_stages();
    return opened;
  }
  absl::StatusOr<analyst::RoundResult> Round(std::uint32_t,
                                             const RoundInput&) override {
    return absl::InternalError("a curator of a federation is asked alone");
  }
  absl::StatusOr<FederationOffer> Offer(std::uint32_t,
                                        const RoundInput&) override {
    FederationOffer offer = round_.offers[script_.member];
    if (script_.offered == 0) return offer;
    if (script_.offered == 1) offer.round.round += 1;
    if (script_.offered == 2)
      offer.key = round_.keys[(script_.member + 1) % kMembers];
    return round_.Signed(offer, script_.offered == 3
                                    ? (script_.member + 1) % kMembers
                                    : script_.member);
  }
  absl::StatusOr<analyst::RoundResult> Contribute(
      std::uint32_t, const std::vector<FederationOffer>&) override {
    analyst::RoundResult result;
    result.parts = script_.parts;
    result.lost = script_.receipt == 1;
    result.cost = round_.share.stages[0].cost_per_round;
    result.row_hash = std::string(32, 'h');
    result.ledger = Position();
    if (script_.receipt == 2) return result;
    v1::Receipt receipt;
    receipt.set_row_hash(script_.receipt == 3 ? "other" : result.row_hash);
    receipt.set_dataset(round_.federation.name);
    receipt.set_run_id(kRunId);
    receipt.set_round(script_.receipt == 4 ? 2 : 1);
    receipt.mutable_charged()->set_units(result.cost.UnitsText());
    const v1::RunParameters canonical = ToProto(round_.parameters);
    const v1::StagePlan stage = ToProto(round_.share.stages[0], round_.facts);
    const Digest digest = DigestOfRelease(
        {&canonical, &stage, round_.facts.users, {}}, result.parts);
    if (!result.lost)
      receipt.set_release_sha256(std::string(digest.begin(), digest.end()));
    Sign(round_.signers[script_.receipt == 5 ? (script_.member + 1) % kMembers
                                             : script_.member],
         &receipt);
    // Signed for other bytes than it sends.
    if (script_.receipt == 6) result.parts[0].lattice.at(0) ^= 1;
    result.receipt = receipt;
    return result;
  }
  absl::StatusOr<analyst::ClosedRun> Close() override {
    return analyst::ClosedRun{MuSquared(), Position()};
  }
  void Cancel() override {}

 private:
  std::string PinnedKey() const {
    const PublicKey& key =
        round_.federation.members[script_.member].receipt_key;
    return std::string(key.begin(), key.end());
  }
  static v1::LedgerPosition Position() {
    v1::LedgerPosition position;
    position.set_row_count(3);
    position.set_head(std::string(32, 'h'));
    position.mutable_cap()->set_units("1152921504606846976");
    for (v1::MuSquared* none :
         {position.mutable_charged(), position.mutable_reserved()})
      none->set_units("0");
    *position.mutable_left() = position.cap();
    return position;
  }

  const parties::Round& round_ = TheRound();
  const Script& script_;
};

class ScriptedCurator final : public analyst::CuratorConnection {
 public:
  explicit ScriptedCurator(const Script* script) : script_(script) {}
  absl::StatusOr<v1::ListDatasetsReply> ListDatasets() override {
    return v1::ListDatasetsReply();
  }
  absl::StatusOr<v1::ListItemsReply> ListItems(const std::string&,
                                               std::uint64_t) override {
    return v1::ListItemsReply();
  }
  absl::StatusOr<v1::GetLedgerReply> GetLedger(const std::string&,
                                               std::uint64_t) override {
    return v1::GetLedgerReply();
  }
  std::unique_ptr<analyst::RunStream> NewStream() override {
    return std::make_unique<ScriptedStream>(script_);
  }

 private:
  const Script* const script_;
};

void ChangeParts(FuzzInput* bytes, std::vector<NoisedMatrix>* parts) {
  if (parts->empty()) return;
  NoisedMatrix& part =
      (*parts)[bytes->Below(static_cast<std::uint32_t>(parts->size()))];
  const auto fit = [&part] {
    part.lattice.resize(EntryCount(part.rows, part.columns, part.symmetric));
  };
  switch (bytes->Byte() % 9) {
    case 0:
      if (!part.lattice.empty()) {
        const auto size = static_cast<std::uint32_t>(part.lattice.size());
        part.lattice[bytes->Below(size)] ^=
            static_cast<std::int64_t>(bytes->LongWord());
      }
      return;
    case 1:
      part.rows = 1 + bytes->Byte() % 8;
      if (part.symmetric) part.columns = part.rows;
      return fit();
    case 2:
      part.columns = 1 + bytes->Byte() % 8;
      if (part.symmetric) part.rows = part.columns;
      return fit();
    case 3:
      part.symmetric = !part.symmetric && part.rows == part.columns;
      return fit();
    case 4:
      part.step_exponent = bytes->Byte() - 128;
      return;
    case 5:
      part.name = std::string(bytes->Bytes(bytes->Byte() % 4));
      return;
    case 6:
      part.is_lattice = false;
      part.reals.assign(part.lattice.size(), bytes->Double());
      part.lattice.clear();
      return;
    case 7:
      part.lattice.resize(bytes->Byte() % 16);
      return;
    default:
      parts->erase(parts->begin() + (&part - parts->data()));
  }
}

void DemandSum(const std::vector<NoisedMatrix>& parts, bool as_it_should_be) {
  const Round& round = TheRound();
  const std::vector<PartPlan>& plan = round.share.stages[0].parts;
  Demand(parts.size() == plan.size(), "parts that nobody planned");
  for (std::size_t p = 0; p < plan.size(); ++p) {
    Demand(parts[p].name == plan[p].name && parts[p].rows == plan[p].rows &&
               parts[p].columns == plan[p].columns &&
               parts[p].symmetric == plan[p].symmetric &&
               parts[p].step_exponent == plan[p].step_exponent &&
               parts[p].is_lattice &&
               parts[p].lattice.size() ==
                   EntryCount(plan[p].rows, plan[p].columns, plan[p].symmetric),
           "a sum of another shape than the plan's");
    for (std::size_t e = 0; as_it_should_be && e < parts[p].lattice.size(); ++e)
      Demand(
          parts[p].lattice[e] == 300 + 3 * static_cast<std::int64_t>(e) - 150,
          "another sum than that of the curators");
  }
  analyst::RoundFacts facts;
  facts.users = round.facts.users;
  analyst::LearnerState state;
  state.w = Eigen::MatrixXd::Constant(kFeatures, kRank, 0.1);
  const absl::Status used =
      analyst::FindReleaseKind("statistics")->update(parts, facts, &state);
  if (!used.ok()) DemandRefusal(used);
  Demand(state.w.allFinite(), "a dictionary that is not finite");
}

void FuzzSum(FuzzInput* bytes) {
  const Round& round = TheRound();
  std::array<Script, kMembers> scripts;
  for (std::uint32_t i = 0; i < kMembers; ++i)
    scripts[i] = {i, 0, 0, 0, round.masked[i]};
  bool as_it_should_be = true;
  for (int left = bytes->Byte() % 3; left > 0; --left) {
    as_it_should_be = false;
    Script& script = scripts[bytes->Byte() % kMembers];
    const std::uint8_t what = bytes->Byte();
    if (what < 32) {
      script.opened = bytes->Byte() % 5;
    } else if (what < 64) {
      script.offered = bytes->Byte() % 4;
    } else if (what < 96) {
      script.receipt = bytes->Byte() % 7;
    } else if (what < 192) {
      ChangeParts(bytes, &script.parts);
    } else {  // all of them do the same
      const std::string same(bytes->Bytes(12));
      for (Script& one : scripts) {
        FuzzInput again(reinterpret_cast<const std::uint8_t*>(same.data()),
                        same.size());
        ChangeParts(&again, &one.parts);
      }
    }
  }
  for (Script& script : scripts) {
    if (script.receipt == 6 &&
        (script.parts.empty() || script.parts[0].lattice.empty()))
      script.receipt = 0;
  }
  std::vector<std::unique_ptr<analyst::CuratorConnection>> members;
  for (const Script& script : scripts)
    members.push_back(std::make_unique<ScriptedCurator>(&script));
  const auto curators =
      analyst::FederateCurators(nullptr, round.federation, std::move(members));
  const auto stream = curators->NewStreamFor(round.federation.name);
  const auto opened = stream->Open(kRunId, ToProto(round.parameters));
  if (!opened.ok()) return Refused(opened.status());
  RoundInput input;
  input.w = Eigen::MatrixXd::Constant(kFeatures, kRank, 0.1);
  const auto result = stream->Round(1, input);
  if (!result.ok()) return Refused(result.status());
  Count(result->lost ? "round lost" : "sum");
  Demand(
      result->receipts_checked && result->other_receipts.size() == kMembers - 1,
      "a sum without receipts");
  Demand(!as_it_should_be || !result->lost, "a sum that is not there");
  if (!result->lost) DemandSum(result->parts, as_it_should_be);
}

// -------------------------------------------------------- commands of ranks

RankCommand SomeCommand() {
  const Round& round = TheRound();
  RankCommand command;
  command.number = 7;
  command.deadline_ms = 1000;
  command.dataset = "d-a";
  command.release = round.share.stages[0].release;
  for (const PartPlan& part : round.share.stages[0].parts)
    command.entries += EntryCount(part.rows, part.columns, part.symmetric);
  command.coefficients = 3;
  command.forget = {1, 2};
  command.parameters = round.parameters;
  command.plan = round.share;
  command.input.w = Eigen::MatrixXd::Constant(kFeatures, kRank, 0.5);
  command.input.rows = {0, 2};
  command.input.numbers = {0.25};
  return command;
}

void FuzzCommand(FuzzInput* bytes) {
  const std::string text(bytes->Rest());
  const auto command = curator::CommandOf(text);
  Count(command.has_value() ? "command read" : "command refused");
  Demand(!command.has_value() || BytesOf(*command) == text,
         "a command that is not written back");
}

// --------------------------------------------------------- answers of ranks

constexpr std::uint64_t kMost = kPeople;

// Returns the answer of honest ranks for two shares.
std::vector<std::uint64_t> RightAnswer(std::uint64_t number,
                                       std::uint64_t entries) {
  std::vector<std::uint64_t> words(entries + 3);
  words[1] = kPeople;
  for (std::uint64_t e = 0; e < entries; ++e) words[2 + e] = 1000 + 17 * e;
  words.back() = curator::LinearCheck(std::span(words).subspan(2, entries));
  return curator::AnswerOf(number, words);
}

// sum over i of words[i] factor^(n - i), by its powers.
std::uint64_t PlainCheck(std::span<const std::uint64_t> words) {
  std::uint64_t check = 0, power = 1;
  for (std::size_t i = words.size(); i-- > 0;) {
    power *= 0x9e37'79b9'7f4a'7c15;
    check += words[i] * power;
  }
  return check;
}

// floor(sqrt x), by hand.
std::uint64_t PlainRoot(std::uint64_t x) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit > 0; bit >>= 1)
    if ((root + bit) * (root + bit) <= x) root += bit;
  return root;
}

// The contract, read plainly: whether the first words are the answer.
bool IsRight(const std::string& bytes, const RankCommand& command) {
  std::vector<std::uint64_t> words(curator::AnswerWords(command.entries));
  if (bytes.size() < words.size() * 8) return false;
  std::memcpy(words.data(), bytes.data(), words.size() * 8);
  const auto entries = std::span(words).subspan(5, command.entries);
  if (words[0] != 0x6470'6e6d'6672'616e || words[1] != command.number ||
      words[2] != 0 || words[3] != kPeople || words[4] != command.entries ||
      words[words.size() - 2] != PlainCheck(entries) ||
      words.back() != 0x656e'6420'6f66'2069)
    return false;
  std::size_t at = 0;
  for (const PartPlan& part : command.plan.stages[0].parts) {
    const std::uint64_t most = kPeople * PlainRoot(part.left_norm_steps) *
                               PlainRoot(part.right_norm_steps);
    const std::uint64_t count =
        EntryCount(part.rows, part.columns, part.symmetric);
    for (std::uint64_t e = 0; e < count; ++e)
      if (entries[at++] > most) return false;
  }
  return true;
}

std::string BytesOfWords(const std::vector<std::uint64_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * 8};
}

// The right answer with changes, or any bytes.
std::string AnswerFrom(FuzzInput* bytes, const RankCommand& command) {
  if (bytes->Byte() >= 240) return std::string(bytes->Rest());
  std::vector<std::uint64_t> words =
      RightAnswer(command.number, command.entries);
  for (int left = bytes->Byte() % 4; left > 0; --left) {
    std::uint64_t& word =
        words[bytes->Below(static_cast<std::uint32_t>(words.size()))];
    const std::uint8_t change = bytes->Byte();
    if (change < 96) {
      word = bytes->Byte();
    } else if (change < 160) {
      word ^= std::uint64_t{1} << (bytes->Byte() % 64);
    } else {
      word = bytes->LongWord();
    }
  }
  if (bytes->Bit()) {  // as if it were right
    words[words.size() - 2] = PlainCheck(
        std::span(words).subspan(curator::kAnswerHead, command.entries));
  }
  std::string answer = BytesOfWords(words);
  const std::uint8_t length = bytes->Byte();
  if (length >= 224) answer.resize(bytes->Byte() % (answer.size() + 1));
  if (length >= 192 && length < 224) answer += bytes->Bytes(bytes->Byte());
  return answer;
}

// The other end of a socket: takes a command and gives these bytes.
class OneRank {
 public:
  OneRank(int socket, const RankCommand& command, std::string answer,
          bool closes)
      : thread_([socket, closes, expected = BytesOf(command),
                 answer = std::move(answer)] {
          std::uint64_t length = expected.size();
          std::string got(sizeof length + expected.size(), 0);
          const std::string sent =
              std::string(reinterpret_cast<const char*>(&length),
                          sizeof length) +
              expected;
          if (ReceiveAll(socket, std::as_writable_bytes(std::span(got)),
                         Soon()) == Transfer::kDone) {
            Demand(got == sent, "another command than was asked");
            SendAll(socket, std::as_bytes(std::span(answer)), Soon());
          }
          if (closes) shutdown(socket, SHUT_RDWR);
        }) {}
  ~OneRank() { thread_.join(); }

  static SteadyTime Soon() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(60);
  }

 private:
  std::thread thread_;
};

// The sums, or nothing.
absl::StatusOr<curator::RoundSums> Ask(int socket, const RankCommand& command) {
  const auto answer = curator::AskRanks(socket, command, OneRank::Soon());
  if (!answer.has_value() ||
      curator::ProblemOfAnswer(*answer, command, kPeople) != nullptr)
    return curator::RanksFailed();
  return curator::SumsOfAnswer(*answer, command.plan.stages[0].parts, kMost,
                               kPeople);
}

void FuzzAnswer(FuzzInput* bytes) {
  RankCommand command = SomeCommand();
  const std::string answer = AnswerFrom(bytes, command);
  const std::size_t whole = 8 * curator::AnswerWords(command.entries);
  int ends[2];
  Demand(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
  const bool is_short = answer.size() < whole;
  bool taken = false;
  {
    absl::StatusOr<curator::RoundSums> sums = curator::RanksFailed();
    {
      const OneRank rank(ends[1], command, answer, is_short);
      sums = Ask(ends[0], command);
    }
    taken = sums.ok();
    Demand(taken == IsRight(answer, command),
           "another verdict on an answer than a plain one");
    if (!taken) Refused(sums.status());
    std::size_t at = curator::kAnswerHead;
    for (std::size_t p = 0; taken && p < sums->parts.size(); ++p) {
      for (const std::int64_t sum : sums->parts[p]) {
        std::int64_t word = 0;
        std::memcpy(&word, answer.data() + 8 * at++, 8);
        Demand(sum == word, "a sum that the answer does not say");
      }
    }
  }
  // The rest of the answer is not the beginning of the next one.
  if (taken) {
    command.number = 8;
    const bool quiet = answer.size() == whole;
    absl::StatusOr<curator::RoundSums> next = curator::RanksFailed();
    if (quiet) {
      const OneRank rank(ends[1], command,
                         BytesOfWords(RightAnswer(8, command.entries)), false);
      next = Ask(ends[0], command);
    } else {
      next = Ask(ends[0], command);
    }
    Count(next.ok() ? "next answer" : "no next answer");
    Demand(next.ok() == quiet, "an answer behind the rest of another");
  }
  if (taken) Count("answer");
  close(ends[0]);
  close(ends[1]);
}

std::string Seed(std::initializer_list<int> bytes) {
  std::string seed;
  for (const int byte : bytes) seed.push_back(static_cast<char>(byte));
  return seed;
}

std::string Replaced(std::string text, const std::string& from,
                     const std::string& to) {
  const std::size_t at = text.find(from);
  Demand(at != std::string::npos, "a seed that changes nothing: " + from);
  return text.replace(at, from.size(), to);
}

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  const std::string text = FederationText(SomeFederation());
  seeds.push_back(Seed({0}) + text);
  for (const auto& [from, to] :
       std::initializer_list<std::pair<const char*, const char*>>{
           {"replace_one", "add_remove_one"},
           {"replace_one", "one_rating"},
           {"\"rdp\"", "\"gaussian\""},
           {"\"colluders\":1", "\"colluders\":2"},
           {"\"colluders\":1", "\"colluders\":0"},
           {"\"copies\":1", "\"copies\":3"},
           {"\"copies\":1", "\"copies\":1,\"copies\":2"},
           {"\"l2\"", "\"none\""},
           {"\"column_bound\":1.0", "\"column_bound\":1e300"},
           {"\"column_bound\":1.0", "\"column_bound\":1e-300"},
           {"\"users\":100", "\"users\":1099511627776"},
           {"\"features\":4", "\"features\":1099511627776"},
           {"\"name\":\"b\"", "\"name\":\"a\""},
           {"\"members\":[", "\"members\":[[[["},
           {"localhost", "\\u0000\\n\xc3\xa9"}})
    seeds.push_back(Seed({0}) + Replaced(text, from, to));
  std::string one_key = text;
  const std::string keys[] = {HexOf(KeyOfMember(0).public_key()),
                              HexOf(KeyOfMember(1).public_key())};
  seeds.push_back(Seed({0}) + one_key.replace(text.find(keys[1]), 64, keys[0]));
  // Offers: as they should be; one missing, twice, in another order; a field
  // of one changed, and signed by its curator, by another one, or by nobody.
  for (const auto& change :
       {Seed({0}), Seed({1, 0, 0}), Seed({1, 1, 1}), Seed({1, 0, 2}),
        Seed({2, 2, 0, 0, 1}), Seed({1, 2, 3, 2, 8, 1})})
    seeds.push_back(Seed({1, 0}) + change);
  for (int field = 0; field < 9; ++field) {
    for (const int signer : {0, 1}) {
      seeds.push_back(Seed({1, 0, 1, 0, 4, field, 1, 'x', signer, signer}));
      seeds.push_back(Seed({1, 0, 1, 0, 5, field, 1, 1}));
    }
  }
  // Two of them show one key; b shows keys of small order. All signed.
  seeds.push_back(Seed({1, 0, 2, 0, 4, 8, 0, 1, 0, 1, 4, 8, 0, 1, 1}));
  seeds.push_back(Seed({1, 0, 1, 1, 4, 8, 0, 0, 1}));
  seeds.push_back(Seed({1, 0, 1, 1, 4, 8, 0, 1, 1}));
  v1::FederationOffers malformed;
  malformed.add_offers()->set_curator("a");
  const std::string offers = malformed.SerializeAsString();
  seeds.push_back(Seed({1, 255, static_cast<int>(offers.size())}) + offers);
  // Sums: right; each thing that a curator can do otherwise; all the same.
  seeds.push_back(Seed({2, 0}));
  for (int i = 1; i < 5; ++i) seeds.push_back(Seed({2, 1, 1, 0, i}));
  for (int i = 1; i < 4; ++i) seeds.push_back(Seed({2, 1, 2, 32, i}));
  for (int i = 1; i < 7; ++i) seeds.push_back(Seed({2, 1, 0, 64, i}));
  for (const int part : {0, 1, 2}) {
    for (int change = 0; change < 9; ++change) {
      seeds.push_back(Seed({2, 1, 1, 100, part, change, 1, 2, 3}));
      seeds.push_back(Seed({2, 1, 0, 200, part, change, 1, 2, 3}));
    }
  }
  // Commands of ranks.
  const RankCommand command = SomeCommand();
  const std::string bytes = BytesOf(command);
  seeds.push_back(Seed({3}) + bytes);
  seeds.push_back(Seed({3}) + BytesOf(RankCommand()));
  seeds.push_back(Seed({3}) + bytes.substr(0, bytes.size() - 1));
  seeds.push_back(Seed({3}) + bytes + "x");
  RankCommand other = command;
  other.input.w.resize(0, 0);
  other.parameters.outliers = true;
  seeds.push_back(Seed({3}) + BytesOf(other));
  // Words that are wider than what they say: rank and outliers.
  for (const auto& [value, changed] :
       {std::pair{std::uint64_t{kRank}, (std::uint64_t{1} << 32) + kRank},
        std::pair{std::uint64_t{10}, (std::uint64_t{1} << 32) + 10}}) {
    const std::string from(reinterpret_cast<const char*>(&value), 8);
    const std::string to(reinterpret_cast<const char*>(&changed), 8);
    for (std::size_t at = bytes.find(from); at != std::string::npos;
         at = bytes.find(from, at + 1)) {
      std::string wide = bytes;
      seeds.push_back(Seed({3}) + wide.replace(at, 8, to));
    }
  }
  // Answers: right; each word changed, with its check and without; short, and
  // with more behind.
  seeds.push_back(Seed({4, 0, 0, 0, 0}));
  seeds.push_back(Seed({4, 0, 0, 0, 192, 3, 1, 2, 3}));
  seeds.push_back(Seed({4, 0, 0, 0, 224, 0}));
  seeds.push_back(Seed({4, 0, 0, 0, 224, 100}));
  for (int word = 0;
       word < static_cast<int>(curator::AnswerWords(command.entries)); ++word) {
    for (const int fixed : {0, 1}) {
      seeds.push_back(Seed({4, 0, 1, word, 100, 0, fixed, 0}));
      seeds.push_back(Seed({4, 0, 1, word, 100, 63, fixed, 0}));
      seeds.push_back(Seed({4, 0, 1, word, 0, 7, fixed, 0}));
    }
  }
  const auto right = RightAnswer(command.number, command.entries);
  seeds.push_back(Seed({4, 240}) + BytesOfWords(right));
  seeds.push_back(Seed({4, 240}) + BytesOfWords(right) +
                  BytesOfWords(RightAnswer(8, command.entries)));
  // Keys beside a release.
  seeds.push_back(Seed({5, 0, 1, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}));
  seeds.push_back(Seed({5, 0, 1, 0, 0, 0, 0, 0, 255, 9, 1, 2, 3, 4}));
  seeds.push_back(Seed({5, 255, 2, 1, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}));
  return seeds;
}

std::vector<std::string> ExpectedOutcomes() {
  std::vector<std::string> outcomes = {"federation-offers-incomplete",
                                       "federation-offer-differs",
                                       "federation-signature-invalid",
                                       "federation-keys-equal",
                                       "federation-key-invalid",
                                       "offers agree",
                                       "masks cancel",
                                       "keys",
                                       "no keys",
                                       "plan-differs",
                                       "receipt-key-changed",
                                       "receipt-missing",
                                       "receipt-invalid",
                                       "release-differs",
                                       "federation-sum-malformed",
                                       "round lost",
                                       "sum",
                                       "ranks-failed",
                                       "sums-malformed",
                                       "answer",
                                       "next answer",
                                       "no next answer"};
  for (const std::string what :
       {"federation", "plan", "share", "offers", "command"}) {
    outcomes.push_back(what + " read");
    if (what != "share") outcomes.push_back(what + " refused");
  }
  return outcomes;
}

void RunOne(const std::uint8_t* data, std::size_t size) {
  static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(previous);
  constexpr void (*kKinds[])(FuzzInput*) = {
      FuzzFederation, FuzzOffers, FuzzSum, FuzzCommand, FuzzAnswer, FuzzKeys};
  FuzzInput bytes(data, size);
  kKinds[bytes.Byte() % std::size(kKinds)](&bytes);
}

[[maybe_unused]] const bool kRegistered =
    Register({"parties", 2'000, RunOne, FuzzSeeds, ExpectedOutcomes});

}  // namespace
}  // namespace dpnmf::fuzz::parties
