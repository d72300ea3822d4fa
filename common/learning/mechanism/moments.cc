// "mean" and "moments": one noised second moment of the data; W is fitted to it
// on this side, for nothing (docs/research/utility.md).
#include "common/moments/moments.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/learning/paid_release.h"
#include "common/learning/run_order.h"
#include "common/learning/run_priors.h"
#include "common/nmf/defaults.h"
#include "common/privacy/accounting.h"

namespace dpnmf::analyst {
namespace {

PartNoise NoiseOf(const RoundFacts& facts, const std::string& part) {
  const auto found = facts.noise.find(part);
  return found == facts.noise.end() ? PartNoise() : found->second;
}

absl::Status RowsDamaged() {
  return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                 "The rows that the run has chosen cannot be read; restore the "
                 "state directory from a backup.");
}

}  // namespace

absl::StatusOr<std::vector<int>> StoredRows(const Eigen::MatrixXd& kept,
                                            const LearnerState& state) {
  if (kept.cols() != 1) return RowsDamaged();
  std::vector<int> rows;
  for (const double row : kept.col(0)) {
    const bool is_row = row >= (rows.empty() ? 0 : rows.back() + 1) &&
                        row < static_cast<double>(state.w.rows()) &&
                        row == std::floor(row);
    if (!is_row) return RowsDamaged();
    rows.push_back(static_cast<int>(row));
  }
  return rows;
}

absl::StatusOr<std::vector<int>> RowsOfMoments(std::uint32_t moment_rows,
                                               const LearnerState& state) {
  const auto kept = state.memory.find(kChosenRows);
  if (kept != state.memory.end()) {
    if (kept->second.rows() < 1 ||
        kept->second.rows() > static_cast<Eigen::Index>(moment_rows))
      return RowsDamaged();
    return StoredRows(kept->second, state);
  }
  // All of them; or the mean is lost and every row has the same chance.
  if (static_cast<Eigen::Index>(moment_rows) > state.w.rows())
    return RowsDamaged();
  std::vector<int> rows(moment_rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<int>(i * static_cast<std::size_t>(state.w.rows()) /
                               rows.size());
  }
  return rows;
}

absl::StatusOr<RoundInput> SendRows(const RoundFacts& facts,
                                    const LearnerState& state) {
  RoundInput input;
  if (static_cast<Eigen::Index>(facts.moment_rows) < state.w.rows()) {
    DPNMF_ASSIGN_OR_RETURN(const std::vector<int> rows,
                           RowsOfMoments(facts.moment_rows, state));
    input.rows.assign(rows.begin(), rows.end());
  }
  return input;
}

absl::Status UpdateFromMean(const std::vector<NoisedMatrix>& parts,
                            const RoundFacts& facts, LearnerState* state) {
  DPNMF_ASSIGN_OR_RETURN(
      Eigen::MatrixXd mean,
      MeanOfPart(parts, "mean", state->w.rows(), 1, facts.users));
  // Unless the request has named them.
  if (!state->memory.contains(kChosenRows)) {
    const std::vector<int> rows = ChooseRowsWith(
        PeopleOf(*state), mean.col(0), NoiseOf(facts, "mean").stddev,
        static_cast<int>(facts.moment_rows));
    Eigen::MatrixXd kept(static_cast<Eigen::Index>(rows.size()), 1);
    std::copy(rows.begin(), rows.end(), kept.data());
    state->memory[kChosenRows] = std::move(kept);
  }
  state->memory[kPaidMean] = std::move(mean);
  return absl::OkStatus();
}

absl::Status UpdateFromMoments(const std::vector<NoisedMatrix>& parts,
                               const RoundFacts& facts, LearnerState* state) {
  DPNMF_ASSIGN_OR_RETURN(PaidMoments paid,
                         PlaceOfMoments(facts.moment_rows, *state));
  const auto count = static_cast<Eigen::Index>(paid.rows.size());
  DPNMF_ASSIGN_OR_RETURN(
      Eigen::MatrixXd g,
      MeanOfPart(parts, kPaidMoments, count, count, facts.users));
  // It was paid for: kept whether or not the fit ends.
  state->memory[kPaidMoments] = std::move(g);
  const PartNoise noise = NoiseOf(facts, kPaidMoments);
  DPNMF_ASSIGN_OR_RETURN(
      NoisedMoments moments,
      MomentsKept(*state, noise.stddev, noise.diagonal_stddev));
  FillPaidMoments(std::move(moments), facts.largest_trace, facts.stddev_of_mean,
                  *state, &paid);
  return UpdateFromPaid(paid, facts, state);
}

// The public numbers that the second moment takes decide.
double ShareOfMeanFor(const RunParameters& run, const DatasetFacts& facts) {
  const absl::StatusOr<MuSquared> cost =
      LargestCost(facts.conversion, run.epsilon, run.delta);
  if (!cost.ok() || *cost == MuSquared()) return kLeastShareOfMean;
  return DefaultShareOfMean(static_cast<double>(facts.users), cost->ToDouble());
}

namespace {

void FillDefaults(const DatasetFacts& facts, RunParameters* run) {
  if (run->moment_rows == 0) {
    run->moment_rows = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(facts.features, kMaxMomentRows));
  }
  if (run->share_of_moments == 0)
    run->share_of_moments = kDefaultShareOfMoments;
  if (run->share_of_mean == 0) run->share_of_mean = ShareOfMeanFor(*run, facts);
  if (run->rounds == 0) run->rounds = run->moment_rows < facts.features ? 2 : 1;
}

// w on these rows, columns of length 1 as FitDictionary returns them.
Eigen::MatrixXd OnRows(const Eigen::MatrixXd& w, const std::vector<int>& rows) {
  Eigen::MatrixXd part = w(rows, Eigen::all);
  for (auto column : part.colwise())
    if (column.norm() > 0) column.normalize();
  return part;
}

constexpr int kReplicates = 16;

}  // namespace

absl::StatusOr<Eigen::MatrixXd> ErrorsOfMoments(
    const RoundFacts& facts, const LearnerState& state,
    const std::function<bool()>& stopped) {
  if (Kept(state, kPaidMoments) == nullptr) return ErrorsDamaged();
  DPNMF_ASSIGN_OR_RETURN(PaidMoments paid,
                         PlaceOfMoments(facts.moment_rows, state));
  DPNMF_ASSIGN_OR_RETURN(NoisedMoments moments,
                         MomentsKept(state, facts.of_moments.stddev,
                                     facts.of_moments.diagonal_stddev));
  if (static_cast<Eigen::Index>(paid.rows.size()) != moments.g.rows())
    return ErrorsDamaged();
  FillPaidMoments(std::move(moments), facts.largest_trace, facts.stddev_of_mean,
                  state, &paid);
  DPNMF_ASSIGN_OR_RETURN(const DenoisedMoments denoised,
                         DenoiseMoments(paid.moments, stopped));
  FitOptions options;
  options.rank = static_cast<int>(state.w.cols());
  options.seed = facts.seed;
  options.law = facts.law;
  options.threads = facts.threads;
  options.stop = stopped;
  BootstrapOptions bootstrap;
  bootstrap.replicates = kReplicates;
  if (paid.covers_all()) {
    return DictionaryStandardErrors(paid.moments, denoised, state.w, options,
                                    bootstrap);
  }
  if (Kept(state, kChosenRows) == nullptr || paid.mean.size() == 0)
    return ErrorsUnavailable();  // it was lost
  const LiftedBy lift = {paid.rows, paid.mean, facts.stddev_of_mean};
  bootstrap.lift = &lift;
  return DictionaryStandardErrors(
      paid.moments, denoised, OnRows(state.w, lift.rows), options, bootstrap);
}

namespace {

LearningWork Work(const LearningShape& shape) {
  const FitWork fit = WorkOfFit(static_cast<int>(shape.moment_rows),
                                static_cast<int>(shape.rank), shape.has_order);
  return {fit.entries + 3 * shape.features * shape.rank, fit.multiplications,
          true};
}

constexpr ReleaseKind kReleases[] = {{.name = "mean",
                                      .input = SendNothing,
                                      .update = UpdateFromMean,
                                      .is_passed_on = true},
                                     {.name = "moments",
                                      .input = SendRows,
                                      .update = UpdateFromMoments,
                                      .is_answer = true,
                                      .is_passed_on = true,
                                      .standard_errors = ErrorsOfMoments,
                                      .work = Work}};

}  // namespace

extern const Mechanism kMomentsMechanism = {
    .name = "moments", .fill_defaults = FillDefaults, .releases = kReleases};

}  // namespace dpnmf::analyst
