#include "analyst/mechanism/mechanism.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::analyst {
namespace {

constexpr Mechanism kMechanisms[] = {
    {"statistics", &UpdateFromStatistics},
    {"gradient", &UpdateFromGradient},
};

}  // namespace

const Mechanism* FindMechanism(std::string_view name) {
  for (const Mechanism& mechanism : kMechanisms) {
    if (mechanism.name == name) return &mechanism;
  }
  return nullptr;
}

absl::StatusOr<Eigen::MatrixXd> MeanOfPart(
    const std::vector<NoisedMatrix>& parts, std::string_view name,
    Eigen::Index rows, Eigen::Index columns, double users) {
  for (const NoisedMatrix& part : parts) {
    if (part.name != name) continue;
    if (part.rows != static_cast<std::uint64_t>(rows) ||
        part.columns != static_cast<std::uint64_t>(columns)) {
      break;
    }
    return ToMean(part, users);
  }
  return Refusal(
      absl::StatusCode::kInvalidArgument, "release-malformed",
      absl::StrCat("The curator's release has no ", rows, " x ", columns,
                   " part `", absl::string_view(name.data(), name.size()),
                   "`; both sides must run the same version."));
}

}  // namespace dpnmf::analyst
