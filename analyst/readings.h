// Costs read as epsilons, for replies and events.
#ifndef DPNMF_ANALYST_READINGS_H_
#define DPNMF_ANALYST_READINGS_H_

#include "absl/status/statusor.h"
#include "common/privacy/accounting.h"
#include "common/privacy/mu_squared.h"
#include "dpnmf/v1/privacy.pb.h"

namespace dpnmf::analyst {

// `cost` through the three conversions at `delta`.
absl::StatusOr<v1::Epsilons> EpsilonsOf(MuSquared cost, double delta);

// charged + reserved of a position.
absl::StatusOr<MuSquared> CommittedOf(const v1::LedgerPosition& position);

// epsilon(cap) - epsilon(charged + reserved), at the cap's delta and
// conversion.
absl::StatusOr<double> EpsilonLeft(const v1::Guarantee& guarantee,
                                   const v1::LedgerPosition& position);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_READINGS_H_
