#include "common/federation/offer_wire.h"

#include <algorithm>
#include <string>

#include "common/base/error.h"

namespace dpnmf {
namespace {

absl::Status OfferMalformed() {
  return Refusal(absl::StatusCode::kInvalidArgument,
                 "federation-offer-malformed",
                 "An offer of a curator cannot be read; all programs must run "
                 "the same version.");
}

template <typename Array>
std::string BytesOf(const Array& array) {
  return std::string(array.begin(), array.end());
}

// False unless the lengths are the same.
template <typename Array>
bool Take(const std::string& bytes, Array* array) {
  if (bytes.size() != array->size()) return false;
  std::copy(bytes.begin(), bytes.end(), array->begin());
  return true;
}

}  // namespace

v1::FederationOffer ToProto(const FederationOffer& offer) {
  v1::FederationOffer message;
  message.set_federation_sha256(BytesOf(offer.round.federation));
  message.set_curator(offer.curator);
  message.set_analyst(offer.round.analyst);
  message.set_run_id(offer.round.run_id);
  message.set_round(offer.round.round);
  message.set_plan_sha256(BytesOf(offer.round.plan));
  message.set_request_sha256(BytesOf(offer.round.request));
  for (const std::string& member : offer.round.members)
    message.add_members(member);
  message.set_key(BytesOf(offer.key));
  message.set_signature(BytesOf(offer.signature));
  return message;
}

v1::FederationOffers ToProto(const std::vector<FederationOffer>& offers) {
  v1::FederationOffers message;
  for (const FederationOffer& offer : offers)
    *message.add_offers() = ToProto(offer);
  return message;
}

absl::StatusOr<FederationOffer> FromProto(const v1::FederationOffer& message) {
  FederationOffer offer;
  offer.curator = message.curator();
  offer.round.analyst = message.analyst();
  offer.round.run_id = message.run_id();
  offer.round.round = message.round();
  if (message.members_size() > static_cast<int>(kMostMembers) ||
      !Take(message.federation_sha256(), &offer.round.federation) ||
      !Take(message.plan_sha256(), &offer.round.plan) ||
      !Take(message.request_sha256(), &offer.round.request) ||
      !Take(message.key(), &offer.key) ||
      !Take(message.signature(), &offer.signature)) {
    return OfferMalformed();
  }
  offer.round.members.assign(message.members().begin(),
                             message.members().end());
  return offer;
}

absl::StatusOr<std::vector<FederationOffer>> FromProto(
    const v1::FederationOffers& message) {
  if (message.offers_size() > static_cast<int>(kMostMembers))
    return OfferMalformed();
  std::vector<FederationOffer> offers;
  for (const v1::FederationOffer& item : message.offers()) {
    DPNMF_ASSIGN_OR_RETURN(FederationOffer offer, FromProto(item));
    offers.push_back(std::move(offer));
  }
  return offers;
}

}  // namespace dpnmf
