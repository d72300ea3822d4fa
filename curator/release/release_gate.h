// The only door through which numbers leave the curator.
//
//   statistic computed (by the caller) -> ledger row appended and synced ->
//   fresh key, noise drawn -> release stored, file and directory synced ->
//   bytes read back from the store.
//
// At most one draw a row, ever. A charged row whose bytes are missing is dead:
// never drawn again, never refunded.
#ifndef DPNMF_CURATOR_RELEASE_RELEASE_GATE_H_
#define DPNMF_CURATOR_RELEASE_RELEASE_GATE_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/nmf/noised_matrix.h"
#include "common/privacy/run_plan.h"
#include "curator/factor/statistics.h"
#include "curator/release/ledger.h"

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
  Digest row_hash{};
};

// Turns the noised sums A and B into what is published: a function of noised
// values and the request alone (identity for `statistics`, W A - B for
// `gradient`).
using PostProcess =
    std::function<std::vector<NoisedMatrix>(std::vector<NoisedMatrix> noised)>;

struct RoundRequest {
  std::string identity;
  std::string run_id;
  std::uint32_t round = 0;
  Digest request_hash{};
  std::vector<PartPlan> parts;  // of the run's plan: A, then B
  Adjacency adjacency = Adjacency::kReplaceOne;
};

// Thread-safe.
class ReleaseGate {
 public:
  // Releases lie in `store_directory` (created if missing), one file a row,
  // named by the row's hash. `threads` draw the noise. The ledger must outlive
  // the gate.
  static absl::StatusOr<std::unique_ptr<ReleaseGate>> Create(
      Ledger* ledger, std::string store_directory, int threads);

  // What was released before for this very request: its bytes, or lost, or
  // nothing if the round has not been charged. Errors as Ledger::FindCharge;
  // DATA_LOSS "release-damaged" counts as lost.
  absl::StatusOr<std::optional<Released<ReleasedRound>>> Find(const RoundRequest& request);

  // Charges, draws, stores and reads back. The price is computed here, from the
  // sigmas that are drawn (CostOfDrawing). If the round was charged before, the
  // same as Find. Errors as Ledger::ChargeRound; UNAVAILABLE "storage-failed".
  absl::StatusOr<Released<ReleasedRound>> Release(const RoundRequest& request,
                                                  const ExactSums& sums,
                                                  const PostProcess& post_process);

 private:
  ReleaseGate(Ledger* ledger, std::string store_directory, int threads);
  Ledger* const ledger_;
  const std::string store_directory_;
  const int threads_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_RELEASE_RELEASE_GATE_H_
