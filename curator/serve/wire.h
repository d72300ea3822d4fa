// Wire codecs of the curator: public descriptions, ledger facts and released
// rounds. There is none for a data set, for H or for exact sums.
#ifndef DPNMF_CURATOR_SERVE_WIRE_H_
#define DPNMF_CURATOR_SERVE_WIRE_H_

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "curator/data/dataset.h"
#include "curator/gate/release_gate.h"
#include "curator/ledger/ledger.h"
#include "dpnmf/v1/curator.pb.h"

namespace dpnmf::curator {

v1::LedgerPosition ToProto(const std::string& population,
                           const Position& position);

// Amount that an identity has spent of its own cap.
v1::OwnLimit ToProto(MuSquared identity_cap, const IdentityPosition& own);

absl::StatusOr<v1::Guarantee> GuaranteeOf(const PopulationPolicy& policy,
                                          const Position& position);

absl::StatusOr<v1::Dataset> DescriptionOf(const Dataset& dataset,
                                          const PopulationPolicy& policy,
                                          const Position& position);

v1::LedgerCharge ChargeOf(const LedgerRow& row);

// Writes a released round as messages; false as soon as `write` returns false.
bool WriteRelease(const Released<ReleasedRound>& released,
                  const v1::LedgerPosition& position,
                  const std::optional<v1::Receipt>& receipt,
                  const std::function<bool(const v1::TrainReply&)>& write);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_WIRE_H_
