#include "analyst/cli/render/left.h"

#include <optional>

#include "absl/status/statusor.h"
#include "analyst/cli/render/number.h"
#include "common/privacy/accounting.h"
#include "common/privacy/mu_squared.h"
#include "common/rpc/convert.h"

namespace dpnmf::cli {
namespace {

constexpr char kUnknown[] = "unknown";

std::optional<double> EpsilonOf(MuSquared cost, v1::Conversion conversion,
                                double delta) {
  const auto enforced = FromProto(conversion);
  if (!enforced.ok()) return std::nullopt;
  const auto epsilon = Epsilon(*enforced, cost, delta);
  return epsilon.ok() ? std::optional<double>(*epsilon) : std::nullopt;
}

std::optional<MuSquared> Sum(const v1::MuSquared& one,
                             const v1::MuSquared& other) {
  const auto first = FromProto(one), second = FromProto(other);
  if (!first.ok() || !second.ok()) return std::nullopt;
  return MuSquared::Add(*first, *second);
}

}  // namespace

std::string LeftForOneRun(const v1::LedgerPosition& position,
                          v1::Conversion conversion, double delta) {
  const auto left = FromProto(position.left());
  if (!left.ok()) return kUnknown;
  const auto epsilon = EpsilonOf(*left, conversion, delta);
  return epsilon.has_value() ? FormatDown(*epsilon) : kUnknown;
}

std::string CommittedEpsilon(const v1::LedgerPosition& position,
                             v1::Conversion conversion, double delta) {
  const auto sum = Sum(position.charged(), position.reserved());
  if (!sum.has_value()) return kUnknown;
  const auto epsilon = EpsilonOf(*sum, conversion, delta);
  return epsilon.has_value() ? FormatUp(*epsilon) : kUnknown;
}

std::string CommittedCost(const v1::LedgerPosition& position,
                          const v1::MuSquared& more) {
  const auto committed = Sum(position.charged(), position.reserved());
  const auto added = FromProto(more);
  if (!committed.has_value() || !added.ok()) return kUnknown;
  const auto sum = MuSquared::Add(*committed, *added);
  return sum.has_value() ? FormatUp(sum->ToDouble()) : kUnknown;
}

}  // namespace dpnmf::cli
