// All runs of the server: max_running threads that work on one run each, and a
// queue for the other runs.
#ifndef DPNMF_ANALYST_RUNS_RUN_MANAGER_H_
#define DPNMF_ANALYST_RUNS_RUN_MANAGER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "analyst/curators/curator_connection.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/learner.h"
#include "analyst/runs/refit.h"
#include "analyst/runs/sent_priors.h"
#include "analyst/store/run_store.h"
#include "common/threads/mutex.h"

namespace dpnmf::analyst {

// Thread-safe. The store and the curator must outlive it.
class RunManager {
 public:
  struct Settings {
    int max_running = 16;
    // Runs of one client that have not ended.
    int max_open_runs = 64;
    LearnerSettings learner;
    // Runs that ended this many seconds ago are forgotten, at start and
    // whenever a run ends; 0: kept.
    std::int64_t retain_seconds = 0;
    // Bytes, by EstimateLearning, of the runs of one client that learn at the
    // same time; all together may take twice as many. Others wait. 0: no limit.
    std::uint64_t run_memory = 0;
  };

  // Every stored run that has not ended goes on, oldest first.
  static absl::StatusOr<std::unique_ptr<RunManager>> Create(
      RunStore* store, CuratorConnection* curator, Settings settings);
  // Stops.
  ~RunManager();
  RunManager(const RunManager&) = delete;
  RunManager& operator=(const RunManager&) = delete;

  // Stores and queues a run. `planned` is PlanWithCurator's; w0 is given
  // exactly if the initialisation is public: D x K, checked and projected here.
  // Errors of RefusalOf(planned) and CheckDictionary; INVALID_ARGUMENT
  // "dictionary-missing", "dictionary-unexpected", "matrix-shape";
  // FAILED_PRECONDITION "too-many-runs", "learning-too-large"; UNAVAILABLE
  // "shutting-down"; those of the store.
  // A request that the client has sent before has its run already. `priors` are
  // those of the specification (errors of KeepPriors).
  absl::StatusOr<v1::Run> Start(
      const PlannedRun& planned, std::optional<Eigen::MatrixXd> w0,
      const std::string& started_by,
      std::optional<ClientRequest> request = std::nullopt,
      NamedPriors priors = {});

  // The run that the client's request has, if any, without asking the curator.
  // ALREADY_EXISTS "request-differs"; FAILED_PRECONDITION "request-forgotten".
  absl::StatusOr<std::optional<v1::Run>> RunOf(const ClientRequest& request,
                                               const std::string& started_by);

  // Another model of a run's paid release: PrepareRefit checks what can be
  // checked without W_0 (D x K is then known: state.w has D rows), Refit stores
  // and queues the child, or returns the one that the same request of the
  // client has, unless that was cancelled or failed. The curator is not asked.
  // With joined_run_ids: of the sum of releases (joint_release.h).
  // Errors of ChildOf, JointChildOf and FirstDictionary; "learning-too-large",
  // "too-many-runs"; FAILED_PRECONDITION "too-many-refits".
  absl::StatusOr<NewRun> PrepareRefit(const v1::Refit& refit);
  absl::StatusOr<v1::Run> Refit(NewRun child, std::optional<Eigen::MatrixXd> w0,
                                const std::string& started_by,
                                std::vector<SentPrior> priors = {});
  // Stores and queues a release that was added (added_release.h); a run of the
  // same id is returned as it is. Errors as Refit.
  absl::StatusOr<v1::Run> AddReleased(NewRun run,
                                      const std::string& started_by);

  // Makes a plan one that would be refused if it needs more memory than a
  // client may have ("learning-too-large").
  void RefuseTooLarge(v1::PlanRunReply* reply) const;

  // Idempotent; a run that has ended is returned as it is.
  absl::StatusOr<v1::Run> Cancel(const std::string& run_id);
  // Deletes a run that has ended (RunStore::Forget).
  absl::StatusOr<v1::ForgetRunReply> Forget(const std::string& run_id,
                                            const std::string& forgotten_by);
  absl::StatusOr<v1::Run> Get(const std::string& run_id);
  // Newest first.
  absl::StatusOr<std::vector<v1::Run>> List();

  // Calls send(event) for the events after `cursor` as they come, and between
  // them for what is not kept (RunEvent.learning), until the run
  // has ended and all are sent, send returns false, gone() is true (asked now
  // and then), or Stop. No lock is held while sending. NOT_FOUND "run-unknown";
  // UNAVAILABLE "shutting-down".
  absl::Status Watch(const std::string& run_id, std::uint64_t cursor,
                     const std::function<bool(const v1::RunEvent&)>& send,
                     const std::function<bool()>& gone);

  // Ends watches, breaks learners off and waits for them. Runs stay as stored.
  // Not to be called by two threads at once.
  void Stop();

 private:
  struct Queued {
    std::string run_id, client;
    std::uint64_t bytes = 0;
    bool cancelling = false;
    bool fitted_here = false;
    int overtaken = 0;  // times that a run behind it was taken from the queue
  };
  struct Active {
    RunControl* control = nullptr;
    std::string client;
    std::uint64_t bytes = 0;
  };
  // features: D of the data set.
  static Queued QueuedOf(const v1::Run& run, std::uint64_t features);
  // D by the stored W; by the plan where that cannot be read.
  std::uint64_t StoredFeaturesOf(const v1::Run& run);

  RunManager(RunStore* store, CuratorConnection* curator, Settings settings);
  absl::StatusOr<v1::Run> Enqueue(NewRun run, const std::string& started_by);
  absl::StatusOr<std::optional<std::string>> AnswerTo(
      const ClientRequest& request, const std::string& started_by);
  absl::StatusOr<std::optional<std::string>> ExistingRun(
      const NewRun& run, const std::string& started_by)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckFits(const NewRun& run) const;
  // The first run of the queue that the memory has room for. A run that is
  // alone always fits, and so does one that is being cancelled. A run that was
  // overtaken kMostOvertaken times holds back those behind it: of its client
  // while the client has no room, of all once only the whole has none.
  std::deque<Queued>::iterator NextToRun()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A worker's life: takes runs from the queue, one at a time.
  void Work();
  // One run, until it has ended or its control was stopped.
  void Carry(const std::string& run_id, bool fitted_here, RunControl* control);
  void Announce();
  void ForgetOldRuns();
  // RunControl::learning of a run at work, else below 0.
  double LearningOf(const std::string& run_id);
  // `more` runs are at work.
  void ShowRuns(int more);
  // Waits until something was announced since `seen`, gone() or Stop; returns
  // false for the last two.
  bool WaitForNews(std::uint64_t* seen, const std::function<bool()>& gone);

  RunStore* const store_;
  CuratorConnection* const curator_;
  const Settings settings_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t announcements_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mutex_);
  // Started in this process and never given to a learner. A run that an earlier
  // process left QUEUED may be open at the curator all the same.
  std::set<std::string> untouched_ ABSL_GUARDED_BY(mutex_);
  // The runs at work; each control belongs to its worker.
  std::map<std::string, Active> active_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;  // made by Create, joined by Stop
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_RUN_MANAGER_H_
