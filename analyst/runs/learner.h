// The loop of one run:
//
//   Open -> for t = 1..T: send W_t, receive the release, update W, store ->
//   Close
//
// Everything that it needs is in the store, so it may be broken off anywhere
// and started again: the next request is a function of what is stored, and the
// curator answers a request that it has answered before with the same bytes at
// no cost.
//
//   curator unreachable: WAITING, tried again with growing pauses.
//   round lost: W stays, the run continues with the next round.
//   cancelled: learning is broken off, what is charged is fetched, Close, then
//   CANCELLED; CANCELLING until that is confirmed.
//   refused or broken: Close, then FAILED with a sentence and a code.
//   stopped (shutdown): left as it is stored.
#ifndef DPNMF_ANALYST_RUNS_LEARNER_H_
#define DPNMF_ANALYST_RUNS_LEARNER_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "analyst/curators/curator_connection.h"
#include "analyst/runs/run_control.h"
#include "analyst/runs/run_items.h"
#include "analyst/store/run_store.h"
#include "common/server/observers.h"

namespace dpnmf::analyst {

struct LearnerSettings {
  // Pauses between attempts double from the first to the longest; each is
  // drawn from the upper half of its range, so that runs do not come in step.
  std::chrono::milliseconds first_pause{500};
  std::chrono::milliseconds longest_pause{30'000};
  // Uniform on [0, 1); default: a generator seeded by the system.
  std::function<double()> jitter;
  // False: no averaging over rounds, and the releases are taken to be exact
  // (tests without noise).
  bool average = true;
  // Observers of requests: none is sent without an entry in the audit log.
  Observers observers = {};
};

// Runs on one thread. Store, curator and control must outlive it.
class Learner {
 public:
  // on_change is called after each stored change, and now and then while
  // control->learning() grows.
  Learner(std::string run_id, RunStore* store, CuratorConnection* curator,
          RunControl* control, LearnerSettings settings,
          std::function<void()> on_change);

  // Returns when the run has ended or the control was stopped.
  void Run();

 private:
  // How one connection ended.
  enum class Outcome { kEnded, kStopped, kTryAgain };

  Outcome RunOnce();
  absl::Status TrainOn(RunStream* stream);
  // Asks for a round, checks its receipt, learns from its release and stores
  // both.
  absl::Status OneRound(RunStream* stream, const OpenedRun& opened,
                        std::uint32_t number);
  struct Round;
  // Fills in the round, from its stage to its result. Errors of
  // ReleaseKind::input and RunStream::Round; INVALID_ARGUMENT
  // "mechanism-unknown"; UNAVAILABLE "audit-failed".
  absl::Status PrepareAndAsk(RunStream* stream, const OpenedRun& opened,
                             Round* round);
  absl::Status CheckAnswer(const Round& round) const;
  // Returns the record of an answered round, with the state before it.
  FinishedRound RecordOf(const Round& round) const;
  absl::Status Learn(Round* round, LearnerState* state);
  // Sets when work with the round's facts is broken off.
  void StopWhen(const std::function<bool()>& stopped, Round* round);
  absl::Status StoreRound(const Round& round, FinishedRound finished,
                          std::string message,
                          std::chrono::steady_clock::time_point begin);
  absl::Status StoreOpened(const OpenedRun& opened);
  // Once, before the first round of a run that needs items: they are stored, or
  // fetched and stored.
  absl::Status PrepareItems(const OpenedRun& opened);
  absl::Status PrepareNames(const std::function<bool()>& stopped);
  absl::Status StoreEnd(const v1::LedgerPosition& position);
  Outcome HandleFailure(const absl::Status& failure);
  absl::Status BeginFailing(const absl::Status& failure);
  // An entry of this run in the audit log, under the stream's request.
  absl::Status Audit(std::string_view event, AuditFields more) const;
  void ShowRound(const RoundResult& result, double seconds) const;
  // Adds the time of this learner's rounds, as a sentence and in seconds.
  void AddTime(v1::RunEvent* event) const;
  void NoteWaiting(const absl::Status& failure);
  void Pause();

  // The run ends before its last round: cancelled, or failed.
  bool ending() const;
  std::uint32_t rounds() const;
  absl::Status Reload();
  v1::RunEvent EventNow(const v1::LedgerPosition& position,
                        MuSquared charged) const;

  const std::string run_id_;
  RunStore* const store_;
  CuratorConnection* const curator_;
  RunControl* const control_;
  LearnerSettings settings_;
  const std::function<void()> on_change_;

  // Record as stored; read again for every connection.
  RunRecord record_;
  LearnerState state_;
  std::optional<RunItems> items_;  // of mechanisms that need them
  bool names_fetched_ = false;     // of the features, by the other mechanisms
  bool opened_ = false;            // on this connection
  bool cancel_noticed_ = false;    // by this connection
  bool round_refused_ = false;
  bool close_refused_ = false;
  std::chrono::milliseconds pause_;
  // Times of the rounds that this learner has carried since the server's start.
  struct {
    int rounds = 0;
    double curator = 0, learning = 0;  // seconds
  } time_;
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_LEARNER_H_
