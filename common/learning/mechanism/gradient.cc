// "gradient": the paper's protocol. The curator forms G = W A - B from noised
// sums and sends that alone.
#include <utility>

#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/nmf/dictionary.h"
#include "common/nmf/gradient_update.h"

namespace dpnmf::analyst {
namespace {

// Names in LearnerState::memory.
constexpr char kMeanW[] = "gradient.w";
constexpr char kMeanGradient[] = "gradient";
constexpr char kWw[] = "gradient.ww";
constexpr char kWg[] = "gradient.wg";

// Empty if there is none, or one of another shape: damaged on the disk, and
// started again.
GradientMemory MemoryOf(const LearnerState& state) {
  const Eigen::Index features = state.w.rows(), rank = state.w.cols();
  const auto kept = [&](const char* name, Eigen::Index rows) {
    const auto found = state.memory.find(name);
    return found != state.memory.end() && found->second.rows() == rows &&
                   found->second.cols() == rank
               ? found->second
               : Eigen::MatrixXd();
  };
  GradientMemory memory{kept(kMeanW, features), kept(kMeanGradient, features),
                        kept(kWw, rank), kept(kWg, rank)};
  const bool whole = memory.w.size() > 0 && memory.gradient.size() > 0 &&
                     memory.ww.size() > 0 && memory.wg.size() > 0;
  return whole ? memory : GradientMemory();
}

double StddevOf(const RoundFacts& facts, const char* part) {
  const auto noise = facts.noise.find(part);
  return noise == facts.noise.end() ? 0 : noise->second.stddev;
}

}  // namespace

absl::Status UpdateFromGradient(const std::vector<NoisedMatrix>& parts,
                                const RoundFacts& facts, LearnerState* state) {
  DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd gradient,
                         MeanOfPart(parts, "gradient", state->w.rows(),
                                    state->w.cols(), facts.users));
  if (!facts.average) {
    // W <- Project(W - eta G), eta = step_size / c_h^2. |A|_F is not released
    // here; c_h^2 is its public bound, so eta <= step_size / |A|_F.
    state->w -= facts.step_size / facts.largest_a_norm * gradient;
    ProjectDictionary(&state->w);
    return absl::OkStatus();
  }
  GradientMemory memory = MemoryOf(*state);
  AddGradient(facts.round, state->w, gradient, &memory, facts.stopped);
  DPNMF_RETURN_IF_ERROR(CheckLearning(facts));
  UpdateFromGradients(
      memory,
      {.variance = GradientNoiseVariance(StddevOf(facts, "A"),
                                         StddevOf(facts, "B"), state->w),
       .variance_share = VarianceShare(facts),
       .largest_a_norm = facts.largest_a_norm,
       .step_size = facts.step_size,
       .steps = facts.steps_per_round},
      &state->w, facts.stopped);
  state->memory[kMeanW] = std::move(memory.w);
  state->memory[kMeanGradient] = std::move(memory.gradient);
  state->memory[kWw] = std::move(memory.ww);
  state->memory[kWg] = std::move(memory.wg);
  return CheckLearning(facts);
}

namespace {

// The release, the moments of all rounds and W, before and after.
LearningWork Work(const LearningShape& shape) {
  const double w = shape.features * shape.rank, a = shape.rank * shape.rank;
  return {14 * w + 12 * a,
          (shape.steps_per_round + 3) * w * shape.rank + 30 * a * shape.rank};
}

constexpr ReleaseKind kReleases[] = {{.name = "gradient",
                                      .input = SendDictionary,
                                      .update = UpdateFromGradient,
                                      .work = Work}};

}  // namespace

extern const Mechanism kGradientMechanism = {.name = "gradient",
                                             .fill_defaults = FillDefaultRounds,
                                             .releases = kReleases};

}  // namespace dpnmf::analyst
