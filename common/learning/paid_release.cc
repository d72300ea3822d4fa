#include "common/learning/paid_release.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/learning/round_facts.h"
#include "common/learning/run_order.h"
#include "common/learning/run_priors.h"
#include "common/privacy/mechanism.h"

namespace dpnmf::analyst {
namespace {

constexpr char kMeanStage[] = "mean";

absl::Status ReleaseMissing() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "release-missing",
                 "The run has no release of second moments; name a run of "
                 "mechanism `moments` that has received its round of moments.");
}

// nullptr if the plan has no such stage with a part of that name.
const v1::PartPlan* PlannedPart(const v1::RunPlan& plan,
                                std::string_view stage_name,
                                std::string_view part_name) {
  for (const v1::StagePlan& stage : plan.stages()) {
    if (stage.release() != stage_name) continue;
    for (const v1::PartPlan& part : stage.parts())
      if (part.name() == part_name) return &part;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<PaidMoments> PlaceOfMoments(std::uint32_t moment_rows,
                                           const LearnerState& state) {
  PaidMoments paid;
  paid.features = static_cast<std::uint64_t>(state.w.rows());
  DPNMF_ASSIGN_OR_RETURN(paid.rows, RowsOfMoments(moment_rows, state));
  if (paid.covers_all()) return paid;
  paid.people = PeopleOf(state);
  const Eigen::MatrixXd* const mean = Kept(state, kPaidMean);
  if (mean == nullptr) return paid;
  if (mean->size() != state.w.rows() || !mean->allFinite())
    return ErrorsDamaged();
  paid.mean = mean->reshaped();
  return paid;
}

void KeepAimed(AimedRelease aimed, LearnerState* state) {
  // Keeps z as G if the first release was lost: the second is of v itself.
  const bool is_alone = Kept(*state, kPaidMoments) == nullptr;
  state->memory[is_alone ? kPaidMoments : kPaidAimed] = std::move(aimed.z);
  state->memory[kAimDirections] = std::move(aimed.aim.directions);
  state->memory[kAimNumbers] =
      Eigen::RowVector3d(aimed.aim.scale, aimed.aim.rest, aimed.stddev);
}

absl::StatusOr<NoisedMoments> MomentsKept(const LearnerState& state,
                                          double stddev_off,
                                          double stddev_diagonal) {
  const Eigen::MatrixXd* const g = Kept(state, kPaidMoments);
  if (g == nullptr) return ReleaseMissing();
  if (!g->allFinite() || g->rows() != g->cols() || g->rows() < 1 ||
      g->rows() > state.w.rows())
    return ErrorsDamaged();
  NoisedMoments moments;
  moments.g = *g;
  moments.stddev_off = stddev_off;
  moments.stddev_diagonal = stddev_diagonal;
  const Eigen::MatrixXd* const numbers = Kept(state, kAimNumbers);
  if (numbers == nullptr) return moments;
  const Eigen::MatrixXd* const directions = Kept(state, kAimDirections);
  if (directions == nullptr || numbers->size() != 3 || !numbers->allFinite() ||
      !((*numbers)(0) > 0) || !((*numbers)(1) >= 0) || !((*numbers)(2) >= 0))
    return ErrorsDamaged();
  const Eigen::MatrixXd* const z = Kept(state, kPaidAimed);
  if (z == nullptr) {
    moments.stddev_off = (*numbers)(2);
    moments.stddev_diagonal = std::sqrt(2.0) * moments.stddev_off;
    return moments;
  }
  auto both = WithAimed(moments, {*directions, (*numbers)(0), (*numbers)(1)},
                        *z, (*numbers)(2));
  if (!both.ok()) return ErrorsDamaged();
  return both;
}

void FillPaidMoments(NoisedMoments moments, double largest_trace,
                     double mean_stddev, const LearnerState& state,
                     PaidMoments* paid) {
  paid->moments = std::move(moments);
  paid->moments.largest_trace = largest_trace;
  paid->moments.priors = PriorsOf(state, paid->rows);
  paid->moments.order = OrderOn(state, paid->rows);
  if (paid->covers_all()) return;
  paid->mean_stddev = mean_stddev;
  if (paid->mean.size() > 0)
    paid->moments.mean = MeanOnRows(paid->mean, mean_stddev, paid->rows);
}

absl::StatusOr<PaidMoments> PaidMomentsOf(const v1::Run& run,
                                          const LearnerState& state) {
  if (MechanismHas(run.specification().parameters().mechanism(),
                   &dpnmf::Mechanism::for_ratings)) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "release-missing",
                   "The run is on ratings and holds no release of second "
                   "moments: its item model is what its releases give.");
  }
  const v1::PartPlan* const part =
      PlannedPart(run.plan(), kReleaseOfMoments, kPaidMoments);
  if (part == nullptr || Kept(state, kPaidMoments) == nullptr)
    return ReleaseMissing();
  DPNMF_ASSIGN_OR_RETURN(
      NoisedMoments moments,
      MomentsKept(state, part->stddev(), part->diagonal_stddev()));
  DPNMF_ASSIGN_OR_RETURN(
      PaidMoments paid,
      PlaceOfMoments(run.specification().parameters().moment_rows(), state));
  if (static_cast<Eigen::Index>(paid.rows.size()) != moments.g.rows())
    return ErrorsDamaged();
  const v1::PartPlan* const mean_part =
      PlannedPart(run.plan(), kMeanStage, kPaidMean);
  FillPaidMoments(
      std::move(moments),
      LargestTrace(part, run.specification().parameters().adjacency()),
      mean_part == nullptr ? 0 : mean_part->stddev(), state, &paid);
  return paid;
}

absl::StatusOr<Eigen::MatrixXd> FitPaidMoments(const PaidMoments& paid,
                                               const FitOptions& options,
                                               FitFigures* figures) {
  DPNMF_ASSIGN_OR_RETURN(
      const DenoisedMoments denoised,
      DenoiseMoments(paid.moments, options.stop, options.threads));
  return FitDenoised(paid, denoised, options, figures);
}

absl::StatusOr<Eigen::MatrixXd> FitDenoised(const PaidMoments& paid,
                                            const DenoisedMoments& denoised,
                                            const FitOptions& options,
                                            FitFigures* figures) {
  Eigen::VectorXd explained;
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd w,
                         FitDictionary(denoised, options, &explained));
  if (figures != nullptr) {
    if (paid.moments.priors != nullptr)
      figures->prior_share = denoised.share_of_priors;
    figures->explained = std::clamp(explained.sum(), 0.0, 1.0);
  }
  if (paid.covers_all()) return w;
  const auto features = static_cast<Eigen::Index>(paid.features);
  // Uses a mean of 0 if the mean is lost: the other features are unknown.
  return LiftDictionaryWith(paid.people, w, paid.rows,
                            paid.mean.size() == features
                                ? paid.mean
                                : Eigen::VectorXd::Zero(features),
                            paid.mean_stddev, options.threads, options.stop);
}

absl::Status UpdateFromPaid(const PaidMoments& paid, const RoundFacts& facts,
                            LearnerState* state) {
  FitOptions options;
  options.rank = static_cast<int>(state->w.cols());
  options.seed = facts.seed;
  options.law = facts.law;
  options.threads = facts.threads;
  options.stop = facts.stopped;
  options.progress = facts.progress;
  FitFigures figures;
  DPNMF_ASSIGN_OR_RETURN(state->w, FitPaidMoments(paid, options, &figures));
  state->figures = figures;
  return absl::OkStatus();
}

}  // namespace dpnmf::analyst
