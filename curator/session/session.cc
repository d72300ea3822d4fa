#include "curator/session/session.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/hex_id.h"
#include "common/privacy/mechanism.h"
#include "curator/session/promise.h"

namespace dpnmf::curator {
namespace {

std::uint64_t NextSessionNumber() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1);
}

}  // namespace

std::shared_ptr<RunLocks::Lock> RunLocks::LockOf(const std::string& identity,
                                                 const std::string& run_id) {
  MutexLock lock(&mutex_);
  std::erase_if(locks_,
                [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Lock>& slot = locks_[{identity, run_id}];
  std::shared_ptr<Lock> run_lock = slot.lock();
  if (run_lock == nullptr) slot = run_lock = std::make_shared<Lock>();
  return run_lock;
}

// A knob with a field after 18 is hashed only if it is set, after a tag that is
// no length of a list. Its range must contain 0, the value in older runs; if 0
// is its default too, its mechanism's runs keep their hashes.
Digest HashOf(const RunParameters& p) {
  Sha256 hash;
  hash.AddString("dpnmf run parameters 2")
      .AddString(p.dataset)
      .AddInteger(p.rank)
      .AddInteger(p.rounds)
      .AddDouble(p.epsilon)
      .AddDouble(p.delta)
      .AddString(p.mechanism)
      .AddInteger(p.outliers ? 1 : 0)
      .AddDouble(p.lambda)
      .AddDouble(p.outlier_bound)
      .AddInteger(p.inner_iterations)
      .AddDouble(p.share_of_a)
      .AddInteger(p.moment_rows)
      .AddDouble(p.share_of_moments)
      .AddDouble(p.share_of_mean)
      .AddString(NameOf(p.adjacency))
      .AddString(NameOf(p.conversion));
  // Runs of the other mechanisms keep the hash that they have always had.
  if (!p.shares.empty() || p.profile_directions != 0) {
    hash.AddInteger(p.shares.size());
    for (const double share : p.shares) hash.AddDouble(share);
    hash.AddInteger(p.profile_directions);
  }
  constexpr int kLastField = 18;  // of the above
  std::vector<const Knob*> later = Knobs();
  std::erase_if(later, [&](const Knob* knob) {
    return knob->field <= kLastField || IsZero(*knob, p);
  });
  std::sort(later.begin(), later.end(),
            [](const Knob* a, const Knob* b) { return a->field < b->field; });
  constexpr auto kLargestTag = std::numeric_limits<std::uint64_t>::max();
  for (const Knob* knob : later) {
    hash.AddInteger(kLargestTag - static_cast<std::uint64_t>(knob->field));
    for (const std::uint64_t word : WordsOf(*knob, p)) hash.AddInteger(word);
  }
  return hash.Finish();
}

absl::StatusOr<std::optional<MuSquared>> IdentityCap(
    const Grant& grant, const PopulationPolicy& policy) {
  const auto found = grant.epsilon_by_population.find(policy.population);
  if (found == grant.epsilon_by_population.end()) return std::nullopt;
  DPNMF_ASSIGN_OR_RETURN(
      const MuSquared cap,
      LargestCost(policy.conversion, found->second, policy.delta));
  return cap;
}

Session::Session(const SessionContext& context,
                 std::vector<std::string> identities,
                 std::function<bool()> abandoned)
    : context_(context),
      identities_(std::move(identities)),
      abandoned_(std::move(abandoned)),
      number_(NextSessionNumber()) {}

absl::Status Session::Plan(const PopulationPolicy& policy, Run* run) const {
  // Every price of the run follows from the ledger's promise.
  run->facts.adjacency = policy.adjacency;
  run->facts.conversion = policy.conversion;
  if (context_.membership != nullptr &&
      context_.membership->name() == run->parameters.dataset) {
    DPNMF_RETURN_IF_ERROR(PlanFederated(run->parameters, run));
  } else {
    DPNMF_ASSIGN_OR_RETURN(run->plan, PlanRun(run->parameters, run->facts));
  }
  return CheckDataHoldsRun(run->dataset->description(), run->parameters,
                           run->plan);
}

RunOpening Session::OpeningOf(const Run& run,
                              std::optional<MuSquared> identity_cap) const {
  RunOpening opening;
  opening.identity = run.identity;
  opening.run_id = run.id;
  opening.population = run.facts.population;
  opening.dataset = run.parameters.dataset;
  opening.mechanism = run.parameters.mechanism;
  opening.parameters_hash = HashOf(run.parameters);
  opening.rounds = run.parameters.rounds;
  opening.cost = run.plan.cost;
  opening.identity_cap = identity_cap;
  opening.most_uncharged_runs = context_.most_uncharged_runs;
  return opening;
}

absl::Status Session::TakeMemory(Run* run) const {
  if (context_.memory == nullptr) return absl::OkStatus();
  RankProcesses processes;
  if (context_.ranks != nullptr) {
    processes = {context_.ranks->ranks(), context_.ranks->threads_of_a_rank(),
                 run->dataset->in_parts()};
  }
  DPNMF_ASSIGN_OR_RETURN(
      run->memory,
      context_.memory->Take(
          run->identity,
          MemoryOfRun(run->plan, run->parameters, run->dataset->description(),
                      context_.threads, processes)));
  return absl::OkStatus();
}

absl::StatusOr<OpenedSession> Session::Open(const std::string& run_id,
                                            const RunParameters& parameters) {
  if (run_.has_value()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "session-opened",
                   "This stream already carries a run: open another stream.");
  }
  if (!IsHexId(run_id)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "run-id-malformed",
                   "`run_id` must be 32 lower-case hexadecimal digits.");
  }
  DPNMF_ASSIGN_OR_RETURN(const Grant grant,
                         context_.access->Require(identities_, {Role::kAnalyst},
                                                  parameters.dataset));
  Run run;
  DPNMF_ASSIGN_OR_RETURN(run.dataset,
                         context_.catalog->Served(parameters.dataset));
  run.id = run_id;
  run.identity = grant.identity;
  run.parameters = parameters;
  run.facts = FactsOf(run.dataset->description());
  DPNMF_ASSIGN_OR_RETURN(const PopulationPolicy policy,
                         context_.ledger->Policy(run.facts.population));
  DPNMF_RETURN_IF_ERROR(CheckPromise(run.dataset->description(), policy));
  // The people who are read must be those whose account is charged, also if the
  // run names the data set by an alias.
  DPNMF_RETURN_IF_ERROR(CheckPartitionIn(*context_.ledger, parameters.dataset,
                                         run.dataset->description()));
  DPNMF_RETURN_IF_ERROR(Plan(policy, &run));
  DPNMF_ASSIGN_OR_RETURN(run.identity_cap, IdentityCap(grant, policy));
  DPNMF_RETURN_IF_ERROR(TakeMemory(&run));
  const RunOpening opening = OpeningOf(run, run.identity_cap);
  run.run_lock = context_.locks->LockOf(run.identity, run_id);
  MutexLock lock(
      &run.run_lock->busy);  // a round of an earlier session ends first
  const absl::StatusOr<OpenedRun> in_ledger = context_.ledger->OpenRun(opening);
  if (run.federated)
    DPNMF_RETURN_IF_ERROR(OpenOthers(opening, run.plan, grant, in_ledger));
  DPNMF_ASSIGN_OR_RETURN(const OpenedRun opened, in_ledger);
  // From now on the ledger's partition of the data set cannot change (a run is
  // open on it). It may have changed between the first check and OpenRun, so it
  // is checked once more.
  if (const absl::Status still = CheckPartitionIn(
          *context_.ledger, parameters.dataset, run.dataset->description());
      !still.ok()) {
    context_.ledger->CloseRun(run.identity, run_id).IgnoreError();
    return still;
  }
  run.run_lock->holder = number_;
  OpenedSession session{run.plan, run.facts, opened.next_round};
  run_ = std::move(run);
  return session;
}

absl::Status Session::CheckRound(std::uint32_t round, const RoundInput& input) {
  DPNMF_ASSIGN_OR_RETURN(const Grant grant,
                         context_.access->Require(identities_, {Role::kAnalyst},
                                                  run_->parameters.dataset));
  if (grant.identity != run_->identity) {
    return Refusal(absl::StatusCode::kPermissionDenied, "identity-unknown",
                   "The allow-list names this peer differently than when the "
                   "run was opened: open the run again.");
  }
  if (round < 1 || round > run_->parameters.rounds) {
    return Refusal(absl::StatusCode::kInvalidArgument, "round-out-of-range",
                   absl::StrCat("`round` must be from 1 to ",
                                run_->parameters.rounds, "."));
  }
  if (!std::all_of(input.numbers.begin(), input.numbers.end(),
                   [](double number) { return std::isfinite(number); })) {
    return Refusal(absl::StatusCode::kInvalidArgument, "numbers-malformed",
                   "`numbers` must be finite.");
  }
  const std::string& release = run_->plan.StageOf(round).release;
  DPNMF_RETURN_IF_ERROR(
      ReleaseKindOf(release).check(input, run_->parameters, run_->facts));
  return CheckDataHoldsRound(run_->dataset->description(), release, input);
}

std::vector<PartPlan> Session::PartsOf(std::uint32_t round,
                                       const RoundInput& input) const {
  const StagePlan& stage = run_->plan.StageOf(round);
  std::vector<PartPlan> parts = stage.parts;
  const ReleaseKind& kind = ReleaseKindOf(stage.release);
  if (kind.narrow != nullptr) kind.narrow(input, &parts);
  return parts;
}

RoundRequest Session::RequestOf(std::uint32_t round,
                                const RoundInput& input) const {
  RoundRequest request;
  request.identity = run_->identity;
  request.run_id = run_->id;
  request.round = round;
  const Digest parameters = HashOf(run_->parameters);
  const Eigen::MatrixXd& w = input.w;
  Sha256 hash;
  hash.AddString("dpnmf round request 2")
      .AddBytes(std::as_bytes(std::span(parameters)))
      .AddInteger(round)
      .AddInteger(static_cast<std::uint64_t>(w.rows()))
      .AddInteger(static_cast<std::uint64_t>(w.cols()))
      .AddBytes(std::as_bytes(
          std::span(w.data(), static_cast<std::size_t>(w.size()))))
      .AddInteger(input.rows.size())
      .AddBytes(std::as_bytes(std::span(input.rows)));
  // Rounds without numbers keep the hash that they have always had.
  if (!input.numbers.empty()) {
    hash.AddInteger(input.numbers.size());
    for (const double number : input.numbers) hash.AddDouble(number);
  }
  request.request_hash = hash.Finish();
  request.parts = PartsOf(round, input);
  request.adjacency = run_->facts.adjacency;
  return request;
}

absl::StatusOr<RoundSums> Session::Sums(std::uint32_t round,
                                        const RoundInput& input) {
  // Work that overran may outlive this call and this session. It owns all that
  // it uses, except the data set and the job of the ranks, which outlive it. H
  // goes back to the run once the work has succeeded; after a failure the H of
  // some users may be that of this round, and the H of others not.
  struct Work {
    const ReleaseKind& kind;
    const Dataset& data;
    const RunParameters parameters;
    const RunPlan plan;
    Execution execution;
    std::unique_ptr<Coefficients> coefficients;
    RankJob* ranks;  // null: here
    std::vector<PartPlan> parts;
    std::unique_ptr<RankJob::RemoteCoefficients> remote;
    RoundSums sums = {};

    absl::Status Run(const RoundInput& input, std::function<bool()> stop) {
      execution.stop = std::move(stop);
      const RoundContext context{data, parameters, plan, execution,
                                 &coefficients};
      if (ranks != nullptr && RankJob::Computes(kind, data.description())) {
        DPNMF_ASSIGN_OR_RETURN(
            sums, ranks->Sums(kind, input, context, parts, &remote));
        return absl::OkStatus();
      }
      DPNMF_RETURN_IF_ERROR(CheckHasColumns(data));
      DPNMF_ASSIGN_OR_RETURN(sums, kind.sums(input, context));
      return absl::OkStatus();
    }
  };
  const auto work = std::make_shared<Work>(
      Work{ReleaseKindOf(run_->plan.StageOf(round).release), *run_->dataset,
           run_->parameters, run_->plan, Execution{context_.threads, 0},
           std::move(run_->coefficients), context_.ranks, PartsOf(round, input),
           std::move(run_->remote)});
  if (context_.pacer == nullptr) {
    DPNMF_RETURN_IF_ERROR(work->Run(input, abandoned_));
  } else {
    DPNMF_RETURN_IF_ERROR(context_.pacer->Run(
        run_->identity, [work, input = input](const Pacer::Expired& expired) {
          return work->Run(input, expired);
        }));
  }
  run_->coefficients = std::move(work->coefficients);
  run_->remote = std::move(work->remote);
  return std::move(work->sums);
}

absl::Status Session::TakenOver() {
  return Refusal(absl::StatusCode::kAborted, "run-taken-over",
                 "A later stream has taken over this run: continue there.");
}

void Session::Restart() {
  run_->coefficients.reset();
  run_->remote.reset();
}

absl::StatusOr<Released<ReleasedRound>> Session::Round(
    std::uint32_t round, const RoundInput& input) {
  if (!run_.has_value()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "session-not-opened",
                   "No run is open: open the run before asking for a round.");
  }
  if (run_->federated) {
    return Refusal(absl::StatusCode::kFailedPrecondition,
                   "federation-offers-incomplete",
                   "A round of a federation needs the offers of all curators.");
  }
  DPNMF_RETURN_IF_ERROR(CheckRound(round, input));
  MutexLock lock(&run_->run_lock->busy);
  if (run_->run_lock->holder != number_) return TakenOver();
  const RoundRequest request = RequestOf(round, input);
  DPNMF_ASSIGN_OR_RETURN(std::optional<Released<ReleasedRound>> known,
                         context_.gate->Find(request));
  if (known.has_value()) return *std::move(known);
  absl::Cleanup restart = [this] { Restart(); };
  DPNMF_ASSIGN_OR_RETURN(const RoundSums sums, Sums(round, input));
  absl::StatusOr<Released<ReleasedRound>> released = context_.gate->Release(
      request, sums,
      ReleaseKindOf(run_->plan.StageOf(round).release).publish(input));
  if (released.ok()) std::move(restart).Cancel();
  return released;
}

absl::StatusOr<MuSquared> Session::Close() {
  if (!run_.has_value()) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "session-not-opened",
                   "No run is open: open the run before closing it.");
  }
  DPNMF_ASSIGN_OR_RETURN(const MuSquared returned,
                         context_.ledger->CloseRun(run_->identity, run_->id));
  if (run_->federated) {
    context_.membership->keys().Forget(run_->identity, run_->id);
    DPNMF_RETURN_IF_ERROR(
        context_.ledger
            ->CloseRun(run_->identity, Membership::OthersRun(run_->id))
            .status());
  }
  return returned;
}

}  // namespace dpnmf::curator
