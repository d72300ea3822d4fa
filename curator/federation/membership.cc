#include "curator/federation/membership.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "curator/data/description.h"
#include "curator/ledger/others_account.h"

namespace dpnmf::curator {
namespace {

absl::Status DataDiffer(const std::string& dataset, const char* what) {
  return Refusal(absl::StatusCode::kFailedPrecondition, "federation-differs",
                 absl::StrCat("The data set ", dataset, " has another ", what,
                              " than federation.json: correct the file at "
                              "every curator, or import the data set again."));
}

}  // namespace

Membership::Membership(Federation federation, std::size_t self, SignBytes sign)
    : federation_(std::move(federation)),
      self_(self),
      members_(MembersOf(federation_)),
      sign_(std::move(sign)) {}

absl::StatusOr<std::unique_ptr<Membership>> Membership::Create(
    Federation federation, const PublicKey& own_key, SignBytes sign) {
  for (std::size_t i = 0; i < federation.members.size(); ++i) {
    if (federation.members[i].receipt_key != own_key) continue;
    return std::unique_ptr<Membership>(
        new Membership(std::move(federation), i, std::move(sign)));
  }
  return Refusal(absl::StatusCode::kFailedPrecondition,
                 "federation-not-a-member",
                 absl::StrCat("No member of federation.json has this curator's "
                              "receipt key ",
                              HexOf(own_key),
                              ": `dpnmf-curator federation-member` prints the "
                              "entry that belongs there."));
}

absl::Status Membership::CheckData(const DatasetDescription& data) const {
  const std::string& name = data.name;
  if (data.ratings.has_value())
    return DataDiffer(name, "kind (ratings cannot be federated)");
  if (data.features != federation_.features)
    return DataDiffer(name, "number of features");
  if (data.users != self().users) return DataDiffer(name, "number of people");
  if (data.column_bound != federation_.column_bound)
    return DataDiffer(name, "column bound");
  if (NameOf(data.normalisation) != federation_.normalisation)
    return DataDiffer(name, "normalisation");
  if (data.weighted_features)
    return DataDiffer(name, "weights of features (they cannot be federated)");
  if (data.adjacency != federation_.adjacency)
    return DataDiffer(name, "relation between neighbours");
  if (data.conversion != federation_.conversion)
    return DataDiffer(name, "conversion");
  if (!IsName(OthersPopulation(data.population)))
    return DataDiffer(name, "population (its name is too long)");
  return absl::OkStatus();
}

DatasetFacts Membership::Facts(const std::string& population) const {
  DatasetFacts facts = FactsOf(federation_);
  facts.population = population;
  return facts;
}

absl::StatusOr<RunPlan> Membership::ShareOf(RunPlan plan) const {
  return ShareOfPlan(std::move(plan), federation_.adjacency,
                     federation_.shares());
}

absl::StatusOr<MuSquared> Membership::CostIfOthersCollude(
    const StagePlan& share) const {
  return CostOfDrawing(share.parts, federation_.adjacency);
}

std::string Membership::OthersPopulation(const std::string& population) {
  return curator::OthersPopulation(population);
}

PopulationPolicy Membership::OthersPolicy(
    const PopulationPolicy& policy) const {
  PopulationPolicy others = policy;
  others.population = OthersPopulation(policy.population);
  others.epsilon = federation_.epsilon_if_others_collude;
  return others;
}

std::string Membership::OthersRun(const std::string& run_id) {
  const Digest digest = Sha256()
                            .AddString("dpnmf federation others 1")
                            .AddString(run_id)
                            .Finish();
  return HexOf(std::span(digest).first<16>());
}

OfferedRound Membership::RoundOf(const std::string& analyst,
                                 const std::string& run_id, std::uint32_t round,
                                 const RunPlan& share,
                                 const Digest& request) const {
  return {federation_.sha256, analyst, run_id,  round,
          HashOf(share),      request, members_};
}

FederationOffer Membership::OfferOf(OfferedRound round,
                                    const ExchangePublicKey& key) const {
  FederationOffer offer;
  offer.round = std::move(round);
  offer.curator = self().name;
  offer.key = key;
  offer.signature = sign_(SignedBytes(offer));
  return offer;
}

}  // namespace dpnmf::curator
