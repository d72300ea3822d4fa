// Costs read as epsilons, for replies and events.
#ifndef DPNMF_ANALYST_PLANNING_EPSILON_TEXT_H_
#define DPNMF_ANALYST_PLANNING_EPSILON_TEXT_H_

#include "absl/status/statusor.h"
#include "common/privacy/accounting.h"
#include "common/privacy/mu_squared.h"
#include "dpnmf/v1/privacy.pb.h"

namespace dpnmf::analyst {

// `cost` through the three conversions at `delta`.
absl::StatusOr<v1::Epsilons> EpsilonsOf(MuSquared cost, double delta);

// LargestRun (common/privacy/budget.h) of RoomOf the position, in the cap's
// conversion.
absl::StatusOr<double> LargestRunOf(const v1::Guarantee& guarantee,
                                    const v1::LedgerPosition& position,
                                    double delta);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_PLANNING_EPSILON_TEXT_H_
