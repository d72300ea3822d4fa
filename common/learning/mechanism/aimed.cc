// "aimed": a second release of moments, of what the first leaves
// (common/moments/aim.h). W is fitted to both.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/learning/paid_release.h"
#include "common/moments/aim.h"
#include "common/moments/moments.h"
#include "common/nmf/defaults.h"
#include "common/privacy/accounting.h"

namespace dpnmf::analyst {
namespace {

double StddevOf(const RoundFacts& facts, const std::string& part) {
  const auto found = facts.noise.find(part);
  return found == facts.noise.end() ? 0 : found->second.stddev;
}

}  // namespace

absl::StatusOr<Aim> AimAfter(const RoundFacts& facts, const LearnerState& state,
                             Eigen::Index rows, int rank) {
  const Eigen::MatrixXd* const numbers = Kept(state, kAimNumbers);
  const Eigen::MatrixXd* const directions = Kept(state, kAimDirections);
  if (numbers != nullptr && directions != nullptr && numbers->size() == 3)
    return Aim{*directions, (*numbers)(0), (*numbers)(1)};
  const Eigen::MatrixXd* const g = Kept(state, kPaidMoments);
  if (g == nullptr) return Aim{Eigen::MatrixXd::Zero(rows, 1), 1, 0};
  if (g->rows() != rows || g->cols() != rows) return ErrorsDamaged();
  NoisedMoments first;
  first.g = *g;
  first.stddev_off = facts.of_moments.stddev;
  first.stddev_diagonal = facts.of_moments.diagonal_stddev;
  return AimOf(first, std::sqrt(facts.largest_moment), rank, facts.stopped,
               facts.threads);
}

RoundInput RequestOf(const Aim& aim, const std::vector<int>& rows,
                     Eigen::Index features) {
  RoundInput input;
  // Named also where they are all: they bound the size of the answer.
  input.rows.assign(rows.begin(), rows.end());
  input.w = Eigen::MatrixXd::Zero(features, aim.directions.cols());
  input.w(rows, Eigen::all) = aim.directions;
  input.numbers = {aim.scale};
  return input;
}

namespace {

int RankOf(const LearnerState& state) {
  return static_cast<int>(state.w.cols());
}

absl::StatusOr<RoundInput> SendAim(const RoundFacts& facts,
                                   const LearnerState& state) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<int> rows,
                         RowsOfMoments(facts.moment_rows, state));
  DPNMF_ASSIGN_OR_RETURN(
      const Aim aim,
      AimAfter(facts, state, static_cast<Eigen::Index>(rows.size()),
               RankOf(state)));
  return RequestOf(aim, rows, state.w.rows());
}

absl::Status UpdateFromAimed(const std::vector<NoisedMatrix>& parts,
                             const RoundFacts& facts, LearnerState* state) {
  DPNMF_ASSIGN_OR_RETURN(PaidMoments paid,
                         PlaceOfMoments(facts.moment_rows, *state));
  const auto count = static_cast<Eigen::Index>(paid.rows.size());
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd z,
                         MeanOfPart(parts, "Z", count, count, facts.users));
  // It was paid for: kept whether or not the fit ends. What it was aimed at is
  // therefore found to the end.
  RoundFacts whole = facts;
  whole.stopped = {};
  DPNMF_ASSIGN_OR_RETURN(Aim aim,
                         AimAfter(whole, *state, count, RankOf(*state)));
  if (Kept(*state, kAimNumbers) == nullptr)
    KeepAimed({std::move(aim), std::move(z), StddevOf(facts, "Z")}, state);
  DPNMF_ASSIGN_OR_RETURN(NoisedMoments moments,
                         MomentsKept(*state, facts.of_moments.stddev,
                                     facts.of_moments.diagonal_stddev));
  FillPaidMoments(std::move(moments), facts.largest_trace, facts.stddev_of_mean,
                  *state, &paid);
  return UpdateFromPaid(paid, facts, state);
}

void FillAimedDefaults(const DatasetFacts& facts, RunParameters* run) {
  if (run->moment_rows == 0) {
    run->moment_rows = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(facts.features, kMaxMomentRows));
  }
  if (run->share_of_moments == 0)
    run->share_of_moments = kDefaultShareOfFirstMoments;
  if (run->share_of_mean == 0) run->share_of_mean = ShareOfMeanFor(*run, facts);
  if (run->rounds == 0) run->rounds = run->moment_rows < facts.features ? 3 : 2;
}

LearningWork AimedWork(const LearningShape& shape) {
  const FitWork fit = WorkOfFit(static_cast<int>(shape.moment_rows),
                                static_cast<int>(shape.rank), shape.has_order);
  const double m = shape.moment_rows;
  return {fit.entries + 3 * shape.features * shape.rank + 8 * m * m,
          2 * fit.multiplications, true};
}

constexpr ReleaseKind kReleases[] = {{.name = "aimed",
                                      .input = SendAim,
                                      .update = UpdateFromAimed,
                                      .is_answer = true,
                                      .is_passed_on = true,
                                      .standard_errors = ErrorsOfMoments,
                                      .work = AimedWork}};

}  // namespace

extern const Mechanism kAimedMechanism = {
    .name = "aimed", .fill_defaults = FillAimedDefaults, .releases = kReleases};

}  // namespace dpnmf::analyst
