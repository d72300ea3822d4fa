#include "analyst/readings.h"

#include <algorithm>
#include <optional>

#include "common/base/error.h"
#include "common/rpc/convert.h"

namespace dpnmf::analyst {

absl::StatusOr<v1::Epsilons> EpsilonsOf(MuSquared cost, double delta) {
  DPNMF_ASSIGN_OR_RETURN(const Epsilons epsilons, AllEpsilons(cost, delta));
  return ToProto(epsilons);
}

absl::StatusOr<MuSquared> CommittedOf(const v1::LedgerPosition& position) {
  DPNMF_ASSIGN_OR_RETURN(const MuSquared charged,
                         FromProto(position.charged()));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared reserved,
                         FromProto(position.reserved()));
  const std::optional<MuSquared> sum = MuSquared::Add(charged, reserved);
  if (!sum.has_value()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "cost-malformed",
                   "The curator's ledger position is out of range.");
  }
  return *sum;
}

absl::StatusOr<double> EpsilonLeft(const v1::Guarantee& guarantee,
                                   const v1::LedgerPosition& position) {
  DPNMF_ASSIGN_OR_RETURN(const Conversion conversion,
                         FromProto(guarantee.conversion()));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared cap, FromProto(guarantee.cap()));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared committed, CommittedOf(position));
  DPNMF_ASSIGN_OR_RETURN(const double of_cap,
                         Epsilon(conversion, cap, guarantee.delta()));
  DPNMF_ASSIGN_OR_RETURN(const double of_committed,
                         Epsilon(conversion, committed, guarantee.delta()));
  return std::max(0.0, of_cap - of_committed);
}

}  // namespace dpnmf::analyst
