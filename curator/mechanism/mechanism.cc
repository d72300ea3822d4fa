#include "curator/mechanism/mechanism.h"

#include "common/base/error.h"

namespace dpnmf::curator {
namespace {

struct Row {
  std::string_view name;
  MechanismFactory factory;
};

constexpr Row kMechanisms[] = {
    {"statistics", StatisticsMechanism},
    {"gradient", GradientMechanism},
};

}  // namespace

absl::StatusOr<MechanismFactory> FindMechanism(std::string_view name) {
  for (const Row& row : kMechanisms) {
    if (row.name == name) return row.factory;
  }
  return Refusal(absl::StatusCode::kInvalidArgument, "mechanism-unknown",
                 "`mechanism` must be statistics or gradient.");
}

}  // namespace dpnmf::curator
