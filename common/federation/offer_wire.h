// Offers as messages, and back.
#ifndef DPNMF_COMMON_FEDERATION_OFFER_WIRE_H_
#define DPNMF_COMMON_FEDERATION_OFFER_WIRE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/federation/offer.h"
#include "dpnmf/v1/federation.pb.h"

namespace dpnmf {

v1::FederationOffer ToProto(const FederationOffer& offer);
v1::FederationOffers ToProto(const std::vector<FederationOffer>& offers);

// INVALID_ARGUMENT "federation-offer-malformed": a hash, key or signature of
// another length, or more than kMostMembers names or offers.
absl::StatusOr<FederationOffer> FromProto(const v1::FederationOffer& message);
absl::StatusOr<std::vector<FederationOffer>> FromProto(
    const v1::FederationOffers& message);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_FEDERATION_OFFER_WIRE_H_
