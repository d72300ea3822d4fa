#include "client/commands/train_joint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands/spending.h"
#include "client/render/names.h"
#include "client/session/follow.h"
#include "client/session/interrupt.h"
#include "client/session/run_id.h"
#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "common/wire/json.h"
#include "common/wire/matrix_stream.h"
#include "common/wire/plan_refusal.h"

namespace dpnmf::cli {
namespace {

constexpr std::uint64_t kMostRowsOfRelease = 1 << 20;

absl::Status Usage(const std::string& sentence) {
  return Refusal(absl::StatusCode::kInvalidArgument, "usage",
                 absl::StrCat(sentence, "; see 'dpnmf train --help'."));
}

// One data set and its run: known, or to be started.
struct JointTerm {
  PreparedRun prepared;
  std::optional<v1::Run> run;

  const std::string& dataset() const { return prepared.dataset.name(); }
  bool released() const {
    return run.has_value() && run->state() == v1::RUN_STATE_COMPLETED;
  }
};

bool CanBeAdded(std::string_view mechanism) {
  return MechanismHas(mechanism, &Mechanism::releases_can_be_added);
}

std::string NamesOfAddable() {
  return NamesText(Mechanisms(), &Mechanism::releases_can_be_added);
}

absl::Status CheckJointFlags(const RunFlags& flags,
                             const std::vector<std::string>& datasets) {
  if (!flags.dataset.empty() || !flags.federation.empty())
    return Usage("--datasets excludes --dataset and --federation");
  const std::set<std::string> different(datasets.begin(), datasets.end());
  if (datasets.size() < 2 || different.size() != datasets.size())
    return Usage("--datasets needs two or more different data sets");
  if (flags.mechanism != "auto" && !CanBeAdded(flags.mechanism))
    return Usage(absl::StrCat("--datasets adds only releases of --mechanism ",
                              NamesOfAddable()));
  return absl::OkStatus();
}

// Deviation of an entry of the second moment; more than any if there is none.
double NoiseOfMoments(const v1::Run& run) {
  for (const v1::StagePlan& stage : run.plan().stages()) {
    if (stage.release() == kReleaseOfMoments && stage.parts_size() > 0)
      return stage.parts(0).stddev();
  }
  return HUGE_VAL;
}

// Runs of the data set that may be taken, the best first: released, then with
// the least noise, then the oldest.
std::vector<v1::Run> RunsToTake(const v1::ListRunsReply& runs,
                                const std::string& dataset) {
  const auto rank = [](const v1::Run& run) {
    return std::make_tuple(run.state() != v1::RUN_STATE_COMPLETED,
                           NoiseOfMoments(run), run.created_unix_seconds(),
                           run.run_id());
  };
  std::vector<v1::Run> taken;
  for (const v1::Run& run : runs.runs()) {
    const v1::RunParameters& parameters = run.specification().parameters();
    const bool goes_on = run.state() == v1::RUN_STATE_QUEUED ||
                         run.state() == v1::RUN_STATE_RUNNING ||
                         run.state() == v1::RUN_STATE_WAITING;
    if (parameters.dataset() != dataset ||
        !CanBeAdded(parameters.mechanism()) || !run.parent().empty() ||
        !(goes_on || run.state() == v1::RUN_STATE_COMPLETED))
      continue;
    taken.push_back(run);
  }
  std::sort(
      taken.begin(), taken.end(),
      [&](const v1::Run& a, const v1::Run& b) { return rank(a) < rank(b); });
  return taken;
}

// Plans the missing runs; returns a refusal before any run is started.
absl::Status PlanMissing(const Session& session, const AnalystClient& client,
                         const RunFlags& flags, const v1::ListRunsReply& runs,
                         std::vector<JointTerm>* terms) {
  for (JointTerm& term : *terms) {
    if (term.run.has_value()) continue;
    if (std::isnan(term.prepared.specification.parameters().epsilon())) {
      return Usage(absl::StrCat("--epsilon is required, because data set '",
                                term.dataset(),
                                "' has no release of moments yet"));
    }
    DPNMF_ASSIGN_OR_RETURN(const v1::PlanRunReply plan,
                           client.PlanRun(term.prepared.specification));
    if (const absl::Status refusal = RefusalOf(plan); !refusal.ok()) {
      return Refusal(
          refusal.code(), plan.refusal_code(),
          absl::StrCat("Nothing was started, because the run on "
                       "data set '",
                       term.dataset(), "' would be refused: ", plan.refusal()));
    }
    if (!flags.spend_again)
      DPNMF_RETURN_IF_ERROR(ConfirmSpending(session, plan, runs));
    v1::RunSpecification& specification = term.prepared.specification;
    specification.mutable_parameters()->set_moment_rows(
        plan.specification().parameters().moment_rows());
    // Those of stored sums, where none were named.
    *specification.mutable_learner()->mutable_rows() =
        plan.specification().learner().rows();
  }
  return absl::OkStatus();
}

// On which features the second moment of the run is.
absl::StatusOr<std::vector<std::uint32_t>> RowsOfRelease(
    const AnalystClient& client, const std::string& run_id) {
  v1::GetReleaseRequest request;
  request.set_run_id(run_id);
  request.set_matrices(true);
  std::optional<RealMatrixReader> rows;
  DPNMF_RETURN_IF_ERROR(client.GetRelease(
      request, [&](const v1::ReleaseReply& message) -> absl::Status {
        if (!message.has_matrix() || message.matrix().name() != "rows")
          return absl::OkStatus();
        if (!rows.has_value()) {
          DPNMF_ASSIGN_OR_RETURN(
              rows, RealMatrixReader::Create(message.matrix().shape(),
                                             kMostRowsOfRelease, 1));
        }
        return rows->Add(message.matrix().entries());
      }));
  if (!rows.has_value() || !rows->complete())
    return AnswerIncomplete("release");
  std::vector<std::uint32_t> numbers;
  for (const double row : rows->Take().reshaped())
    numbers.push_back(static_cast<std::uint32_t>(row));
  return numbers;
}

using Rows = std::vector<std::uint32_t>;

// Those that were named, or those of the release; nothing of a run that chooses
// its own and is not released yet.
absl::StatusOr<std::optional<Rows>> RowsOfRun(const AnalystClient& client,
                                              const v1::Run& run) {
  const auto& named = run.specification().learner().rows();
  if (!named.empty()) return Rows(named.begin(), named.end());
  if (run.state() != v1::RUN_STATE_COMPLETED) return std::optional<Rows>();
  DPNMF_ASSIGN_OR_RETURN(Rows rows, RowsOfRelease(client, run.run_id()));
  return rows;
}

// With --rows, a run on these rows alone.
absl::StatusOr<std::optional<v1::Run>> RunToTake(const AnalystClient& client,
                                                 const v1::ListRunsReply& runs,
                                                 const PreparedRun& prepared) {
  const auto& named = prepared.specification.learner().rows();
  for (v1::Run& run : RunsToTake(runs, prepared.dataset.name())) {
    if (named.empty()) return std::move(run);
    if (run.specification().parameters().moment_rows() !=
        static_cast<std::uint32_t>(named.size()))
      continue;
    DPNMF_ASSIGN_OR_RETURN(const std::optional<Rows> rows,
                           RowsOfRun(client, run));
    if (rows == Rows(named.begin(), named.end())) return std::move(run);
  }
  return std::optional<v1::Run>();
}

// Names runs of mechanisms that `auto` may choose but that cannot be added.
void SayWhatCannotBeAdded(const Session& session, const v1::ListRunsReply& runs,
                          const std::string& dataset) {
  for (const v1::Run& run : runs.runs()) {
    const v1::RunParameters& parameters = run.specification().parameters();
    if (parameters.dataset() != dataset || CanBeAdded(parameters.mechanism()) ||
        !MechanismHas(parameters.mechanism(), &Mechanism::fits_moments) ||
        run.state() != v1::RUN_STATE_COMPLETED || !run.parent().empty())
      continue;
    *session.environment().err
        << "dpnmf: run " << ShortRunId(run.run_id()) << " on " << dataset
        << " is of mechanism " << parameters.mechanism()
        << ", whose releases cannot be added: this needs a run of "
        << NamesOfAddable() << "; train such data sets with --mechanism "
        << NamesOfAddable() << "\n";
    return;
  }
}

absl::Status StartTerm(const Session& session, const AnalystClient& client,
                       JointTerm* term) {
  Interrupt interrupt;
  DPNMF_ASSIGN_OR_RETURN(term->run,
                         client.StartRun(term->prepared.specification, {},
                                         /*priors=*/nullptr, &interrupt));
  *session.environment().err << "dpnmf: run " << ShortRunId(term->run->run_id())
                             << " on " << term->dataset()
                             << " is started and charged\n";
  if (!interrupt.raised()) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kCancelled, "interrupted",
      absl::StrCat("Interrupted: run ", ShortRunId(term->run->run_id()), " on ",
                   term->dataset(),
                   " continues, and no other was started. "
                   "Run the same command again to continue."));
}

absl::Status AwaitTerm(const Session& session, const AnalystClient& client,
                       JointTerm* term) {
  if (term->released()) return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(term->run,
                         AwaitRun(session, client, term->run->run_id(),
                                  "Stopped watching; the runs continue. Run "
                                  "the same command again to continue."));
  if (term->released()) return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kAborted, "joint-run-failed",
      absl::StrCat("Run ", ShortRunId(term->run->run_id()), " on data set '",
                   term->dataset(), "' ended without a release",
                   term->run->error().empty() ? "" : ": ", term->run->error(),
                   term->run->error().empty() ? "." : "",
                   " The same command again starts another."));
}

absl::Status RowsDiffer(const std::string& a, const std::string& b) {
  return Refusal(
      absl::StatusCode::kInvalidArgument, "release-rows-differ",
      absl::StrCat("Nothing was started, because the second moments of data "
                   "sets '",
                   a, "' and '", b,
                   "' have different rows and cannot be added: leave one out, "
                   "or name the rows of all with --rows FILE."));
}

bool ChoosesRows(const JointTerm& term) {
  return !term.run.has_value() &&
         term.prepared.specification.parameters().moment_rows() <
             term.prepared.dataset.features();
}

// For all that would choose their own.
void NameRows(const Rows& rows, std::vector<JointTerm>* terms) {
  for (JointTerm& term : *terms) {
    if (!ChoosesRows(term)) continue;
    v1::RunSpecification& specification = term.prepared.specification;
    v1::LearnerOptions& learner = *specification.mutable_learner();
    learner.mutable_rows()->Assign(rows.begin(), rows.end());
    if (rows.size() == term.prepared.dataset.features()) learner.clear_rows();
    specification.mutable_parameters()->set_moment_rows(
        static_cast<std::uint32_t>(rows.size()));
  }
}

// The rows that are fixed already: of a release, or of a run that names them.
// All terms that have such must have the same.
absl::StatusOr<std::optional<Rows>> FixedRows(
    const AnalystClient& client, const std::vector<JointTerm>& terms) {
  std::optional<Rows> fixed;
  const JointTerm* by = nullptr;
  for (const JointTerm& term : terms) {
    std::optional<Rows> own;
    const auto& named = term.prepared.specification.learner().rows();
    if (term.run.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(own, RowsOfRun(client, *term.run));
    } else if (!named.empty()) {
      own = Rows(named.begin(), named.end());
    }
    if (!own.has_value()) continue;
    if (fixed.has_value() && fixed != own)
      return RowsDiffer(by->dataset(), term.dataset());
    fixed = std::move(own);
    by = &term;
  }
  return fixed;
}

// All runs on the same rows: those that are fixed already, else those of the
// first release, where a run would choose its own.
absl::Status ShareRows(const Session& session, const AnalystClient& client,
                       std::vector<JointTerm>* terms) {
  if (std::none_of(terms->begin(), terms->end(), ChoosesRows))
    return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(const std::optional<Rows> fixed,
                         FixedRows(client, *terms));
  if (fixed.has_value()) {
    NameRows(*fixed, terms);
    return absl::OkStatus();
  }
  auto base =
      std::find_if(terms->begin(), terms->end(),
                   [](const JointTerm& one) { return one.run.has_value(); });
  if (base == terms->end()) base = terms->begin();
  if (!base->run.has_value())
    DPNMF_RETURN_IF_ERROR(StartTerm(session, client, &*base));
  DPNMF_RETURN_IF_ERROR(AwaitTerm(session, client, &*base));
  DPNMF_ASSIGN_OR_RETURN(const Rows rows,
                         RowsOfRelease(client, base->run->run_id()));
  NameRows(rows, terms);
  return absl::OkStatus();
}

std::string JointStartedText(const v1::Run& run) {
  return absl::StrCat(run.run_id(), "\nThe fit to the sum of ",
                      run.joined_size(),
                      " releases continues in the background and costs "
                      "nothing. 'dpnmf watch ",
                      ShortRunId(run.run_id()), "' shows it.\n");
}

}  // namespace

absl::StatusOr<ExitCode> TrainJointly(
    const Session& session, const RunFlags& flags,
    const std::vector<std::string>& datasets, const PriorFlags& of_priors,
    const OrderFlags& of_order, const std::string& request_id, bool wait) {
  DPNMF_RETURN_IF_ERROR(CheckJointFlags(flags, datasets));
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(const std::vector<PriorToSend> priors,
                         ReadPriors(of_priors, [&](const std::string& id) {
                           return ResolveRunId(client, id);
                         }));
  NotePriors(priors, /*features=*/{}, session.environment().err);
  DPNMF_ASSIGN_OR_RETURN(const auto order, ReadOrder(of_order));
  DPNMF_ASSIGN_OR_RETURN(const v1::ListRunsReply runs, client.ListRuns());
  std::vector<JointTerm> terms;
  for (const std::string& dataset : datasets) {
    RunFlags own = flags;
    own.dataset = dataset;
    if (own.mechanism == "auto") own.mechanism = kMomentsMechanism.name;
    JointTerm term;
    DPNMF_ASSIGN_OR_RETURN(term.prepared, PrepareRun(client, own));
    if (!request_id.empty()) {
      term.prepared.specification.set_request_id(
          absl::StrCat(request_id, ".", dataset));
    }
    DPNMF_ASSIGN_OR_RETURN(term.run, RunToTake(client, runs, term.prepared));
    if (!term.run.has_value()) SayWhatCannotBeAdded(session, runs, dataset);
    if (term.released()) {
      *session.environment().err
          << "dpnmf: run " << ShortRunId(term.run->run_id()) << " on "
          << dataset << " has its release already: nothing is charged\n";
    }
    terms.push_back(std::move(term));
  }
  DPNMF_RETURN_IF_ERROR(PlanMissing(session, client, flags, runs, &terms));
  DPNMF_RETURN_IF_ERROR(ShareRows(session, client, &terms));
  for (JointTerm& term : terms)
    if (!term.run.has_value())
      DPNMF_RETURN_IF_ERROR(StartTerm(session, client, &term));
  for (JointTerm& term : terms)
    DPNMF_RETURN_IF_ERROR(AwaitTerm(session, client, &term));

  v1::Refit refit;
  refit.set_run_id(terms.front().run->run_id());
  for (std::size_t i = 1; i < terms.size(); ++i)
    refit.add_joined_run_ids(terms[i].run->run_id());
  refit.set_rank(flags.rank.value_or(0));
  refit.mutable_learner()->set_seed(flags.seed);
  SetLaw(flags.law, refit.mutable_learner());
  refit.mutable_learner()->set_initialisation(v1::INITIALISATION_RANDOM);
  for (const PriorToSend& prior : priors) *refit.add_priors() = prior.header;
  if (order.has_value()) *refit.mutable_feature_order() = *order;
  DPNMF_ASSIGN_OR_RETURN(const v1::Run run,
                         client.RefitRun(refit, {}, &priors));
  if (!wait) {
    session.Print(run, JointStartedText(run));
    return kExitOk;
  }
  *session.environment().out
      << (session.json()
              ? ToJsonLine(run)
              : absl::StrCat("run ", run.run_id(), " on ",
                             run.specification().parameters().dataset()))
      << '\n'
      << std::flush;
  return FollowRun(session, client, run, /*print_run=*/true);
}

}  // namespace dpnmf::cli
