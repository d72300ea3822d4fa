#include "curator/session/run_memory_limit.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/machine_memory.h"
#include "common/nmf/noised_matrix.h"
#include "curator/mechanism/mechanism.h"
#include "curator/ranks/rank_job.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMebibyte = 1024 * 1024;
// Copies of a round's sums while it is released, at most: the sums, the noise,
// what is published of the noised sums, its bytes (to store, then read back)
// and the release.
constexpr unsigned kCopiesOfARelease = 5;

std::uint64_t Bounded(Uint128 bytes) {
  return static_cast<std::uint64_t>(std::min<Uint128>(bytes, kMost));
}

// H of all ranks: each has room for its share (Dataset::OpenShare).
Uint128 CoefficientsOfRanks(const ReleaseKind& kind,
                            const RunParameters& parameters,
                            const DatasetDescription& data,
                            const RankProcesses& processes) {
  const auto ranks = static_cast<unsigned>(processes.ranks);
  DatasetDescription share = data;
  share.users = UsersOfShare(data, processes.in_parts, ranks);
  return kind.memory(parameters, share, 1).coefficients * ranks;
}

// Bytes besides H that the processes of a job hold at once for a round that
// they compute, and that the curator holds for them. The command and the room
// for what another rank sends are kept from round to round; a buffer that grows
// may take twice its content.
Uint128 BytesOfRanks(const RunParameters& parameters,
                     const DatasetDescription& data, Uint128 entries,
                     Uint128 computing, int ranks) {
  const Uint128 request =
      8 * (Uint128{data.features} * parameters.rank + parameters.moment_rows);
  // The command, what it says; words, room and answer; what is beside.
  const Uint128 of_a_rank =
      computing + 3 * request + 4 * 8 * entries + 64 * 1024;
  // The request, the command; the answer and its sums.
  const Uint128 of_the_curator = 4 * request + 2 * 8 * entries;
  return of_a_rank * static_cast<unsigned>(ranks) + of_the_curator;
}

std::string Mebibytes(std::uint64_t bytes) {
  return absl::StrCat(bytes / kMebibyte + (bytes % kMebibyte != 0), " MiB");
}

}  // namespace

std::uint64_t MemoryOfRun(const RunPlan& plan, const RunParameters& parameters,
                          const DatasetDescription& data, int threads,
                          const RankProcesses& processes) {
  Uint128 coefficients = 0, of_a_stage = 0;
  Uint128 entries_of_ranks = 0, computing_of_ranks = 0;
  bool ranks_compute = false;
  for (const StagePlan& stage : plan.stages) {
    Uint128 entries = 0;
    for (const PartPlan& part : stage.parts)
      entries += EntryCount(part.rows, part.columns, part.symmetric);
    const ReleaseKind& kind = ReleaseKindOf(stage.release);
    const RoundMemory memory =
        kind.memory(parameters, data, std::max(1, threads));
    if (processes.ranks == 0 || !RankJob::Computes(kind, data)) {
      coefficients = std::max(coefficients, memory.coefficients);
    } else {
      ranks_compute = true;
      coefficients = std::max(
          coefficients, CoefficientsOfRanks(kind, parameters, data, processes));
      const RoundMemory of_a_rank =
          kind.memory(parameters, data, std::max(1, processes.threads));
      computing_of_ranks = std::max(computing_of_ranks, of_a_rank.computing);
      entries_of_ranks = std::max(entries_of_ranks, entries);
    }
    of_a_stage = std::max(
        {of_a_stage, memory.computing, kCopiesOfARelease * 8 * entries});
  }
  const Uint128 dictionary = Uint128{16} * data.features * parameters.rank;
  if (!ranks_compute) return Bounded(coefficients + dictionary + of_a_stage);
  return Bounded(coefficients + dictionary + of_a_stage +
                 BytesOfRanks(parameters, data, entries_of_ranks,
                              computing_of_ranks, processes.ranks));
}

std::uint64_t DefaultRunMemoryLimit() { return MachineMemory() / 4; }

RunMemoryLimit::Lease::~Lease() {
  if (memory_ != nullptr) memory_->GiveBack(identity_, bytes_);
}

RunMemoryLimit::Lease::Lease(Lease&& other) noexcept {
  *this = std::move(other);
}

RunMemoryLimit::Lease& RunMemoryLimit::Lease::operator=(
    Lease&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(identity_, other.identity_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

absl::StatusOr<RunMemoryLimit::Lease> RunMemoryLimit::Take(
    const std::string& identity, std::uint64_t bytes) {
  if (bytes > limit_) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "run-too-large",
        absl::StrCat("The run needs ", Mebibytes(bytes),
                     " of the curator's memory, and an identity may take ",
                     Mebibytes(limit_),
                     ": ask for a lower rank, or the operator for a larger "
                     "--run-memory."));
  }
  MutexLock lock(&mutex_);
  const auto found = by_identity_.find(identity);
  const std::uint64_t own = found == by_identity_.end() ? 0 : found->second;
  if (bytes > limit_ - own || (bytes + taken_) / 2 > limit_) {
    return Refusal(
        absl::StatusCode::kUnavailable, "too-much-memory",
        absl::StrCat("The open runs leave less than ", Mebibytes(bytes),
                     " of the curator's memory: wait until one has ended."));
  }
  taken_ += bytes;
  by_identity_[identity] = own + bytes;
  Lease lease;
  lease.memory_ = this;
  lease.identity_ = identity;
  lease.bytes_ = bytes;
  return lease;
}

void RunMemoryLimit::GiveBack(const std::string& identity,
                              std::uint64_t bytes) {
  MutexLock lock(&mutex_);
  taken_ -= bytes;
  const auto found = by_identity_.find(identity);
  found->second -= bytes;
  if (found->second == 0) by_identity_.erase(found);
}

}  // namespace dpnmf::curator
