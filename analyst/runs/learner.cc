#include "analyst/runs/learner.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyst/curators/receipt_check.h"
#include "analyst/planning/epsilon_text.h"
#include "analyst/store/run_states.h"
#include "common/base/error.h"
#include "common/base/trace.h"
#include "common/learning/mechanism.h"
#include "common/learning/round_facts.h"
#include "common/log/log.h"
#include "common/log/without_exceptions.h"
#include "common/wire/convert.h"
#include "common/wire/release.h"
#include "common/wire/status.h"

namespace dpnmf::analyst {
namespace {

using std::chrono::steady_clock;

std::function<double()> SystemJitter() {
  auto generator = std::make_shared<std::minstd_rand>(std::random_device{}());
  return [generator] {
    return std::uniform_real_distribution<double>(0, 1)(*generator);
  };
}

// Worth another attempt: nothing was refused.
bool IsTransient(const absl::Status& status) {
  const std::string code = ReasonCode(status);
  return IsConnectionFailure(status) ||
         status.code() == absl::StatusCode::kDeadlineExceeded ||
         status.code() == absl::StatusCode::kCancelled ||
         // A stream that the transport reset.
         (status.code() == absl::StatusCode::kInternal && code == "rpc-failed");
}

double Seconds(steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

// |W' - W|_F / |W|_F; 0 where W is zero, or was of another shape.
double RelativeChange(const Eigen::MatrixXd& before,
                      const Eigen::MatrixXd& after) {
  if (before.rows() != after.rows() || before.cols() != after.cols()) return 0;
  const double norm = before.norm();
  return norm > 0 ? (after - before).norm() / norm : 0;
}

}  // namespace

// One round on its way: what it is, what is asked and what is answered.
struct Learner::Round {
  std::uint32_t number = 0;  // 1 to rounds()
  StageOfRound at = {};
  const ReleaseKind* kind = nullptr;  // what this analyst does with the release
  std::uint64_t users = 0;            // N or N0
  RoundFacts facts = {};
  RoundInput input = {};
  RoundResult result = {};
};

Learner::Learner(std::string run_id, RunStore* store,
                 CuratorConnection* curator, RunControl* control,
                 LearnerSettings settings, std::function<void()> on_change)
    : run_id_(std::move(run_id)),
      store_(store),
      curator_(curator),
      control_(control),
      settings_(std::move(settings)),
      on_change_(std::move(on_change)),
      pause_(settings_.first_pause) {
  if (!settings_.jitter) settings_.jitter = SystemJitter();
}

void Learner::Run() {
  while (RunOnce() == Outcome::kTryAgain) Pause();
}

bool Learner::ending() const {
  return control_->cancelled() ||
         record_.run.state() == v1::RUN_STATE_CANCELLING;
}

std::uint32_t Learner::rounds() const {
  return record_.run.specification().parameters().rounds();
}

absl::Status Learner::Reload() {
  DPNMF_ASSIGN_OR_RETURN(record_, store_->Get(run_id_));
  DPNMF_ASSIGN_OR_RETURN(state_, store_->ReadLearner(run_id_));
  return absl::OkStatus();
}

Learner::Outcome Learner::RunOnce() {
  if (control_->stopped()) return Outcome::kStopped;
  opened_ = false;
  cancel_noticed_ = control_->cancelled();
  if (absl::Status status = Reload(); !status.ok())
    return HandleFailure(status);
  if (IsFinal(record_.run.state())) return Outcome::kEnded;
  // Skips a run that is fitted here, which is never opened at the curator.
  if (IsFittedHere(record_.run)) return Outcome::kEnded;
  // The run's id is its trace, also after a restart.
  const TraceScope run_scope(NewRequest(run_id_));
  const std::unique_ptr<RunStream> stream = curator_->NewStreamFor(
      record_.run.specification().parameters().dataset());
  const TraceScope scope(stream->trace().value_or(run_scope.trace()));
  control_->Attach(stream.get());
  const absl::Status status =
      WithoutExceptions([&] { return TrainOn(stream.get()); });
  control_->Attach(nullptr);
  return status.ok() ? Outcome::kEnded : HandleFailure(status);
}

absl::Status Learner::TrainOn(RunStream* stream) {
  absl::StatusOr<OpenedRun> opened =
      stream->Open(run_id_, record_.run.specification().parameters());
  const bool wants_end = ending() || record_.run.rounds_done() == rounds();
  // The curator had confirmed the end and the confirmation was lost.
  if (!opened.ok() && wants_end &&
      ReasonCode(opened.status()) == "run-closed") {
    return StoreEnd(v1::LedgerPosition());
  }
  if (!opened.ok()) return opened.status();
  opened_ = true;
  DPNMF_RETURN_IF_ERROR(StoreOpened(*opened));
  while (record_.run.rounds_done() < rounds()) {
    const std::uint32_t round = record_.run.rounds_done() + 1;
    // A run that is being ended still fetches what it has paid for.
    if (ending() && (round_refused_ || round >= opened->next_round)) break;
    // Treats an exception as an error that would recur: a fit without enough
    // memory would throw again.
    const absl::Status status =
        WithoutExceptions([&] { return OneRound(stream, *opened, round); });
    round_refused_ = !status.ok() && !IsTransient(status);
    DPNMF_RETURN_IF_ERROR(status);
  }
  const absl::StatusOr<ClosedRun> closed =
      WithoutExceptions([&] { return stream->Close(); });
  close_refused_ = !closed.ok() && !IsTransient(closed.status());
  return closed.ok() ? StoreEnd(closed->ledger) : closed.status();
}

absl::Status Learner::StoreOpened(const OpenedRun& opened) {
  if (!ending() &&
      (opened.next_round <= record_.run.rounds_done() || opened.users == 0)) {
    return Refusal(absl::StatusCode::kDataLoss, "ledger-behind-mirror",
                   "The curator's ledger lacks rounds of this run that were "
                   "charged; ask the "
                   "operator whether it was restored from a backup.");
  }
  // Lets an ending run fetch its paid releases and close, whatever key signs.
  if (!ending() && !opened.keys_checked) {
    DPNMF_RETURN_IF_ERROR(CheckAnnouncedKey(
        record_.run.specification().parameters().dataset(), opened, store_));
  }
  DPNMF_ASSIGN_OR_RETURN(const MuSquared charged,
                         FromProto(record_.run.charged()));
  StateChange change;
  change.state = v1::RUN_STATE_RUNNING;
  change.plan = opened.plan;
  change.event = EventNow(opened.ledger, charged);
  DPNMF_RETURN_IF_ERROR(store_->ChangeState(run_id_, change));
  *record_.run.mutable_plan() = opened.plan;
  on_change_();
  return absl::OkStatus();
}

absl::Status Learner::PrepareItems(const OpenedRun& opened) {
  const Mechanism* const mechanism =
      Mechanisms().Find(record_.run.specification().parameters().mechanism());
  const auto breaks_off = [&] {
    return control_->stopped() || (control_->cancelled() && !cancel_noticed_);
  };
  if (mechanism == nullptr || !mechanism->needs_items)
    return PrepareNames(breaks_off);
  if (items_.has_value()) return absl::OkStatus();
  DPNMF_ASSIGN_OR_RETURN(
      RunItems items, FetchItems(run_id_, record_.run.specification(), store_,
                                 curator_, breaks_off));
  DPNMF_RETURN_IF_ERROR(CheckPlan(items.facts, opened.plan));
  items_ = std::move(items);
  return absl::OkStatus();
}

absl::Status Learner::PrepareNames(const std::function<bool()>& stopped) {
  if (names_fetched_) return absl::OkStatus();
  const absl::Status fetched = FetchNames(run_id_, store_, curator_, stopped);
  names_fetched_ = fetched.ok() || !IsTransient(fetched);
  if (!fetched.ok()) {
    LogWarning("run {} continues without the names of its features: {}",
               run_id_, std::string(fetched.message()));
  }
  return absl::OkStatus();
}

absl::Status Learner::PrepareAndAsk(RunStream* stream, const OpenedRun& opened,
                                    Round* round) {
  const v1::RunSpecification& specification = record_.run.specification();
  round->at = StageOf(opened.plan, round->number);
  if (round->at.stage != nullptr)
    round->kind = FindReleaseKind(round->at.stage->release());
  if (round->kind == nullptr) {
    return Refusal(absl::StatusCode::kInvalidArgument, "mechanism-unknown",
                   "This analyst does not know the run's `mechanism`: use the "
                   "version of the analyst that started the run.");
  }
  round->users = opened.users;
  round->facts =
      FactsOfRound(specification, opened.plan, round->at,
                   static_cast<double>(opened.users), settings_.average);
  round->facts.round_of_run = round->number;
  if (items_.has_value()) round->facts.ratings = &items_->facts;
  // A request is computed also for a run that is being ended: it fetches what
  // it has paid for.
  StopWhen([this] { return control_->stopped(); }, round);
  DPNMF_ASSIGN_OR_RETURN(round->input,
                         round->kind->input(round->facts, state_));
  DPNMF_RETURN_IF_ERROR(
      Audit("round-asked", {{"round", std::int64_t{round->number}}}));
  const auto asked = steady_clock::now();
  DPNMF_ASSIGN_OR_RETURN(round->result,
                         stream->Round(round->number, round->input));
  time_.curator += Seconds(steady_clock::now() - asked);
  return absl::OkStatus();
}

absl::Status Learner::CheckAnswer(const Round& round) const {
  const RoundResult& result = round.result;
  if (result.receipts_checked) return absl::OkStatus();
  const v1::RunParameters& asked = record_.run.specification().parameters();
  std::optional<Digest> release;
  if (!result.lost) {
    DPNMF_ASSIGN_OR_RETURN(const RunParameters parameters, FromProto(asked));
    const v1::RunParameters canonical = ToProto(parameters);
    release =
        DigestOfRelease({&canonical, round.at.stage, round.users,
                         round.input.rows, round.input.numbers, &round.input.w},
                        result.parts);
  }
  return CheckRoundReceipt({run_id_, asked.dataset(), round.number, release},
                           result, store_);
}

FinishedRound Learner::RecordOf(const Round& round) const {
  const RoundResult& result = round.result;
  FinishedRound finished;
  finished.round = round.number;
  finished.lost = result.lost;
  finished.charge = {run_id_, round.number, result.cost, result.row_hash,
                     result.receipt};
  finished.other_receipts = result.other_receipts;
  finished.state = state_;
  // The sum of a federation is nobody's signed release: it is not passed on.
  if (round.kind->is_passed_on && !result.lost && !result.receipts_checked &&
      !result.receipt->release_sha256().empty()) {
    WriteRound({round.number, round.input.rows, result.parts, *result.receipt},
               [&](const v1::ReleaseReply& message) {
                 finished.release.push_back(message);
                 return true;
               });
  }
  return finished;
}

absl::Status Learner::Learn(Round* round, LearnerState* state) {
  StopWhen([this] { return control_->stopped() || ending(); }, round);
  round->facts.progress = [this](double share) {
    if (control_->SetLearning(share)) on_change_();
  };
  const absl::Status learned = WithoutExceptions([&] {
    return round->kind->update(round->result.parts, round->facts, state);
  });
  control_->SetLearning(-1);
  return learned;
}

void Learner::StopWhen(const std::function<bool()>& stopped, Round* round) {
  round->facts.stopped = stopped;
  if (items_.has_value()) items_->facts.stopped = stopped;
}

absl::Status Learner::StoreRound(const Round& round, FinishedRound finished,
                                 std::string message,
                                 steady_clock::time_point begin) {
  DPNMF_ASSIGN_OR_RETURN(const MuSquared before,
                         FromProto(record_.run.charged()));
  const MuSquared charged =
      MuSquared::Add(before, round.result.cost).value_or(before);
  finished.event = EventNow(round.result.ledger, charged);
  finished.event.set_round(round.number);
  finished.event.set_round_seconds(Seconds(steady_clock::now() - begin));
  finished.event.set_relative_change(
      RelativeChange(state_.w, finished.state.w));
  finished.event.set_message(std::move(message));
  DPNMF_RETURN_IF_ERROR(store_->FinishRound(run_id_, finished));
  ShowRound(round.result, finished.event.round_seconds());
  state_ = std::move(finished.state);
  record_.run.set_rounds_done(round.number);
  *record_.run.mutable_charged() = ToProto(charged);
  pause_ = settings_.first_pause;
  on_change_();
  return absl::OkStatus();
}

absl::Status Learner::OneRound(RunStream* stream, const OpenedRun& opened,
                               std::uint32_t number) {
  DPNMF_RETURN_IF_ERROR(PrepareItems(opened));
  const auto begin = steady_clock::now();
  Round round{.number = number};
  DPNMF_RETURN_IF_ERROR(PrepareAndAsk(stream, opened, &round));
  const auto answered = steady_clock::now();
  DPNMF_RETURN_IF_ERROR(CheckAnswer(round));
  const RoundResult& result = round.result;
  DPNMF_RETURN_IF_ERROR(Audit(result.lost ? "round-lost" : "round-received",
                              {{"round", std::int64_t{number}},
                               {"row", absl::BytesToHexString(result.row_hash)},
                               {"mu_squared", result.cost.UnitsText()}}));
  FinishedRound finished = RecordOf(round);
  std::string message;
  absl::Status learned;
  if (result.lost) {
    message = absl::StrCat("The release of round ", number,
                           " was charged and is lost; the run continues.");
  } else {
    learned = Learn(&round, &finished.state);
    // Broken off: the same request gets the same bytes later.
    if (control_->stopped() && absl::IsCancelled(learned)) return learned;
    if (ending() && absl::IsCancelled(learned)) {
      finished.state.w = state_.w;
      finished.state.unlearned = true;
      learned = absl::OkStatus();
      message =
          absl::StrCat("The run was ended before it had learned from round ",
                       number, ": W is that of the round before.");
    }
    // A release that cannot be used is recorded all the same: it was charged.
    if (!learned.ok()) finished.lost = true;
  }
  time_.learning += Seconds(steady_clock::now() - answered);
  ++time_.rounds;
  DPNMF_RETURN_IF_ERROR(
      StoreRound(round, std::move(finished), std::move(message), begin));
  // Fails the run: no later round replaces the release of W or of the value.
  if (result.lost && round.kind->is_answer && number == rounds()) {
    return Refusal(absl::StatusCode::kDataLoss, "release-lost",
                   "The run's release was charged and is lost, so there is no "
                   "result; start another run.");
  }
  return learned;
}

absl::Status Learner::StoreEnd(const v1::LedgerPosition& position) {
  const bool failing = !record_.run.error_code().empty() &&
                       record_.run.state() == v1::RUN_STATE_CANCELLING;
  const v1::RunState state = StateAtClosed(
      failing, record_.run.rounds_done() >= rounds() && !state_.unlearned);
  DPNMF_ASSIGN_OR_RETURN(const MuSquared charged,
                         FromProto(record_.run.charged()));
  StateChange change;
  change.state = state;
  change.event = EventNow(position, charged);
  change.event.set_message(record_.run.error());
  if (state == v1::RUN_STATE_COMPLETED) AddTime(&change.event);
  DPNMF_RETURN_IF_ERROR(store_->ChangeState(run_id_, change));
  on_change_();
  return Audit("run-ended", {{"state", v1::RunState_Name(state)}});
}

void Learner::AddTime(v1::RunEvent* event) const {
  event->set_message(absl::StrFormat(
      "%d %s took %.3g s: %.3g s for the curator and the network, %.3g s for "
      "learning.",
      time_.rounds, time_.rounds == 1 ? "round" : "rounds",
      time_.curator + time_.learning, time_.curator, time_.learning));
  const auto add = [event](const char* stage, double seconds) {
    v1::StageTime* const time = event->add_time();
    time->set_stage(stage);
    time->set_seconds(seconds);
  };
  add("curator", time_.curator);
  add("learning", time_.learning);
}

absl::Status Learner::Audit(std::string_view event, AuditFields more) const {
  AuditFields fields = {{"run", run_id_}, {"client", record_.run.started_by()}};
  for (auto& field : more) fields.push_back(std::move(field));
  if (WriteAudit(settings_.observers.audit, event, fields).ok())
    return absl::OkStatus();
  return Refusal(absl::StatusCode::kUnavailable, "audit-failed",
                 "The analyst cannot write its audit log, so nothing is "
                 "requested; its operator must free space for the log.");
}

void Learner::ShowRound(const RoundResult& result, double seconds) const {
  Metrics* const metrics = settings_.observers.metrics;
  if (metrics == nullptr) return;
  metrics->RoundEnded(record_.run.specification().parameters().dataset(),
                      result.lost ? "lost" : "released", seconds);
  metrics->SetVoidSince(record_.population, result.ledger.void_since());
  const v1::Guarantee& guarantee = record_.guarantee;
  const auto conversion = FromProto(guarantee.conversion());
  const auto budget = FromProto(result.ledger);
  if (!conversion.ok() || !budget.ok()) return;
  const double delta = guarantee.delta();
  const auto spent = Spent(*budget, *conversion, delta);
  const auto largest = LargestRunOf(guarantee, result.ledger, delta);
  if (!spent.ok() || !largest.ok()) return;
  metrics->SetBudget(record_.population, guarantee.epsilon(), *spent, *largest);
}

Learner::Outcome Learner::HandleFailure(const absl::Status& failure) {
  if (control_->stopped()) return Outcome::kStopped;
  if (IsTransient(failure)) {
    NoteWaiting(failure);
    return Outcome::kTryAgain;
  }
  if (const absl::Status noted = BeginFailing(failure); !noted.ok()) {
    // Damaged or vanished storage: nothing can be written down, so nothing
    // ends.
    return IsTransient(noted) ? Outcome::kTryAgain : Outcome::kStopped;
  }
  on_change_();
  return record_.run.state() == v1::RUN_STATE_CANCELLING ? Outcome::kTryAgain
                                                         : Outcome::kEnded;
}

// A refusal to open ends the run at once: there is nothing to give back, or no
// way to. A later one is written down and the run is closed first, so that what
// it has reserved is returned.
absl::Status Learner::BeginFailing(const absl::Status& failure) {
  DPNMF_ASSIGN_OR_RETURN(record_, store_->Get(run_id_));
  const bool cancelled = record_.run.state() == v1::RUN_STATE_CANCELLING &&
                         record_.run.error_code().empty();
  const std::string code = ReasonCode(failure);
  StateChange change;
  change.state = StateAtRefusal(
      {opened_ && !close_refused_, cancelled, code == "budget-exhausted"});
  if (change.state != v1::RUN_STATE_CANCELLED &&
      record_.run.error_code().empty()) {
    change.SetError(failure);
  }
  DPNMF_ASSIGN_OR_RETURN(const MuSquared charged,
                         FromProto(record_.run.charged()));
  change.event = EventNow(v1::LedgerPosition(), charged);
  change.event.set_message(change.error.value_or(record_.run.error()));
  DPNMF_RETURN_IF_ERROR(store_->ChangeState(run_id_, change));
  record_.run.set_state(change.state);
  return absl::OkStatus();
}

// One event per outage, not per attempt.
void Learner::NoteWaiting(const absl::Status& failure) {
  const absl::StatusOr<RunRecord> record = store_->Get(run_id_);
  if (!record.ok() || record->run.state() == v1::RUN_STATE_WAITING ||
      record->run.state() == v1::RUN_STATE_CANCELLING) {
    return;
  }
  record_ = *record;
  const absl::StatusOr<MuSquared> charged = FromProto(record_.run.charged());
  StateChange change;
  change.state = v1::RUN_STATE_WAITING;
  change.event = EventNow(v1::LedgerPosition(), charged.value_or(MuSquared()));
  change.event.set_message(std::string(failure.message()));
  if (store_->ChangeState(run_id_, change).ok()) on_change_();
}

void Learner::Pause() {
  const double share = 0.5 + settings_.jitter() / 2;
  const auto pause = std::chrono::milliseconds(
      static_cast<std::int64_t>(share * static_cast<double>(pause_.count())));
  control_->Wait(pause, /*wake_on_cancel=*/!cancel_noticed_);
  pause_ = std::min(2 * pause_, settings_.longest_pause);
}

v1::RunEvent Learner::EventNow(const v1::LedgerPosition& position,
                               MuSquared charged) const {
  const v1::RunParameters& parameters =
      record_.run.specification().parameters();
  v1::RunEvent event;
  event.set_round(record_.run.rounds_done());
  event.set_rounds(parameters.rounds());
  *event.mutable_charged() = ToProto(charged);
  if (auto spent = EpsilonsOf(charged, parameters.delta()); spent.ok()) {
    *event.mutable_spent() = *std::move(spent);
  }
  if (!position.head().empty()) {
    *event.mutable_position() = position;
    const auto largest =
        LargestRunOf(record_.guarantee, position, parameters.delta());
    if (largest.ok()) event.set_largest_run(*largest);
  }
  return event;
}

}  // namespace dpnmf::analyst
