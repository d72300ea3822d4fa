#include "analyst/runs/run_manager.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyst/planning/epsilon_text.h"
#include "analyst/runs/joint_release.h"
#include "analyst/runs/run_items.h"
#include "analyst/store/stored_learner.h"
#include "common/base/error.h"
#include "common/crypto/sha256.h"
#include "common/learning/learning_cost.h"
#include "common/learning/mechanism.h"
#include "common/learning/paid_release.h"
#include "common/learning/run_order.h"
#include "common/log/without_exceptions.h"
#include "common/privacy/mechanism.h"
#include "common/wire/convert.h"
#include "common/wire/plan_refusal.h"
#include "openssl/rand.h"

namespace dpnmf::analyst {
namespace {

constexpr int kEventsPerRead = 256;
constexpr int kMostOvertaken = 16;
// How often a quiet watch asks whether its client is still there.
constexpr std::chrono::milliseconds kGoneCheck{500};

absl::Status ShuttingDown() {
  return Refusal(absl::StatusCode::kUnavailable, "shutting-down",
                 "The analyst is shutting down; try again when it is back. Its "
                 "runs then continue.");
}

absl::Status TooManyRuns(int open) {
  return Refusal(absl::StatusCode::kFailedPrecondition, "too-many-runs",
                 absl::StrCat("This client has ", open,
                              " runs that have not ended, which is its limit; "
                              "wait for one or cancel one."));
}

std::string Mebibytes(std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  return absl::StrCat(bytes / kMebibyte + (bytes % kMebibyte != 0), " MiB");
}

// 128 random bits as 32 hexadecimal digits.
absl::StatusOr<std::string> NewRunId() {
  std::array<std::uint8_t, 16> bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   "The operating system gives no random numbers; try again.");
  }
  return HexOf(bytes);
}

// Run as a client sees it: the stored run and the reading of its cost.
absl::StatusOr<v1::Run> ForClient(RunRecord record) {
  v1::Run& run = record.run;
  DPNMF_ASSIGN_OR_RETURN(const MuSquared charged, FromProto(run.charged()));
  DPNMF_ASSIGN_OR_RETURN(
      *run.mutable_spent(),
      EpsilonsOf(charged, run.specification().parameters().delta()));
  return run;
}

absl::StatusOr<Eigen::MatrixXd> FirstOf(const PlannedRun& planned,
                                        std::optional<Eigen::MatrixXd> w0) {
  const v1::RunSpecification& specification = planned.reply.specification();
  const Mechanism* const mechanism =
      Mechanisms().Find(specification.parameters().mechanism());
  if (mechanism == nullptr || mechanism->first == nullptr) {
    return FirstDictionary(planned.dataset.features(),
                           specification.parameters().rank(),
                           specification.learner(), std::move(w0));
  }
  if (w0.has_value()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "dictionary-unexpected",
                   "A run of this mechanism has no W_0; send none.");
  }
  DPNMF_ASSIGN_OR_RETURN(const DatasetFacts facts, FactsOf(planned.dataset));
  DPNMF_ASSIGN_OR_RETURN(const RunParameters parameters,
                         FromProto(specification.parameters()));
  return mechanism->first(facts, parameters);
}

// PlanFor has checked them.
void KeepGivenRows(const v1::LearnerOptions& learner, LearnerState* state) {
  if (learner.rows().empty()) return;
  Eigen::MatrixXd rows(learner.rows_size(), 1);
  std::copy(learner.rows().begin(), learner.rows().end(), rows.data());
  state->memory[kChosenRows] = std::move(rows);
}

// So many models of one release are a slip: each has a W of its own.
constexpr int kMostChildren = 1000;

absl::Status TooManyRefits() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "too-many-refits",
                 absl::StrCat("The release has ", kMostChildren,
                              " models already; forget some of them."));
}

absl::Status RequestDiffers() {
  return Refusal(absl::StatusCode::kAlreadyExists, "request-differs",
                 "This client has used the `request_id` for another run; "
                 "choose another one, or send the same specification.");
}

absl::Status RequestForgotten() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "request-forgotten",
                 "The run of this `request_id` was forgotten; choose another "
                 "one for a new run, which is charged again.");
}

}  // namespace

RunManager::RunManager(RunStore* store, CuratorConnection* curator,
                       Settings settings)
    : store_(store), curator_(curator), settings_(std::move(settings)) {}

RunManager::~RunManager() { Stop(); }

absl::StatusOr<std::unique_ptr<RunManager>> RunManager::Create(
    RunStore* store, CuratorConnection* curator, Settings settings) {
  DPNMF_ASSIGN_OR_RETURN(const std::vector<RunRecord> records, store->List());
  std::unique_ptr<RunManager> manager(
      new RunManager(store, curator, std::move(settings)));
  manager->ForgetOldRuns();
  {
    MutexLock lock(&manager->mutex_);
    for (const RunRecord& record : records) {
      if (!IsFinal(record.run.state()))
        manager->queue_.push_front(
            QueuedOf(record.run, manager->StoredFeaturesOf(record.run)));
    }
  }
  for (int i = 0; i < manager->settings_.max_running; ++i) {
    manager->workers_.emplace_back([self = manager.get()] { self->Work(); });
  }
  return manager;
}

absl::StatusOr<v1::Run> RunManager::Start(const PlannedRun& planned,
                                          std::optional<Eigen::MatrixXd> w0,
                                          const std::string& started_by,
                                          std::optional<ClientRequest> request,
                                          NamedPriors priors) {
  v1::PlanRunReply reply = planned.reply;
  RefuseTooLarge(&reply);
  DPNMF_RETURN_IF_ERROR(RefusalOf(reply));
  NewRun run;
  DPNMF_ASSIGN_OR_RETURN(run.state.w, FirstOf(planned, std::move(w0)));
  *run.record.run.mutable_specification() = planned.reply.specification();
  *run.record.run.mutable_plan() = planned.reply.plan();
  run.record.run.set_state(v1::RUN_STATE_QUEUED);
  run.record.guarantee = planned.reply.guarantee();
  run.record.population = planned.dataset.population();
  DPNMF_RETURN_IF_ERROR(KeepPriors(priors.priors, priors.features,
                                   planned.dataset, store_, &run.state));
  DPNMF_RETURN_IF_ERROR(
      KeepOrder(run.record.run.mutable_specification(), &run.state));
  KeepGivenRows(planned.reply.specification().learner(), &run.state);
  run.facts.dataset = planned.dataset;
  run.facts.request = std::move(request);
  return Enqueue(std::move(run), started_by);
}

absl::StatusOr<NewRun> RunManager::PrepareRefit(const v1::Refit& refit) {
  if (refit.joined_run_ids_size() > 0) {
    DPNMF_ASSIGN_OR_RETURN(std::vector<JoinedSource> sources,
                           JoinedSources(refit, store_));
    DPNMF_ASSIGN_OR_RETURN(NewRun joint,
                           JointChildOf(std::move(sources), refit));
    DPNMF_RETURN_IF_ERROR(CheckFits(joint));
    return joint;
  }
  DPNMF_ASSIGN_OR_RETURN(const RunRecord source, store_->Get(refit.run_id()));
  DPNMF_ASSIGN_OR_RETURN(LearnerState state,
                         store_->ReadLearner(refit.run_id()));
  DPNMF_ASSIGN_OR_RETURN(NewRun child,
                         ChildOf(source, std::move(state), refit));
  DPNMF_RETURN_IF_ERROR(CheckFits(child));
  return child;
}

absl::StatusOr<v1::Run> RunManager::Refit(NewRun child,
                                          std::optional<Eigen::MatrixXd> w0,
                                          const std::string& started_by,
                                          std::vector<SentPrior> priors) {
  child.facts.request = RequestOf(child.record.run, w0);
  const v1::RunSpecification& specification = child.record.run.specification();
  DPNMF_ASSIGN_OR_RETURN(
      child.state.w,
      FirstDictionary(static_cast<std::uint64_t>(child.state.w.rows()),
                      specification.parameters().rank(),
                      specification.learner(), std::move(w0)));
  if (!priors.empty()) {
    std::optional<v1::Dataset> dataset = child.facts.dataset;
    if (!dataset.has_value()) {
      DPNMF_ASSIGN_OR_RETURN(dataset, store_->ReadDataset(child.facts.like));
    }
    DPNMF_RETURN_IF_ERROR(KeepPriors(priors,
                                     StoredFeatures(child.facts.like, store_),
                                     dataset, store_, &child.state));
  }
  return Enqueue(std::move(child), started_by);
}

absl::StatusOr<v1::Run> RunManager::AddReleased(NewRun run,
                                                const std::string& started_by) {
  DPNMF_RETURN_IF_ERROR(CheckFits(run));
  const v1::RunSpecification& specification = run.record.run.specification();
  DPNMF_ASSIGN_OR_RETURN(
      run.state.w,
      FirstDictionary(static_cast<std::uint64_t>(run.state.w.rows()),
                      specification.parameters().rank(),
                      specification.learner(), std::nullopt));
  return Enqueue(std::move(run), started_by);
}

absl::StatusOr<std::optional<v1::Run>> RunManager::RunOf(
    const ClientRequest& request, const std::string& started_by) {
  DPNMF_ASSIGN_OR_RETURN(const std::optional<std::string> run_id,
                         AnswerTo(request, started_by));
  if (!run_id.has_value()) return std::optional<v1::Run>();
  DPNMF_ASSIGN_OR_RETURN(v1::Run run, Get(*run_id));
  return std::optional<v1::Run>(std::move(run));
}

absl::StatusOr<std::optional<std::string>> RunManager::AnswerTo(
    const ClientRequest& request, const std::string& started_by) {
  DPNMF_ASSIGN_OR_RETURN(const std::optional<AnsweredRequest> answered,
                         store_->FindRequest(started_by, request.name));
  if (!answered.has_value()) return std::optional<std::string>();
  const absl::StatusOr<RunRecord> record = store_->Get(answered->run_id);
  if (absl::IsNotFound(record.status())) return RequestForgotten();
  if (!record.ok()) return record.status();
  if (answered->digest != request.digest) return RequestDiffers();
  return std::optional<std::string>(answered->run_id);
}

// Under the lock: a request that two streams send at once has one run.
absl::StatusOr<std::optional<std::string>> RunManager::ExistingRun(
    const NewRun& run, const std::string& started_by) {
  if (run.record.run.added()) {
    const auto stored = store_->Get(run.record.run.run_id());
    if (stored.ok()) return std::optional(run.record.run.run_id());
    if (!absl::IsNotFound(stored.status())) return stored.status();
  }
  if (!run.facts.request.has_value()) return std::optional<std::string>();
  DPNMF_ASSIGN_OR_RETURN(const std::optional<std::string> run_id,
                         AnswerTo(*run.facts.request, started_by));
  if (!run_id.has_value() || run.record.run.parent().empty()) return run_id;
  DPNMF_ASSIGN_OR_RETURN(const RunRecord record, store_->Get(*run_id));
  if (record.run.state() != v1::RUN_STATE_CANCELLED &&
      record.run.state() != v1::RUN_STATE_FAILED)
    return run_id;
  // A refit costs nothing: who asks again wants it after all.
  DPNMF_RETURN_IF_ERROR(
      store_->DropRequest(started_by, run.facts.request->name));
  return std::optional<std::string>();
}

absl::StatusOr<v1::Run> RunManager::Enqueue(NewRun run,
                                            const std::string& started_by) {
  v1::Run& record = run.record.run;
  record.set_started_by(started_by);
  if (record.run_id().empty()) {
    DPNMF_ASSIGN_OR_RETURN(*record.mutable_run_id(), NewRunId());
  }
  std::string run_id = record.run_id();
  {
    MutexLock lock(&mutex_);
    if (stopped_) return ShuttingDown();
    DPNMF_ASSIGN_OR_RETURN(const std::optional<std::string> existing,
                           ExistingRun(run, started_by));
    if (existing.has_value()) {
      run_id = *existing;
    } else {
      DPNMF_ASSIGN_OR_RETURN(const int open, store_->CountOpen(started_by));
      if (open >= settings_.max_open_runs) return TooManyRuns(open);
      if (!record.parent().empty()) {
        DPNMF_ASSIGN_OR_RETURN(const int children,
                               store_->CountChildren(record.parent()));
        if (children >= kMostChildren) return TooManyRefits();
      }
      DPNMF_RETURN_IF_ERROR(store_->Add(run.record, run.state, run.facts));
      queue_.push_back(
          QueuedOf(record, static_cast<std::uint64_t>(run.state.w.rows())));
      untouched_.insert(run_id);
      ++announcements_;
      changed_.notify_all();
    }
  }
  return Get(run_id);
}

absl::Status RunManager::CheckFits(const NewRun& run) const {
  v1::PlanRunReply reply;
  *reply.mutable_learning() =
      EstimateLearning(run.record.run.specification(), run.record.run.plan(),
                       static_cast<std::uint64_t>(run.state.w.rows()));
  RefuseTooLarge(&reply);
  return RefusalOf(reply);
}

void RunManager::RefuseTooLarge(v1::PlanRunReply* reply) const {
  const std::uint64_t bytes = reply->learning().memory_bytes();
  if (settings_.run_memory == 0 || bytes <= settings_.run_memory ||
      reply->would_be_refused())
    return;
  reply->set_would_be_refused(true);
  reply->set_refusal_code("learning-too-large");
  reply->set_refusal(
      absl::StrCat("Learning needs ", Mebibytes(bytes),
                   " of the analyst's memory, and a client may take ",
                   Mebibytes(settings_.run_memory),
                   ": ask for a lower rank, or the analyst's operator for a "
                   "larger --run-memory."));
}

RunManager::Queued RunManager::QueuedOf(const v1::Run& run,
                                        std::uint64_t features) {
  return {run.run_id(), run.started_by(),
          EstimateLearning(run.specification(), run.plan(), features)
              .memory_bytes(),
          /*cancelling=*/run.state() == v1::RUN_STATE_CANCELLING,
          /*fitted_here=*/IsFittedHere(run)};
}

std::uint64_t RunManager::StoredFeaturesOf(const v1::Run& run) {
  const absl::StatusOr<Model> model = store_->ReadModel(run.run_id());
  return model.ok() ? static_cast<std::uint64_t>(model->w.rows())
                    : FeaturesOf(run.plan());
}

std::deque<RunManager::Queued>::iterator RunManager::NextToRun() {
  const std::uint64_t limit = settings_.run_memory;
  if (limit == 0 || active_.empty()) return queue_.begin();
  std::uint64_t all = 0;
  std::map<std::string, std::uint64_t> of_client;
  for (const auto& [run_id, active] : active_) {
    all += active.bytes;
    of_client[active.client] += active.bytes;
  }
  std::set<std::string> held_back;  // clients
  bool all_held_back = false;
  return std::find_if(queue_.begin(), queue_.end(), [&](const Queued& run) {
    if (run.cancelling) return true;
    if (all_held_back || held_back.contains(run.client)) return false;
    const std::uint64_t others = of_client[run.client];
    const bool client_has_room = others + run.bytes <= limit;
    if (client_has_room && (all + run.bytes) / 2 <= limit) return true;
    if (run.overtaken >= kMostOvertaken) {
      held_back.insert(run.client);
      // A run above the limit, which was lowered, waits for all others to end.
      all_held_back = client_has_room || others == 0;
    }
    return false;
  });
}

absl::StatusOr<v1::Run> RunManager::Cancel(const std::string& run_id) {
  {
    MutexLock lock(&mutex_);
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, store_->Get(run_id));
    const auto active = active_.find(run_id);
    const bool untouched = untouched_.contains(run_id);
    if (!IsFinal(record.run.state()) &&
        record.run.state() != v1::RUN_STATE_CANCELLING) {
      StateChange change;
      change.state = StateAtCancel(untouched);
      change.event.set_round(record.run.rounds_done());
      change.event.set_rounds(record.run.specification().parameters().rounds());
      *change.event.mutable_charged() = record.run.charged();
      const absl::Status stored = store_->ChangeState(run_id, change);
      // It may have ended by itself meanwhile.
      if (!stored.ok() && ReasonCode(stored) != "run-ended") return stored;
      for (Queued& queued : queue_)
        queued.cancelling |= queued.run_id == run_id;
      if (untouched) {
        std::erase_if(queue_, [&](const Queued& queued) {
          return queued.run_id == run_id;
        });
        untouched_.erase(run_id);
      }
    }
    // Stored first, then told: the learner finds it however it is woken.
    if (active != active_.end()) active->second.control->Cancel();
    ++announcements_;
    changed_.notify_all();
  }
  return Get(run_id);
}

absl::StatusOr<v1::ForgetRunReply> RunManager::Forget(
    const std::string& run_id, const std::string& forgotten_by) {
  v1::ForgetRunReply reply;
  DPNMF_ASSIGN_OR_RETURN(const std::uint64_t charges,
                         store_->Forget(run_id, forgotten_by));
  reply.set_run_id(run_id);
  reply.set_charge_count(charges);
  Announce();  // watches of the run end
  return reply;
}

void RunManager::ForgetOldRuns() {
  if (settings_.retain_seconds <= 0) return;
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const auto ended =
      store_->EndedBefore(now.count() - settings_.retain_seconds);
  if (!ended.ok()) return;
  for (const std::string& run_id : *ended) {
    const absl::Status noted =
        WriteAudit(settings_.learner.observers.audit, "run-forgotten",
                   {{"run", run_id}, {"by", std::string("retention")}});
    if (noted.ok()) store_->Forget(run_id, "retention").status().IgnoreError();
  }
}

absl::StatusOr<v1::Run> RunManager::Get(const std::string& run_id) {
  DPNMF_ASSIGN_OR_RETURN(RunRecord record, store_->Get(run_id));
  DPNMF_ASSIGN_OR_RETURN(v1::Run run, ForClient(std::move(record)));
  if (run.state() == v1::RUN_STATE_COMPLETED &&
      MechanismHas(run.specification().parameters().mechanism(),
                   &dpnmf::Mechanism::fits_moments)) {
    DPNMF_ASSIGN_OR_RETURN(const std::optional<double> explained,
                           store_->ReadFigure(run_id, kExplainedShare));
    if (explained.has_value()) run.set_explained(*explained);
  }
  const Mechanism* const mechanism =
      Mechanisms().Find(run.specification().parameters().mechanism());
  if (mechanism == nullptr || mechanism->figure == nullptr ||
      run.rounds_done() == 0) {
    return run;
  }
  DPNMF_ASSIGN_OR_RETURN(const LearnerState state, store_->ReadLearner(run_id));
  if (const std::optional<Figure> figure = mechanism->figure(state)) {
    run.mutable_objective()->set_value(figure->value);
    run.mutable_objective()->set_stddev(figure->stddev);
  }
  return run;
}

absl::StatusOr<std::vector<v1::Run>> RunManager::List() {
  DPNMF_ASSIGN_OR_RETURN(std::vector<RunRecord> records, store_->List());
  std::vector<v1::Run> runs;
  for (RunRecord& record : records) {
    DPNMF_ASSIGN_OR_RETURN(v1::Run run, ForClient(std::move(record)));
    runs.push_back(std::move(run));
  }
  return runs;
}

absl::Status RunManager::Watch(
    const std::string& run_id, std::uint64_t cursor,
    const std::function<bool(const v1::RunEvent&)>& send,
    const std::function<bool()>& gone) {
  std::uint64_t seen = 0;
  double told = -1;
  while (true) {
    // The state is read before the events: once it is final, no event follows.
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, store_->Get(run_id));
    DPNMF_ASSIGN_OR_RETURN(const std::vector<v1::RunEvent> events,
                           store_->Events(run_id, cursor, kEventsPerRead));
    for (const v1::RunEvent& event : events) {
      if (!send(event)) return absl::OkStatus();
      cursor = event.cursor();
    }
    if (!events.empty()) continue;
    if (IsFinal(record.run.state())) return absl::OkStatus();
    const double learning = LearningOf(run_id);
    if (learning >= 0 && learning != told) {
      v1::RunEvent now;
      now.set_cursor(cursor);
      now.set_state(record.run.state());
      now.set_round(record.run.rounds_done());
      now.set_rounds(record.run.specification().parameters().rounds());
      now.set_learning(learning);
      if (!send(now)) return absl::OkStatus();
    }
    told = learning;
    if (!WaitForNews(&seen, gone))
      return gone() ? absl::OkStatus() : ShuttingDown();
  }
}

double RunManager::LearningOf(const std::string& run_id) {
  MutexLock lock(&mutex_);
  const auto active = active_.find(run_id);
  return active == active_.end() ? -1 : active->second.control->learning();
}

bool RunManager::WaitForNews(std::uint64_t* seen,
                             const std::function<bool()>& gone) {
  while (!gone()) {
    MutexLock lock(&mutex_);
    if (stopped_) return false;
    if (announcements_ == *seen) changed_.wait_for(mutex_, kGoneCheck);
    if (announcements_ != *seen) {
      *seen = announcements_;
      return true;
    }
  }
  return false;
}

void RunManager::ShowRuns(int more) {
  Metrics* const metrics = settings_.learner.observers.metrics;
  if (metrics == nullptr) return;
  metrics->AddRuns("at_work", more);
  MutexLock lock(&mutex_);
  metrics->SetRuns("queued", static_cast<double>(queue_.size()));
}

void RunManager::Announce() {
  MutexLock lock(&mutex_);
  ++announcements_;
  changed_.notify_all();
}

void RunManager::Carry(const std::string& run_id, bool fitted_here,
                       RunControl* control) {
  const auto announce = [this] { Announce(); };
  if (fitted_here) {
    FitStoredRun(run_id, store_, control, settings_.learner, announce);
  } else {
    Learner(run_id, store_, curator_, control, settings_.learner, announce)
        .Run();
  }
  ForgetOldRuns();
}

void RunManager::Work() {
  while (true) {
    std::string run_id;
    bool fitted_here = false;
    RunControl control;
    {
      MutexLock lock(&mutex_);
      while (!stopped_ && NextToRun() == queue_.end()) changed_.wait(mutex_);
      if (stopped_) return;
      const auto next = NextToRun();
      run_id = next->run_id;
      fitted_here = next->fitted_here;
      active_[run_id] = {&control, next->client, next->bytes};
      for (auto ahead = queue_.begin(); ahead != next; ++ahead)
        ++ahead->overtaken;
      queue_.erase(next);
      untouched_.erase(run_id);
    }
    // A run whose end cannot be written down stays as it is stored, as after a
    // stop; the worker goes on with the next one.
    ShowRuns(1);
    WithoutExceptions([&] {
      Carry(run_id, fitted_here, &control);
      return absl::OkStatus();
    }).IgnoreError();
    ShowRuns(-1);
    MutexLock lock(&mutex_);
    active_.erase(run_id);
    ++announcements_;
    changed_.notify_all();
  }
}

void RunManager::Stop() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    for (const auto& [run_id, active] : active_) active.control->Stop();
    changed_.notify_all();
  }
  for (std::thread& worker : workers_) {
    if (worker.joinable()) worker.join();
  }
}

}  // namespace dpnmf::analyst
