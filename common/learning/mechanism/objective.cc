// "objective": 1/(2N) sum of min(|v - W h|^2, c_v^2), noised.
#include "common/base/error.h"
#include "common/learning/mechanism.h"

namespace dpnmf::analyst {

absl::Status UpdateFromObjective(const std::vector<NoisedMatrix>& parts,
                                 const RoundFacts& facts, LearnerState* state) {
  DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd mean,
                         MeanOfPart(parts, "objective", 1, 1, facts.users));
  const auto noise = facts.noise.find("objective");
  Eigen::MatrixXd& kept = state->memory["objective"];
  kept.resize(1, 2);
  kept << mean(0, 0), noise == facts.noise.end() ? 0 : noise->second.stddev;
  return absl::OkStatus();
}

namespace {

void OneRound(const DatasetFacts&, RunParameters* parameters) {
  if (parameters->rounds == 0) parameters->rounds = 1;
}

std::optional<Figure> FigureOf(const LearnerState& state) {
  const Eigen::MatrixXd* const kept = Kept(state, "objective");
  if (kept == nullptr || kept->size() != 2) return std::nullopt;
  return Figure{kept->reshaped()(0), kept->reshaped()(1)};
}

constexpr ReleaseKind kReleases[] = {{.name = "objective",
                                      .input = SendDictionary,
                                      .update = UpdateFromObjective,
                                      .is_answer = true}};

}  // namespace

extern const Mechanism kObjectiveMechanism = {.name = "objective",
                                              .fill_defaults = OneRound,
                                              .releases = kReleases,
                                              .figure = FigureOf};

}  // namespace dpnmf::analyst
