// The ledger of record: what was promised, reserved and charged, in order.
//
// An append-only table of rows in SQLite (WAL, synchronous=FULL), each with the
// SHA-256 of the row before it. Every other number (charged, reserved, left,
// the open runs) is derived from the rows, at start and again in memory as rows
// are added. After each commit the anchor (row count, head) is written and
// synced on a second path; a ledger that is behind or beside its anchor is not
// served, and appends nothing once the anchor is no longer where it left it.
//
// In every committed state, per population: charged + open reservations <= cap.
// A population whose people are partitioned (docs/reference/growing.md) has one
// account for each partition: a run on a data set that is in a partition is
// booked to its account alone, any other run to all of them, and the rule holds
// for each account.
#ifndef DPNMF_CURATOR_LEDGER_LEDGER_H_
#define DPNMF_CURATOR_LEDGER_LEDGER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/privacy/mu_squared.h"
#include "curator/ledger/ledger_records.h"

namespace dpnmf::curator {

// Thread-safe; every method is one serialised transaction. After a commit whose
// outcome is unknown, or after which the anchor could not be replaced, every
// later call that returns a status is UNAVAILABLE "storage-failed" until the
// ledger is opened again. One process at a time holds a ledger, and one ledger
// an anchor (lock files): a second Open is refused. What appends a row also
// gives DATA_LOSS "ledger-behind-anchor" if the anchor was moved or taken away
// since, as by a copy of the ledger that is served elsewhere.
class Ledger {
 public:
  using Options = LedgerSettings;

  // Opens, verifies every row and the anchor. A new ledger starts with a
  // genesis row. FAILED_PRECONDITION "data-dir-in-use" (a second process),
  // DATA_LOSS "ledger-damaged" (the sentence names the first bad row),
  // DATA_LOSS "ledger-behind-anchor" (rolled back, forked, or the anchor is
  // lost, unreadable or of another ledger), FAILED_PRECONDITION "ledger-newer"
  // (written by a newer program), INVALID_ARGUMENT "anchor-directory-invalid"
  // (the ledger's own directory), UNAVAILABLE "storage-failed".
  static absl::StatusOr<std::unique_ptr<Ledger>> Open(Options options);

  // Verifies without changing anything (also while a server runs): what Open
  // would say, and the number of rows and the head (the rest is 0). NOT_FOUND
  // "ledger-missing" if there is none yet.
  static absl::StatusOr<Position> Verify(const Options& options);
  // The same, with all that was read.
  static absl::StatusOr<LedgerAudit> Audit(const Options& options);
  // All rows of a ledger on disk, read-only.
  static absl::StatusOr<std::vector<LedgerRow>> ReadRows(
      const Options& options);
  // The operator's explicit act after the anchor was lost (no anchor file, or
  // an unreadable one): verifies every row and anchors the ledger as it stands.
  // It appends nothing. An anchor that the ledger contradicts is never
  // overruled: DATA_LOSS "ledger-behind-anchor". Otherwise errors as Open;
  // FAILED_PRECONDITION "anchor-present" if there is nothing to accept.
  static absl::StatusOr<AcceptedAnchor> AcceptAnchor(const Options& options);

  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Appends the policy with its cap (LargestCost). The same policy again is OK
  // and appends nothing; another one is FAILED_PRECONDITION
  // "population-differs".
  absl::Status DeclarePopulation(const PopulationPolicy& policy);
  absl::StatusOr<PopulationPolicy> Policy(const std::string& population) const;

  // Appends that all people of the data set are in the partition, and who they
  // are; on return it is durable, anchor included: only now may the data set be
  // served. The same again is OK and appends nothing; other people, or another
  // partition, take the place of what was said before. NOT_FOUND
  // "population-unknown"; INVALID_ARGUMENT "partition-unknown" (the population
  // has no such partition); FAILED_PRECONDITION "dataset-used" (a run was
  // opened on a data set of that name, so its people can no longer change).
  absl::Status AssignPartition(const std::string& population,
                               const std::string& dataset,
                               const AssignedPartition& assigned);
  // Empty: none was assigned, and runs are booked to all partitions. NOT_FOUND
  // "population-unknown".
  absl::StatusOr<AssignedPartition> PartitionOf(
      const std::string& population, const std::string& dataset) const;

  // Appends that the files of the data set have these digests; on return it is
  // durable, anchor included: only now may the data set be served. The same
  // again is OK and appends nothing; others take the place of what was said
  // before. NOT_FOUND "population-unknown"; FAILED_PRECONDITION "dataset-used"
  // (a run was opened on a data set of that name, and `files` differs).
  absl::Status BindDataset(const std::string& population,
                           const std::string& dataset,
                           const DatasetDigests& digests);
  // Returns nothing if the ledger has no digests of it. NOT_FOUND
  // "population-unknown".
  absl::StatusOr<std::optional<DatasetDigests>> FilesOf(
      const std::string& population, const std::string& dataset) const;

  // Reserves the cost of all rounds, or goes on with the same run.
  // RESOURCE_EXHAUSTED "budget-exhausted" (OverBudgetSentence of
  // common/privacy/budget.h, in the policy's conversion and delta),
  // "identity-budget-exhausted", "too-many-uncharged-runs"; ALREADY_EXISTS
  // "run-differs" (same id, other request or other identity);
  // FAILED_PRECONDITION "run-closed"; NOT_FOUND "population-unknown".
  absl::StatusOr<OpenedRun> OpenRun(const RunOpening& opening);

  // The charge of a round whose statistic is computed and whose noise is not
  // drawn yet. On return it is durable, anchor included. Rounds are charged in
  // order. The same request again: is_new = false, with the cost paid then,
  // also after the run was closed. FAILED_PRECONDITION "round-differs" (charged
  // before for another request), "round-out-of-order", "run-closed"; NOT_FOUND
  // "run-unknown"; INTERNAL "charge-over-reservation".
  absl::StatusOr<ChargedRow> ChargeRound(const Charge& charge);

  // The row that paid for (run, round), if the request is the same; errors as
  // ChargeRound. Nothing is charged.
  absl::StatusOr<std::optional<ChargedRow>> FindCharge(
      const Charge& charge) const;

  // The charge of a round, whatever request it was made for; nothing if the
  // round is not charged. NOT_FOUND "run-unknown".
  absl::StatusOr<std::optional<RequestedCharge>> FindCharge(
      const std::string& identity, const std::string& run_id,
      std::uint32_t round) const;

  // Returns the unspent reservation and closes the run, in one transaction.
  // Closing a closed run is OK and returns what was returned then.
  absl::StatusOr<MuSquared> CloseRun(const std::string& identity,
                                     const std::string& run_id);

  // Appends a kVoid, respectively kOverlap, row. On return it is durable,
  // anchor included: only now may the table exist. The same publication again
  // is OK and appends nothing; another one of the same population is another
  // row. NOT_FOUND "population-unknown"; INVALID_ARGUMENT "approver-malformed".
  absl::Status VoidGuarantee(const TablePublication& publication);
  absl::Status AcceptOverlap(const TablePublication& publication);

  absl::StatusOr<Position> PositionOf(const std::string& population) const;
  absl::StatusOr<IdentityPosition> PositionOf(
      const std::string& population, const std::string& identity) const;
  // The position of the account that a run on the data set is booked to. If it
  // is booked to all accounts: the largest amounts over them. The same for one
  // identity, whose `charge_count` counts its charges in all accounts.
  absl::StatusOr<Position> PositionFor(const std::string& population,
                                       const std::string& dataset) const;
  absl::StatusOr<IdentityPosition> PositionFor(
      const std::string& population, const std::string& dataset,
      const std::string& identity) const;
  // 32 hexadecimal digits, drawn when the ledger was made.
  const std::string& id() const;
  // When the guarantee of the population became void, if that was before the
  // row with that number. The same at every call.
  std::optional<std::int64_t> VoidBefore(const std::string& population,
                                         std::uint64_t sequence) const;
  // The row that made the guarantee of the population void, if it is. NOT_FOUND
  // "population-unknown"; DATA_LOSS "ledger-damaged".
  absl::StatusOr<std::optional<LedgerRow>> VoidRowOf(
      const std::string& population) const;
  // In order of declaration.
  std::vector<std::string> Populations() const;
  // A row that there is. DATA_LOSS "ledger-damaged" if it cannot be read back.
  absl::StatusOr<LedgerRow> RowAt(std::uint64_t sequence) const;
  // Charges of one identity on a population with a sequence above `after`.
  absl::StatusOr<std::vector<LedgerRow>> ChargesOf(
      const std::string& population, const std::string& identity,
      std::uint64_t after, std::size_t limit) const;

 private:
  struct State;
  explicit Ledger(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_LEDGER_H_
