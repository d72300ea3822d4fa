#include "analyst/paid_release.h"

#include <string_view>
#include <utility>

#include "analyst/run_priors.h"
#include "common/base/error.h"

namespace dpnmf::analyst {
namespace {

constexpr char kMomentsStage[] = "moments";
constexpr char kMeanStage[] = "mean";

absl::Status ReleaseMissing() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "release-missing",
                 "The run holds no release of second moments; name a run of "
                 "mechanism `moments` whose round of moments has come.");
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

absl::StatusOr<PaidMoments> PaidMomentsOf(const v1::Run& run,
                                          const LearnerState& state) {
  const v1::PartPlan* const part =
      PlannedPart(run.plan(), kMomentsStage, kPaidMoments);
  const Eigen::MatrixXd* const g = Kept(state, kPaidMoments);
  if (part == nullptr || g == nullptr) return ReleaseMissing();
  if (!g->allFinite() || g->rows() != g->cols() || g->rows() < 1 ||
      g->rows() > state.w.rows())
    return ErrorsDamaged();
  PaidMoments paid;
  paid.features = static_cast<std::uint64_t>(state.w.rows());
  paid.moments = {*g, part->stddev(), part->diagonal_stddev(), nullptr};
  DPNMF_ASSIGN_OR_RETURN(
      paid.rows,
      RowsOfMoments(run.specification().parameters().moment_rows(), state));
  if (static_cast<Eigen::Index>(paid.rows.size()) != g->rows())
    return ErrorsDamaged();
  DPNMF_ASSIGN_OR_RETURN(paid.moments.priors, PriorsOf(state, paid.rows));
  if (paid.covers_all()) return paid;
  const v1::PartPlan* const mean_part =
      PlannedPart(run.plan(), kMeanStage, kPaidMean);
  const Eigen::MatrixXd* const mean = Kept(state, kPaidMean);
  if (mean_part != nullptr) paid.mean_stddev = mean_part->stddev();
  if (mean == nullptr) return paid;
  if (mean->size() != state.w.rows() || !mean->allFinite())
    return ErrorsDamaged();
  paid.mean = mean->reshaped();
  return paid;
}

absl::StatusOr<Eigen::MatrixXd> FitPaidMoments(
    const PaidMoments& paid, const FitOptions& options,
    std::optional<double>* prior_share) {
  DPNMF_ASSIGN_OR_RETURN(
      const DenoisedMoments denoised,
      DenoiseMoments(paid.moments, options.stop, options.threads));
  if (prior_share != nullptr && paid.moments.priors != nullptr)
    *prior_share = denoised.share_of_priors;
  DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd w, FitDictionary(denoised, options));
  if (paid.covers_all()) return w;
  const auto features = static_cast<Eigen::Index>(paid.features);
  // Nothing is known of the other features if the mean is lost.
  return LiftDictionary(w, paid.rows,
                        paid.mean.size() == features
                            ? paid.mean
                            : Eigen::VectorXd::Zero(features),
                        paid.mean_stddev);
}

}  // namespace dpnmf::analyst
