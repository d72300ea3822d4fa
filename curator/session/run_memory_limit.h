// Caps on the machine's memory that the open runs of one identity, and all runs
// together, may take. Sizes are functions of the request and of public facts,
// so no refusal depends on V, nor on how many people there are under
// add_remove_one.
#ifndef DPNMF_CURATOR_SESSION_RUN_MEMORY_LIMIT_H_
#define DPNMF_CURATOR_SESSION_RUN_MEMORY_LIMIT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/privacy/run_plan.h"
#include "common/threads/mutex.h"
#include "curator/data/dataset.h"

namespace dpnmf::curator {

// The processes of `serve --ranks`. None: the curator computes all rounds.
struct RankProcesses {
  int ranks = 0;
  int threads = 1;  // of each
  // The data set is in parts (Dataset::in_parts).
  bool in_parts = false;
};

// Bytes that a run may hold at once, at most (up to what the allocator rounds
// sizes up by): H for as many users as there may be, W, and what its largest
// stage needs to compute and to release a round. If ranks compute a round, each
// of them holds H for as many users as its share has room for (UsersOfShare),
// and its own W, command, sums and buffers. The result counts those of all
// ranks, and the command and answer at the curator.
std::uint64_t MemoryOfRun(const RunPlan& plan, const RunParameters& parameters,
                          const DatasetDescription& data, int threads,
                          const RankProcesses& processes = {});

// A quarter of what the machine, or the container (cgroup v2), has.
std::uint64_t DefaultRunMemoryLimit();

// Thread-safe.
class RunMemoryLimit {
 public:
  // Bytes for the runs of one identity; all together may take twice as many.
  explicit RunMemoryLimit(std::uint64_t bytes_an_identity)
      : limit_(bytes_an_identity) {}

  // Bytes of one open run; given back when destroyed. The RunMemoryLimit must
  // outlive it.
  class Lease {
   public:
    Lease() = default;
    ~Lease();
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;

   private:
    friend class RunMemoryLimit;
    RunMemoryLimit* memory_ = nullptr;
    std::string identity_;
    std::uint64_t bytes_ = 0;
  };
  // FAILED_PRECONDITION "run-too-large" if no run of this size may be;
  // UNAVAILABLE "too-much-memory" until other runs have ended.
  absl::StatusOr<Lease> Take(const std::string& identity, std::uint64_t bytes);

 private:
  void GiveBack(const std::string& identity, std::uint64_t bytes);

  const std::uint64_t limit_;
  Mutex mutex_;
  std::uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::uint64_t> by_identity_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SESSION_RUN_MEMORY_LIMIT_H_
