// "statistics": the curator sends the noised A and B themselves.
#include <cmath>
#include <utility>

#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/moments/moments.h"
#include "common/nmf/statistics_update.h"

namespace dpnmf::analyst {

absl::Status UpdateFromStatistics(const std::vector<NoisedMatrix>& parts,
                                  const RoundFacts& facts,
                                  LearnerState* state) {
  const Eigen::Index features = state->w.rows();
  const Eigen::Index rank = state->w.cols();
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd a,
                         MeanOfPart(parts, "A", rank, rank, facts.users));
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd b,
                         MeanOfPart(parts, "B", features, rank, facts.users));
  a = AverageIn("A", facts, std::move(a), state);
  b = AverageIn("B", facts, std::move(b), state);
  dpnmf::UpdateFromStatistics(
      a, b,
      {.stddev_a = facts.stddev_a * std::sqrt(VarianceShare(facts)),
       .step_size = facts.step_size,
       .steps = facts.steps_per_round},
      &state->w, facts.stopped);
  return CheckLearning(facts);
}

namespace {

constexpr int kReplicates = 16;

// Standard errors from the averages that the last round left.
absl::StatusOr<Eigen::MatrixXd> StandardErrors(const RoundFacts& facts,
                                               const LearnerState& state,
                                               const Stop& stopped) {
  const auto part_a = facts.noise.find("A"), part_b = facts.noise.find("B");
  const Eigen::MatrixXd* const a = Kept(state, "A");
  const Eigen::Index rank = state.w.cols();
  if (part_a == facts.noise.end() || part_b == facts.noise.end())
    return ErrorsUnavailable();
  if (a == nullptr || !a->allFinite() || a->rows() != rank ||
      a->cols() != rank || !state.w.allFinite())
    return ErrorsDamaged();
  const double shrinkage = std::sqrt(VarianceShareOfAverage(facts.rounds));
  const double stddev_a = shrinkage * part_a->second.stddev;
  Eigen::MatrixXd errors = StatisticsStandardErrors(
      *a, state.w,
      {.stddev_a = stddev_a,
       .diagonal_stddev_a = shrinkage * part_a->second.diagonal_stddev,
       .stddev_b = shrinkage * part_b->second.stddev},
      {.stddev_a = stddev_a,
       .step_size = facts.step_size,
       .steps = facts.steps_per_round},
      facts.seed, kReplicates, stopped);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(stopped));
  return errors;
}

// The release, its means, their averages and W, before and after.
LearningWork Work(const LearningShape& shape) {
  const double w = shape.features * shape.rank, a = shape.rank * shape.rank;
  return {8 * w + 8 * a,
          shape.steps_per_round * w * shape.rank + 20 * a * shape.rank};
}

constexpr ReleaseKind kReleases[] = {{.name = "statistics",
                                      .input = SendDictionary,
                                      .update = UpdateFromStatistics,
                                      .standard_errors = StandardErrors,
                                      .work = Work}};

}  // namespace

extern const Mechanism kStatisticsMechanism = {
    .name = "statistics",
    .fill_defaults = FillDefaultRounds,
    .releases = kReleases};

}  // namespace dpnmf::analyst
