// The analyst's lasting state: runs, their events and models, and the mirror of
// the ledger. SQLite in WAL mode with synchronous=FULL.
//
// One transaction a round stores W_{t+1}, the learner's memory, the event and
// the mirrored charge together. So whatever instruction a process is killed at,
// the run goes on from the last stored round and asks for the next one with
// exactly the bits that were asked for before.
#ifndef DPNMF_ANALYST_STORE_RUN_STORE_H_
#define DPNMF_ANALYST_STORE_RUN_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analyst/store/run_records.h"
#include "analyst/store/run_states.h"

namespace dpnmf::analyst {

// Thread-safe. Every method is one transaction. Besides the errors named,
// UNAVAILABLE "storage-failed" (disk full, device error) and DATA_LOSS
// "state-damaged". NOT_FOUND "run-unknown" where a run is named.
class RunStore {
 public:
  // Creates `directory` (0700) if missing. FAILED_PRECONDITION
  // "state-dir-in-use" (another process), "state-newer" (written by a newer
  // program); DATA_LOSS "state-damaged".
  static absl::StatusOr<std::unique_ptr<RunStore>> Open(
      const std::string& directory,
      std::function<std::int64_t()> unix_seconds = {});
  ~RunStore();
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  // Stores a new run (run.parent, run.joined and run.added included), its W_0,
  // what it has besides and its first event. facts.dataset is taken before that
  // of facts.like. The client's request must have no run yet.
  absl::Status Add(const RunRecord& record, const LearnerState& state,
                   const NewRunFacts& facts = {});
  // Finds a client's request. The request of a refit is forgotten with its run,
  // a request by id is not.
  absl::StatusOr<std::optional<AnsweredRequest>> FindRequest(
      const std::string& started_by, const std::string& name);
  // A refit that is asked for again gets a new run.
  absl::Status DropRequest(const std::string& started_by,
                           const std::string& name);
  // Runs whose parent it is.
  absl::StatusOr<int> CountChildren(const std::string& run_id);
  // Calls take(message) for the messages of the rounds that are kept as they
  // came, in order, until it returns false. None if none are.
  absl::Status ReadRelease(
      const std::string& run_id,
      const std::function<bool(const v1::ReleaseReply&)>& take);
  // The end of a run that was fitted here and asks for no round: W, COMPLETED,
  // all rounds done, and the figures of the fit. Nothing is charged.
  // FAILED_PRECONDITION "run-ended".
  absl::Status FinishFit(const std::string& run_id, const Eigen::MatrixXd& w,
                         const v1::RunEvent& event,
                         const FitFigures& figures = {});
  // One number of the learner, by its name in stored_learner.h; none if there
  // is no such.
  absl::StatusOr<std::optional<double>> ReadFigure(const std::string& run_id,
                                                   const std::string& name);
  absl::StatusOr<RunRecord> Get(const std::string& run_id);
  // Newest first.
  absl::StatusOr<std::vector<RunRecord>> List();
  // Runs of a client that have not ended.
  absl::StatusOr<int> CountOpen(const std::string& started_by);
  absl::StatusOr<LearnerState> ReadLearner(const std::string& run_id);
  absl::StatusOr<Model> ReadModel(const std::string& run_id);

  // Data that runs on ratings keep of their data set: its public facts and the
  // pages of its items, in the order in which they were put. Nothing is checked
  // here.
  absl::Status PutDataset(const std::string& run_id,
                          const v1::Dataset& dataset);
  absl::StatusOr<std::optional<v1::Dataset>> ReadDataset(
      const std::string& run_id);
  absl::Status PutItemPage(const std::string& run_id,
                           const v1::ListItemsReply& page);
  // DATA_LOSS "state-damaged" if take(page) is false.
  absl::Status ReadItemPages(
      const std::string& run_id,
      const std::function<bool(const v1::ListItemsReply&)>& take);

  // A run in a final state is left alone: FAILED_PRECONDITION "run-ended". One
  // that is being cancelled stays CANCELLING until a final state is stored.
  absl::Status ChangeState(const std::string& run_id,
                           const StateChange& change);
  // INTERNAL "round-out-of-order" unless round is rounds_done + 1. A mirrored
  // charge that stands already is not counted twice.
  absl::Status FinishRound(const std::string& run_id,
                           const FinishedRound& finished);

  // The guarantee of the population is void: all its runs say so from then on,
  // and all that a run of it is a term of.
  absl::Status SeeVoid(const std::string& population, std::int64_t void_since);
  // Puts the marks into the stored receipts of these rows that have none.
  // Receipts whose mark is not signed as they are stay as they were.
  absl::Status MarkReceipts(std::int64_t void_since,
                            const std::vector<VoidMark>& marks);

  // Events with a cursor above `after`, oldest first, at most `limit`.
  absl::StatusOr<std::vector<v1::RunEvent>> Events(const std::string& run_id,
                                                   std::uint64_t after,
                                                   int limit);

  absl::StatusOr<MirrorView> Mirror(const std::string& population);

  // Deletes a run that has ended, with its matrices and events; who asked and
  // when is kept, and so is the mirror. Returns how many charges the mirror has
  // of it. FAILED_PRECONDITION "run-not-ended".
  absl::StatusOr<std::uint64_t> Forget(const std::string& run_id,
                                       const std::string& forgotten_by);
  // The deleted runs, each with the last of its rounds that the mirror has (0:
  // none).
  absl::StatusOr<std::vector<std::pair<std::string, std::uint32_t>>>
  ForgottenRuns();
  // The runs that ended before `unix_seconds`, oldest first.
  absl::StatusOr<std::vector<std::string>> EndedBefore(
      std::int64_t unix_seconds);
  // The key that signs the receipts of a data set: the one that the operator
  // gave, else the one that was recorded.
  absl::StatusOr<std::optional<std::string>> ReceiptKeyOf(
      const std::string& dataset);
  // Records `key` for the data set unless there is one; returns the one that
  // stands.
  absl::StatusOr<std::string> RecordReceiptKey(const std::string& dataset,
                                               const std::string& key);
  // The operator's word: this key, for all data sets, in place of what was
  // recorded. Returns whether that changed anything.
  absl::StatusOr<bool> GiveReceiptKey(const std::string& key);
  // The receipts of a data set (empty: of all) by ledger and row, at most
  // `limit` that come after `after` (no fields set: from the first).
  absl::StatusOr<std::vector<v1::Receipt>> Receipts(const std::string& dataset,
                                                    const v1::Receipt& after,
                                                    int limit);

 private:
  struct State;
  explicit RunStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_STORE_RUN_STORE_H_
