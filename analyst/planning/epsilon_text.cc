#include "analyst/planning/epsilon_text.h"

#include "common/base/error.h"
#include "common/privacy/budget.h"
#include "common/wire/convert.h"

namespace dpnmf::analyst {

absl::StatusOr<v1::Epsilons> EpsilonsOf(MuSquared cost, double delta) {
  DPNMF_ASSIGN_OR_RETURN(const Epsilons epsilons, AllEpsilons(cost, delta));
  return ToProto(epsilons);
}

absl::StatusOr<double> LargestRunOf(const v1::Guarantee& guarantee,
                                    const v1::LedgerPosition& position,
                                    double delta) {
  DPNMF_ASSIGN_OR_RETURN(const Conversion conversion,
                         FromProto(guarantee.conversion()));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared room, RoomOf(position));
  return LargestRun(room, conversion, delta);
}

}  // namespace dpnmf::analyst
