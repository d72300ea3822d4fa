// The only door through which numbers leave the curator.
//
//   statistic computed (by the caller) -> ledger row appended and synced ->
//   fresh key, noise drawn -> release stored, file and directory synced ->
//   bytes read back from the store.
//
// At most one draw a row, ever. A charged row whose bytes are missing is dead:
// never drawn again, never refunded.
#ifndef DPNMF_CURATOR_GATE_RELEASE_GATE_H_
#define DPNMF_CURATOR_GATE_RELEASE_GATE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/nmf/noised_matrix.h"
#include "common/privacy/noise_shares.h"
#include "common/privacy/run_plan.h"
#include "common/threads/mutex.h"
#include "curator/gate/release_store.h"
#include "curator/ledger/ledger.h"
#include "curator/mechanism/round_sums.h"

namespace dpnmf::curator {

// A value that has passed the gate. Only ReleaseGate makes one, and only
// Released values and public types have a wire codec.
template <typename T>
class Released {
 public:
  const T& value() const { return value_; }

 private:
  friend class ReleaseGate;
  explicit Released(T value) : value_(std::move(value)) {}
  T value_;
};

struct ReleasedRound {
  std::uint32_t round = 0;
  std::vector<NoisedMatrix> parts;  // empty and lost = true: the row is dead
  bool lost = false;
  MuSquared cost;
  std::uint64_t row = 0;  // its number in the ledger
  Digest row_hash{};
};

struct RoundRequest {
  std::string identity;
  std::string run_id;
  std::uint32_t round = 0;
  Digest request_hash{};
  std::vector<PartPlan> parts;  // of the round's stage in the run's plan
  Adjacency adjacency = Adjacency::kReplaceOne;
  // In a federation: who else draws noise for the same sum. The price follows
  // from it (PricedParts). {1, 1}: nobody else.
  NoiseShares shares = {};
};

// Release of a round that was charged, and the hash of the request that it was
// charged for.
struct RequestedRound {
  Digest request_hash{};
  Released<ReleasedRound> released;
};

// Thread-safe.
class ReleaseGate {
 public:
  // Releases lie in `store_directory` (created if missing), one file a row,
  // named by the row's hash. `threads` draw the noise. The ledger must outlive
  // the gate.
  static absl::StatusOr<std::unique_ptr<ReleaseGate>> Create(
      Ledger* ledger, const std::string& store_directory, int threads);

  // Returns the earlier release for exactly this request: its bytes, or lost,
  // or nullopt if the round has not been charged. Errors as Ledger::FindCharge;
  // DATA_LOSS "release-damaged" counts as lost.
  absl::StatusOr<std::optional<Released<ReleasedRound>>> Find(
      const RoundRequest& request);

  // The same for whatever request the round was charged for.
  absl::StatusOr<std::optional<RequestedRound>> Find(
      const std::string& identity, const std::string& run_id,
      std::uint32_t round);
  // The round as one whose bytes are lost: nothing of them leaves.
  static Released<ReleasedRound> WithoutBytes(
      const Released<ReleasedRound>& released);

  // Charges, draws, stores and reads back. The price is computed here, from the
  // sigmas that are drawn (CostOfDrawing). If the round was charged before, the
  // same as Find. Errors as Ledger::ChargeRound; UNAVAILABLE "storage-failed"
  // (a full disk shows before the charge where it can); INTERNAL
  // "sums-malformed" if the sums do not fit the plan. `post_process` must not
  // throw.
  absl::StatusOr<Released<ReleasedRound>> Release(
      const RoundRequest& request, const RoundSums& sums,
      const PostProcess& post_process);

 private:
  // Noise of one round's parts, in steps: as many values as the part has
  // entries, in its order.
  using DrawNoise = std::function<std::vector<std::vector<std::int64_t>>(
      const std::vector<PartPlan>& parts, int threads)>;
  friend struct ReleaseGateForTesting;  // defined in tests/ alone

  static absl::StatusOr<std::unique_ptr<ReleaseGate>> CreateWith(
      Ledger* ledger, const std::string& store_directory, int threads,
      DrawNoise draw_noise);
  ReleaseGate(Ledger* ledger, ReleaseStore store, int threads,
              DrawNoise draw_noise);

  absl::StatusOr<Released<ReleasedRound>> Stored(std::uint32_t round,
                                                 const ChargedRow& row) const;
  absl::StatusOr<Released<ReleasedRound>> DrawAndStore(
      const RoundRequest& request, const RoundSums& sums,
      const PostProcess& post_process, const ChargedRow& row,
      ReservedRelease reserved) const;

  // One caller at a time for one round of a run. Otherwise a second caller
  // could see a row whose release is not stored yet, and take it for lost.
  using Turn = std::pair<std::string, std::uint32_t>;
  void BeginTurn(const Turn& turn);
  void EndTurn(const Turn& turn);
  class TurnHolder;

  Ledger* const ledger_;
  const ReleaseStore store_;
  const int threads_;
  const DrawNoise draw_noise_;
  Mutex mutex_;
  std::condition_variable_any turn_ended_;
  std::set<Turn> turns_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_GATE_RELEASE_GATE_H_
