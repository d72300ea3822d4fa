#include "analyst/runs/refit.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyst/runs/sent_priors.h"
#include "common/base/error.h"
#include "common/base/stopwatch.h"
#include "common/base/trace.h"
#include "common/crypto/sha256.h"
#include "common/learning/fit_law_options.h"
#include "common/learning/paid_release.h"
#include "common/learning/run_order.h"
#include "common/log/without_exceptions.h"
#include "common/nmf/dictionary.h"
#include "common/threads/parallel.h"

namespace dpnmf::analyst {
namespace {

constexpr std::uint32_t kLargestRefitRank = 4096;

std::string DigestOfEntries(const Eigen::MatrixXd& matrix) {
  return HexOf(Sha256()
                   .AddInteger(static_cast<std::uint64_t>(matrix.rows()))
                   .AddInteger(static_cast<std::uint64_t>(matrix.cols()))
                   .AddBytes(std::as_bytes(std::span(
                       matrix.data(), static_cast<std::size_t>(matrix.size()))))
                   .Finish());
}

v1::RunEvent NothingCharged() {
  v1::RunEvent event;
  event.mutable_charged()->set_units("0");
  return event;
}

// One attempt at a run. UNAVAILABLE alone is worth another.
class Fit {
 public:
  Fit(const std::string& run_id, RunStore* store, RunControl* control,
      const LearnerSettings& settings, const std::function<void()>& on_change)
      : run_id_(run_id),
        store_(store),
        control_(control),
        settings_(settings),
        on_change_(on_change) {}

  absl::Status Run() {
    DPNMF_ASSIGN_OR_RETURN(record_, store_->Get(run_id_));
    const v1::RunState state = record_.run.state();
    if (IsFinal(state)) return absl::OkStatus();
    if (control_->cancelled() || state == v1::RUN_STATE_CANCELLING)
      return End(v1::RUN_STATE_CANCELLED, absl::OkStatus());
    if (state != v1::RUN_STATE_RUNNING) {
      StateChange change;
      change.state = v1::RUN_STATE_RUNNING;
      change.event = NothingCharged();
      change.event.set_rounds(rounds());
      DPNMF_RETURN_IF_ERROR(store_->ChangeState(run_id_, change));
      on_change_();
    }
    const Stopwatch watch;
    FitFigures figures;
    const absl::StatusOr<Eigen::MatrixXd> w =
        WithoutExceptions([&] { return FitW(&figures); });
    control_->SetLearning(-1);
    if (control_->stopped()) return absl::OkStatus();
    if (!w.ok() && control_->cancelled())
      return End(v1::RUN_STATE_CANCELLED, absl::OkStatus());
    if (absl::IsUnavailable(w.status())) return w.status();
    if (!w.ok()) return End(v1::RUN_STATE_FAILED, w.status());
    const double taken = watch.Seconds();
    v1::RunEvent event = NothingCharged();
    event.set_round_seconds(taken);
    event.set_message(
        absl::StrFormat("W was fitted in %.3g s to a release that is paid for; "
                        "nothing was charged.",
                        taken));
    DPNMF_RETURN_IF_ERROR(store_->FinishFit(run_id_, *w, event, figures));
    return Ended(v1::RUN_STATE_COMPLETED);
  }

 private:
  std::uint32_t rounds() const {
    return record_.run.specification().parameters().rounds();
  }

  absl::StatusOr<Eigen::MatrixXd> FitW(FitFigures* figures) const {
    DPNMF_ASSIGN_OR_RETURN(const LearnerState state,
                           store_->ReadLearner(run_id_));
    DPNMF_ASSIGN_OR_RETURN(const PaidMoments paid,
                           PaidMomentsOf(record_.run, state));
    const v1::LearnerOptions& learner = record_.run.specification().learner();
    FitOptions options;
    options.rank = static_cast<int>(state.w.cols());
    options.seed = learner.seed();
    options.law = FitLawOf(learner);
    options.threads = DefaultThreads();
    options.stop = [this] {
      return control_->stopped() || control_->cancelled();
    };
    options.progress = [this](double share) {
      if (control_->SetLearning(share)) on_change_();
    };
    if (learner.initialisation() == v1::INITIALISATION_PUBLIC)
      options.start = state.w(paid.rows, Eigen::all);
    return FitPaidMoments(paid, options, figures);
  }

  absl::Status End(v1::RunState state, const absl::Status& failure) {
    StateChange change;
    change.state = state;
    change.event = NothingCharged();
    change.event.set_rounds(rounds());
    if (!failure.ok()) {
      change.SetError(failure);
      change.event.set_message(*change.error);
    }
    DPNMF_RETURN_IF_ERROR(store_->ChangeState(run_id_, change));
    return Ended(state);
  }

  // The end is stored: that it cannot be written down changes nothing.
  absl::Status Ended(v1::RunState state) const {
    on_change_();
    WriteAudit(settings_.observers.audit, "run-ended",
               {{"run", run_id_},
                {"client", record_.run.started_by()},
                {"state", v1::RunState_Name(state)}})
        .IgnoreError();
    return absl::OkStatus();
  }

  const std::string& run_id_;
  RunStore* const store_;
  RunControl* const control_;
  const LearnerSettings& settings_;
  const std::function<void()>& on_change_;
  RunRecord record_;
};

}  // namespace

v1::RunPlan PlanOfPaid(const v1::RunPlan& plan) {
  v1::RunPlan paid = plan;
  paid.clear_stages();
  for (const v1::StagePlan& stage : plan.stages()) {
    const ReleaseKind* const kind = FindReleaseKind(stage.release());
    if (kind != nullptr && kind->is_passed_on) *paid.add_stages() = stage;
  }
  return paid;
}

absl::StatusOr<Eigen::MatrixXd> FirstDictionary(
    std::uint64_t features, std::uint64_t rank,
    const v1::LearnerOptions& learner, std::optional<Eigen::MatrixXd> w0) {
  if (learner.initialisation() == v1::INITIALISATION_RANDOM) {
    if (w0.has_value()) {
      return Refusal(absl::StatusCode::kInvalidArgument,
                     "dictionary-unexpected",
                     "A W_0 was sent with a random initialisation; choose one "
                     "of the two.");
    }
    return RandomDictionary(features, rank, learner.seed());
  }
  if (!w0.has_value()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "dictionary-missing",
                   "A public initialisation needs a W_0; send it after the "
                   "specification.");
  }
  if (static_cast<std::uint64_t>(w0->rows()) != features ||
      static_cast<std::uint64_t>(w0->cols()) != rank) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "matrix-shape",
        absl::StrCat("W_0 is ", w0->rows(), " x ", w0->cols(), "; it must be ",
                     features, " x ", rank, " (features x rank)."));
  }
  DPNMF_RETURN_IF_ERROR(CheckDictionary(*w0));
  ProjectDictionary(&*w0);
  return *std::move(w0);
}

absl::StatusOr<NewRun> ChildOf(const RunRecord& source, LearnerState state,
                               const v1::Refit& refit) {
  DPNMF_ASSIGN_OR_RETURN(const PaidMoments paid,
                         PaidMomentsOf(source.run, state));
  NewRun child;
  child.record.guarantee = source.guarantee;
  child.record.population = source.population;
  v1::Run& run = child.record.run;
  run.set_parent(source.run.parent().empty() ? source.run.run_id()
                                             : source.run.parent());
  *run.mutable_joined() = source.run.joined();
  run.set_state(v1::RUN_STATE_QUEUED);
  // The noise is that of the release; the cost is the parent's alone.
  *run.mutable_plan() = PlanOfPaid(source.run.plan());
  run.mutable_plan()->clear_cost();
  run.mutable_plan()->clear_epsilons();
  std::uint32_t rounds = 0;
  for (v1::StagePlan& stage : *run.mutable_plan()->mutable_stages()) {
    stage.clear_cost_per_round();
    rounds += stage.rounds();
  }
  v1::RunSpecification& specification = *run.mutable_specification();
  specification = source.run.specification();
  specification.clear_request_id();
  v1::RunParameters& parameters = *specification.mutable_parameters();
  parameters.set_rounds(rounds);
  if (refit.rank() != 0) parameters.set_rank(refit.rank());
  if (parameters.rank() < 1 || parameters.rank() > kLargestRefitRank) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "rank-out-of-range",
        absl::StrCat("`rank` must be from 1 to ", kLargestRefitRank, "."));
  }
  v1::LearnerOptions& learner = *specification.mutable_learner();
  const v1::Initialisation asked = refit.learner().initialisation();
  if (asked != v1::INITIALISATION_UNSPECIFIED &&
      asked != v1::INITIALISATION_RANDOM &&
      asked != v1::INITIALISATION_PUBLIC) {
    return Refusal(absl::StatusCode::kInvalidArgument, "initialisation-unknown",
                   "`initialisation` must be random or public.");
  }
  learner.set_initialisation(
      asked == v1::INITIALISATION_PUBLIC ? asked : v1::INITIALISATION_RANDOM);
  learner.set_seed(refit.learner().seed());
  CopyFitLaw(refit.learner(), &learner);
  DPNMF_RETURN_IF_ERROR(CheckFitLawOf(learner));
  child.facts.like = source.run.run_id();
  for (const char* name : {kPaidMoments, kPaidMean, kChosenRows, kPaidAimed,
                           kAimDirections, kAimNumbers}) {
    const auto kept = state.memory.find(name);
    if (kept != state.memory.end())
      child.state.memory[name] = std::move(kept->second);
  }
  child.state.w.resize(static_cast<Eigen::Index>(paid.features), 0);
  // Given ones come with the request (KeepPriors).
  if (refit.without_priors() || refit.priors_size() > 0) {
    *specification.mutable_priors() = refit.priors();
  } else {
    child.state.priors = std::move(state.priors);
  }
  if (refit.has_feature_order()) {
    *specification.mutable_feature_order() = refit.feature_order();
    DPNMF_RETURN_IF_ERROR(KeepOrder(&specification, &child.state));
  } else {
    child.state.order = std::move(state.order);
  }
  return child;
}

ClientRequest RequestOf(const v1::Run& child,
                        const std::optional<Eigen::MatrixXd>& w0) {
  const v1::RunSpecification& specification = child.specification();
  Sha256 hash;
  hash.AddString(child.joined().empty() ? child.parent() : "sum")
      .AddInteger(specification.parameters().rank())
      .AddInteger(specification.learner().seed())
      .AddString(w0.has_value() ? DigestOfEntries(*w0) : std::string());
  for (const v1::Prior& prior : specification.priors())
    hash.AddString(prior.SerializeAsString());
  const FitLaw law = FitLawOf(specification.learner());
  if (!law.is_plain()) {
    hash.AddString(std::string(NameOf(law.loss)))
        .AddString(absl::StrFormat("%.17g", law.sparseness));
  }
  if (specification.has_feature_order())
    hash.AddString(specification.feature_order().SerializeAsString());
  // Adds the terms of a sum, sorted: their order does not matter.
  std::set<std::string> joined;
  for (const v1::JoinedRun& run : child.joined()) joined.insert(run.run_id());
  for (const std::string& run_id : joined) hash.AddString(run_id);
  const std::string digest = HexOf(hash.Finish());
  return {absl::StrCat("refit:", digest), digest};
}

void FitStoredRun(const std::string& run_id, RunStore* store,
                  RunControl* control, const LearnerSettings& settings,
                  const std::function<void()>& on_change) {
  const TraceScope scope(NewRequest(run_id));
  std::chrono::milliseconds pause = settings.first_pause;
  while (!control->stopped()) {
    const absl::Status status =
        Fit(run_id, store, control, settings, on_change).Run();
    if (!absl::IsUnavailable(status)) return;
    control->Wait(pause, /*wake_on_cancel=*/false);
    pause = std::min(2 * pause, settings.longest_pause);
  }
}

}  // namespace dpnmf::analyst
