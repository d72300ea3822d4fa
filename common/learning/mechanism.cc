#include "common/learning/mechanism.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/nmf/defaults.h"
#include "common/nmf/statistics_update.h"

namespace dpnmf::analyst {
#define DPNMF_MECHANISM(Name) extern const Mechanism k##Name##Mechanism;
#include "mechanism_names.inc"
#undef DPNMF_MECHANISM

const NameTable<Mechanism>& Mechanisms() {
#define DPNMF_MECHANISM(Name) &k##Name##Mechanism,
  static auto& table = *new NameTable<Mechanism>({
#include "mechanism_names.inc"
  });
#undef DPNMF_MECHANISM
  return table;
}

const ReleaseKind* FindReleaseKind(std::string_view name) {
  for (const Mechanism* mechanism : Mechanisms().rows()) {
    for (const ReleaseKind& kind : mechanism->releases)
      if (kind.name == name) return &kind;
  }
  return nullptr;
}

void FillDefaultRounds(const DatasetFacts&, RunParameters* parameters) {
  if (parameters->rounds == 0) parameters->rounds = kDefaultRounds;
}

absl::Status CheckLearning(const RoundFacts& facts) {
  if (!Stopped(facts.stopped)) return absl::OkStatus();
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "Learning was stopped.");
}

absl::Status ErrorsUnavailable() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "errors-unavailable",
                 "Standard errors exist only for completed runs of `moments`, "
                 "`aimed` and `statistics`; leave `--errors` out.");
}

absl::Status ErrorsDamaged() {
  return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                 "The stored release of the run cannot be read; restore the "
                 "state directory from a backup.");
}

const Eigen::MatrixXd* Kept(const LearnerState& state,
                            const std::string& name) {
  const auto kept = state.memory.find(name);
  return kept == state.memory.end() ? nullptr : &kept->second;
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
  // Drops an average of another shape, which was damaged on the disk.
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
