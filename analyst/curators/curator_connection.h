// The curator as the analyst sees it. No transport in here: the real one is
// curator_client.h, tests use one in memory.
//
// Errors carry a reason code (common/base/error.h). UNAVAILABLE means that the
// curator cannot be reached now and is worth trying again; a refusal is not.
#ifndef DPNMF_ANALYST_CURATORS_CURATOR_CONNECTION_H_
#define DPNMF_ANALYST_CURATORS_CURATOR_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/base/trace.h"
#include "common/federation/offer.h"
#include "common/nmf/noised_matrix.h"
#include "common/nmf/round_input.h"
#include "common/privacy/mu_squared.h"
#include "dpnmf/v1/curator.pb.h"

namespace dpnmf::analyst {

struct OpenedRun {
  v1::RunPlan plan;
  std::uint32_t next_round = 1;  // first round that has not been charged
  std::uint64_t users = 0;       // N or N0: sums are divided by it
  v1::LedgerPosition ledger;
  std::string receipt_key;  // as announced: nothing vouches for it yet
  // Set by a federation, which has checked all keys against the pinned keys.
  bool keys_checked = false;
};

struct RoundResult {
  std::vector<NoisedMatrix> parts;  // empty if lost
  bool lost = false;                // charged, and the bytes are gone for good
  MuSquared cost;
  std::string row_hash;  // 32 bytes: SHA-256 of the row that paid
  v1::LedgerPosition ledger;
  // Receipt as it came: see receipt_check.h.
  std::optional<v1::Receipt> receipt;
  // Set by a federation, which has checked all receipts and their releases
  // before it added the releases up; other_receipts: those of the other
  // curators.
  bool receipts_checked = false;
  std::vector<v1::Receipt> other_receipts = {};
};

struct ClosedRun {
  MuSquared returned;
  v1::LedgerPosition ledger;
};

// One stream: Open once, then Round any number of times, then Close. After an
// error the stream is of no further use. One thread at a time; Cancel may be
// called from any thread.
class RunStream {
 public:
  virtual ~RunStream() = default;
  // The request under which both sides write this stream down.
  virtual std::optional<Trace> trace() const { return std::nullopt; }
  virtual absl::StatusOr<OpenedRun> Open(
      const std::string& run_id, const v1::RunParameters& parameters) = 0;
  // The same round with the same input gives the same result at no cost.
  virtual absl::StatusOr<RoundResult> Round(std::uint32_t round,
                                            const RoundInput& input) = 0;
  // A round of a federation with one of its curators: its offer, then its
  // masked release for the offers of all. UNIMPLEMENTED "federation-unknown" by
  // streams that know of none.
  virtual absl::StatusOr<FederationOffer> Offer(std::uint32_t round,
                                                const RoundInput& input);
  virtual absl::StatusOr<RoundResult> Contribute(
      std::uint32_t round, const std::vector<FederationOffer>& offers);
  virtual absl::StatusOr<ClosedRun> Close() = 0;
  // Makes a call under way, and every later one, fail with CANCELLED.
  virtual void Cancel() = 0;
};

// Thread-safe.
class CuratorConnection {
 public:
  virtual ~CuratorConnection() = default;
  virtual absl::StatusOr<v1::ListDatasetsReply> ListDatasets() = 0;
  // A page of the declared items of a data set, as it came.
  virtual absl::StatusOr<v1::ListItemsReply> ListItems(
      const std::string& dataset, std::uint64_t first) = 0;
  virtual absl::StatusOr<v1::GetLedgerReply> GetLedger(
      const std::string& dataset, std::uint64_t after_sequence) = 0;
  virtual std::unique_ptr<RunStream> NewStream() = 0;
  // For a run on this data set.
  virtual std::unique_ptr<RunStream> NewStreamFor(
      const std::string& /*dataset*/) {
    return NewStream();
  }
  // Ledgers of the curators of a federation, by name; none for another data
  // set.
  virtual absl::StatusOr<std::vector<v1::MemberBudget>> MemberBudgets(
      const std::string& /*dataset*/) {
    return std::vector<v1::MemberBudget>();
  }
};

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_CURATORS_CURATOR_CONNECTION_H_
