// The MPI job beneath a curator: processes that hold shares of the people and
// add up exact sums. The curator's ledger, gate, noise and wire stay in the
// curator's process, which loads nothing of MPI.
//
// The job is trusted with the data, but its answers are checked: rank_answer.h
// says which are accepted. In every other case the round is refused before it
// is charged, every process of the job is killed, and a new job starts.
#ifndef DPNMF_CURATOR_RANKS_RANK_JOB_H_
#define DPNMF_CURATOR_RANKS_RANK_JOB_H_

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"
#include "common/threads/mutex.h"
#include "curator/data/dataset.h"
#include "curator/mechanism/mechanism.h"
#include "curator/mechanism/round_sums.h"

namespace dpnmf::curator {

struct RankJobOptions {
  int ranks = 1;
  // Program that starts MPI programs, and its arguments; it must put rank 0 on
  // this machine.
  std::vector<std::string> mpi_run;
  std::string hosts;    // file of hosts; empty: this machine
  std::string program;  // dpnmf-ranks
  // mpirun and ranks listen at loopback addresses alone: LoopbackOf(program) is
  // loaded into them. Open MPI.
  bool loopback_only = false;
  std::string data_dir;
  // With which ranks verify their files (KeyOfFiles,
  // curator/import/people/fingerprint.h).
  Digest file_key{};
  int threads = 1;  // of each rank
  // Ranks may be on other machines: exact private sums then cross a network.
  bool private_network = false;
  // A round takes no longer, else the job is taken for dead.
  std::chrono::milliseconds deadline = std::chrono::seconds(600);
  // For the way to the curator, past the ranks' own deadline.
  std::chrono::milliseconds slack = std::chrono::seconds(5);
};

// Returns whether no part of the job can be on another machine.
bool IsOfOneMachine(const RankJobOptions& options);

// Command that starts the job if the operator names none: Open MPI, with ranks
// only on this machine unless there is a file of hosts. On one machine ranks
// have no ports; mpirun has some, whatever its options: loopback_only.
std::vector<std::string> DefaultMpiRun(const RankJobOptions& options);

// dpnmf-ranks-loopback.so of this dpnmf-ranks: beside it, or in ../lib/dpnmf.
std::string LoopbackOf(const std::string& program);

// INVALID_ARGUMENT "private-network-missing" if the file of hosts names another
// machine than this one and the options do not say that the network is private;
// NOT_FOUND or UNAVAILABLE if it cannot be read.
absl::Status CheckHosts(const RankJobOptions& options);

// Thread-safe.
class RankJob {
 public:
  // H of one run in one job; ends it there when destroyed. Not thread-safe.
  class RemoteCoefficients {
   public:
    RemoteCoefficients(RankJob* job, std::uint64_t era, std::uint64_t name)
        : job_(job), era_(era), name_(name) {}
    ~RemoteCoefficients() { job_->Forget(era_, name_); }
    RemoteCoefficients(const RemoteCoefficients&) = delete;
    RemoteCoefficients& operator=(const RemoteCoefficients&) = delete;

   private:
    friend class RankJob;
    RankJob* const job_;
    const std::uint64_t era_, name_;
  };

  // Starts the job and waits for it. CheckHosts; UNAVAILABLE "ranks-missing" if
  // it does not begin within a minute; FAILED_PRECONDITION
  // "private-network-missing" if it spans machines and must not.
  static absl::StatusOr<std::unique_ptr<RankJob>> Start(RankJobOptions options);
  // Kills the job. Nobody may use it or its RemoteCoefficients any more.
  ~RankJob();

  // Returns whether ranks compute these sums: a kind that adds up by ranges of
  // people, on data that Dataset::OpenShare cuts. The caller computes all
  // others.
  static bool Computes(const ReleaseKind& kind, const DatasetDescription& data);

  // The sums of a round that ranks compute. `parts`:
  // as this request wants them. `h`: of the run's rounds before, or null; a
  // round of a later job begins it again, and after a failure it must be
  // dropped. One round at a time: others wait. A round that was begun is
  // computed to its end, also if context.execution.stop says so; the result is
  // then CANCELLED "cancelled". UNAVAILABLE "ranks-failed" if there is no
  // answer that counts; errors of CheckPart.
  absl::StatusOr<RoundSums> Sums(const ReleaseKind& kind,
                                 const RoundInput& input,
                                 const RoundContext& context,
                                 const std::vector<PartPlan>& parts,
                                 std::unique_ptr<RemoteCoefficients>* h);

  // Jobs that have begun so far.
  std::uint64_t jobs() {
    MutexLock lock(&mutex_);
    return era_;
  }
  int ranks() const { return options_.ranks; }
  int threads_of_a_rank() const { return options_.threads; }

 private:
  struct Process {
    pid_t pid = -1;
    int socket = -1;
    std::string directory;  // of the socket and of MPI's files
    int lock = -1;          // held: the directory is not an old one
  };

  explicit RankJob(RankJobOptions options);
  absl::StatusOr<Process> Launch();
  absl::Status Greet(int listener, Process* process);
  static void End(Process* process);
  void Keep();
  void AwaitTrouble(int socket, std::optional<std::chrono::milliseconds> limit);
  void Forget(std::uint64_t era, std::uint64_t name);

  const RankJobOptions options_;
  Mutex turn_;  // held while a round is computed
  Mutex mutex_;
  std::condition_variable_any changed_;
  Process process_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t era_ ABSL_GUARDED_BY(mutex_) = 0;  // jobs so far
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool in_use_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status launched_ ABSL_GUARDED_BY(mutex_);  // the last attempt
  std::uint64_t names_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::uint64_t> forget_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t commands_ ABSL_GUARDED_BY(turn_) = 0;
  const int wake_;      // an eventfd: the keeper looks again
  std::thread keeper_;  // last: it begins when all else is there
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RANKS_RANK_JOB_H_
