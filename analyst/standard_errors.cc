#include "analyst/standard_errors.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/parallel.h"
#include "common/nmf/moments.h"
#include "common/nmf/statistics_update.h"

namespace dpnmf::analyst {
namespace {

absl::Status Unavailable() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "errors-unavailable",
                 "Standard errors are known of completed runs of `moments` "
                 "and of `statistics`; leave `--errors` out.");
}

const v1::PartPlan* FindPart(const v1::RunPlan& plan, std::string_view name) {
  for (const v1::StagePlan& stage : plan.stages()) {
    for (const v1::PartPlan& part : stage.parts())
      if (part.name() == name) return &part;
  }
  return nullptr;
}

// What UpdateFromMoments left in the state.
const Eigen::MatrixXd* Kept(const LearnerState& state,
                            const std::string& name) {
  const auto kept = state.memory.find(name);
  return kept == state.memory.end() ? nullptr : &kept->second;
}

// w on these rows, columns of length 1 as FitDictionary returns them.
Eigen::MatrixXd OnRows(const Eigen::MatrixXd& w, const std::vector<int>& rows) {
  Eigen::MatrixXd part = w(rows, Eigen::all);
  for (auto column : part.colwise())
    if (column.norm() > 0) column.normalize();
  return part;
}

absl::Status Damaged() {
  return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                 "What the run has kept of its release cannot be read; restore "
                 "the state directory from a backup.");
}

absl::Status Stopped() {
  return Refusal(absl::StatusCode::kCancelled, "cancelled",
                 "Nobody waits for the standard errors any more.");
}

constexpr int kReplicates = 16;

// Of the averages that the last round of statistics left.
absl::StatusOr<Eigen::MatrixXd> ErrorsOfStatistics(const v1::Run& run,
                                                   const LearnerState& state) {
  const v1::PartPlan* const part_a = FindPart(run.plan(), "A");
  const v1::PartPlan* const part_b = FindPart(run.plan(), "B");
  const Eigen::MatrixXd* const a = Kept(state, "A");
  const Eigen::Index rank = state.w.cols();
  if (part_a == nullptr || part_b == nullptr) return Unavailable();
  if (a == nullptr || !a->allFinite() || a->rows() != rank ||
      a->cols() != rank || !state.w.allFinite())
    return Damaged();
  const double shrinkage =
      std::sqrt(VarianceShareOfAverage(run.plan().stages().rbegin()->rounds()));
  const v1::LearnerOptions& learner = run.specification().learner();
  return StatisticsStandardErrors(
      *a, state.w,
      {.stddev_a = shrinkage * part_a->stddev(),
       .diagonal_stddev_a = shrinkage * part_a->diagonal_stddev(),
       .stddev_b = shrinkage * part_b->stddev()},
      {.stddev_a = shrinkage * part_a->stddev(),
       .step_size = learner.step_size(),
       .steps = learner.steps_per_round()},
      learner.seed(), kReplicates);
}

}  // namespace

absl::Status CheckHasStandardErrors(const v1::Run& run) {
  if (run.state() != v1::RUN_STATE_COMPLETED || run.plan().stages().empty())
    return Unavailable();
  const std::string& last = run.plan().stages().rbegin()->release();
  return last == "moments" || last == "statistics" ? absl::OkStatus()
                                                   : Unavailable();
}

absl::StatusOr<Eigen::MatrixXd> StandardErrors(
    const v1::Run& run, const LearnerState& state,
    const std::function<bool()>& stopped) {
  DPNMF_RETURN_IF_ERROR(CheckHasStandardErrors(run));
  if (run.plan().stages().rbegin()->release() == "statistics") {
    if (stopped()) return Stopped();
    return ErrorsOfStatistics(run, state);
  }
  const v1::PartPlan* const part = FindPart(run.plan(), "G");
  if (part == nullptr) return Unavailable();
  const Eigen::MatrixXd* const g = Kept(state, "G");
  if (g == nullptr || !g->allFinite() || g->rows() != g->cols() ||
      g->rows() < 1 || g->rows() > state.w.rows())
    return Damaged();
  const NoisedMoments moments{*g, part->stddev(), part->diagonal_stddev()};
  DPNMF_ASSIGN_OR_RETURN(const DenoisedMoments denoised,
                         DenoiseMoments(moments));
  FitOptions options;
  options.rank = static_cast<int>(state.w.cols());
  options.seed = run.specification().learner().seed();
  options.threads = DefaultThreads();
  options.stop = stopped;
  BootstrapOptions bootstrap;
  bootstrap.replicates = kReplicates;
  LiftedBy lift;
  const Eigen::MatrixXd* const rows = Kept(state, "rows");
  const Eigen::MatrixXd* const mean = Kept(state, "mean");
  const v1::PartPlan* const mean_part = FindPart(run.plan(), "mean");
  if (mean_part == nullptr) {
    if (g->rows() != state.w.rows()) return Damaged();
    return DictionaryStandardErrors(moments, denoised, state.w, options,
                                    bootstrap);
  }
  if (rows == nullptr || mean == nullptr) return Unavailable();  // it was lost
  DPNMF_ASSIGN_OR_RETURN(std::vector<int> chosen, StoredRows(*rows, state));
  if (static_cast<Eigen::Index>(chosen.size()) != g->rows() ||
      mean->size() != state.w.rows() || !mean->allFinite())
    return Damaged();
  lift = {std::move(chosen), mean->reshaped(), mean_part->stddev()};
  bootstrap.lift = &lift;
  return DictionaryStandardErrors(moments, denoised, OnRows(state.w, lift.rows),
                                  options, bootstrap);
}

}  // namespace dpnmf::analyst
