#include "client/render/position_text.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "common/base/digits.h"
#include "common/base/error.h"
#include "common/privacy/budget.h"
#include "common/wire/convert.h"

namespace dpnmf::cli {
namespace {

constexpr char kUnknown[] = "unknown";

// 0 if nothing but rounding is left.
absl::StatusOr<double> ReadLargestRun(const v1::LedgerPosition& position,
                                      v1::Conversion enforced, double delta) {
  DPNMF_ASSIGN_OR_RETURN(const Conversion conversion, FromProto(enforced));
  DPNMF_ASSIGN_OR_RETURN(const MuSquared room, RoomOf(position));
  DPNMF_ASSIGN_OR_RETURN(Budget budget, FromProto(position));
  if (position.has_own_limit()) {
    DPNMF_ASSIGN_OR_RETURN(const Budget own, FromProto(position.own_limit()));
    budget.cap = std::min(budget.cap, own.cap);
  }
  DPNMF_ASSIGN_OR_RETURN(const double largest,
                         LargestRun(room, conversion, delta));
  return IsUsedUp(largest, budget.cap, conversion, delta) ? 0 : largest;
}

absl::StatusOr<double> ReadSpent(const v1::LedgerPosition& position,
                                 v1::Conversion enforced, double delta) {
  DPNMF_ASSIGN_OR_RETURN(const Conversion conversion, FromProto(enforced));
  DPNMF_ASSIGN_OR_RETURN(const Budget budget, FromProto(position));
  return SpentAndReserved(budget, conversion, delta);
}

}  // namespace

std::string LargestRunText(const v1::LedgerPosition& position,
                           v1::Conversion conversion, double delta) {
  const auto epsilon = ReadLargestRun(position, conversion, delta);
  return epsilon.ok() ? FormatDown(*epsilon) : kUnknown;
}

std::string SpentAndReservedText(const v1::LedgerPosition& position,
                                 v1::Conversion conversion, double delta) {
  const auto epsilon = ReadSpent(position, conversion, delta);
  return epsilon.ok() ? FormatUp(*epsilon) : kUnknown;
}

std::string CostWithText(const v1::LedgerPosition& position,
                         const v1::MuSquared& more) {
  const auto budget = FromProto(position);
  const auto added = FromProto(more);
  if (!budget.ok() || !added.ok()) return kUnknown;
  const auto sum = MuSquared::Add(Committed(*budget), *added);
  return sum.has_value() ? FormatUp(sum->ToDoubleUp()) : kUnknown;
}

}  // namespace dpnmf::cli
