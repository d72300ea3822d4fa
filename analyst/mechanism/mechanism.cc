#include "analyst/mechanism/mechanism.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/nmf/statistics_update.h"

namespace dpnmf::analyst {
namespace {

constexpr Mechanism kMechanisms[] = {
    {"statistics", &SendDictionary, &UpdateFromStatistics},
    {"gradient", &SendDictionary, &UpdateFromGradient},
    {"mean", &SendNothing, &UpdateFromMean},
    {"moments", &SendRows, &UpdateFromMoments},
    {"objective", &SendDictionary, &UpdateFromObjective},
};

}  // namespace

const Mechanism* FindMechanism(std::string_view name) {
  for (const Mechanism& mechanism : kMechanisms) {
    if (mechanism.name == name) return &mechanism;
  }
  return nullptr;
}

absl::StatusOr<RoundInput> SendDictionary(const RoundFacts&,
                                          const LearnerState& state) {
  return RoundInput(state.w);
}

absl::StatusOr<RoundInput> SendNothing(const RoundFacts&, const LearnerState&) {
  return RoundInput();
}

Eigen::MatrixXd AverageIn(const std::string& name, const RoundFacts& facts,
                          Eigen::MatrixXd fresh, LearnerState* state) {
  if (!facts.average) return fresh;
  Eigen::MatrixXd& kept = state->memory[name];
  // Of another shape: damaged on the disk, and begun anew.
  if (kept.rows() != fresh.rows() || kept.cols() != fresh.cols())
    kept = Eigen::MatrixXd();
  AverageRounds(facts.round, std::move(fresh), &kept);
  return kept;
}

double VarianceShare(const RoundFacts& facts) {
  return facts.average ? VarianceShareOfAverage(facts.round) : 1;
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
  return Refusal(absl::StatusCode::kInvalidArgument, "release-malformed",
                 absl::StrCat("The curator's release has no ", rows, " x ",
                              columns, " part `", View(name),
                              "`; both sides must run the same version."));
}

}  // namespace dpnmf::analyst
