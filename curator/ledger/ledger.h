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
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/crypto/sha256.h"
#include "common/privacy/accounting.h"
#include "common/privacy/budget.h"
#include "common/privacy/mu_squared.h"
#include "common/privacy/people_partitions.h"
#include "curator/data/file_digests.h"

namespace dpnmf::curator {

// Promise of the operator for a population, fixed before the first release.
struct PopulationPolicy {
  std::string population;
  Adjacency adjacency = Adjacency::kReplaceOne;
  Conversion conversion = Conversion::kRdp;
  double epsilon = 0;
  double delta = 0;
  // Each has the whole cap. None: all charges add up.
  PeoplePartitions partitions = {};

  friend bool operator==(const PopulationPolicy&,
                         const PopulationPolicy&) = default;
};

enum class RowKind {
  kGenesis,
  kPopulation,
  kOpen,
  kCharge,
  kClose,
  // A table about people of the population leaves the house without privacy:
  // from this row on the population's guarantee does not hold. There is no row
  // that takes it back.
  kVoid,
  // The operator's word that people of a published table, who look like people
  // of the population, are others. The guarantee stands.
  kOverlap,
  // All people of the data set, which is not served yet, are in one partition
  // of the population's. The last such row of a name counts, and none follows
  // once a run was opened on it.
  kPartition,
  // The files of the data set, which is not served yet, have these keyed
  // digests: it is served only while they have them. The last such row of a
  // name counts. Once a run was opened on it, a later row may tell only how its
  // people are recognised.
  kDataset,
};

// One row as stored; fields that a kind does not use are empty or 0.
struct LedgerRow {
  std::uint64_t sequence = 0;  // from 1, no gaps
  RowKind kind = RowKind::kGenesis;
  std::int64_t unix_seconds = 0;
  std::string population;
  std::string identity;  // "dns:..." or "uri:..."
  std::string run_id;
  std::uint32_t round =
      0;  // kOpen: number of rounds. kCharge: the round, from 1
  std::string mechanism;
  std::string dataset;
  // kOpen: hash of the parameters. kCharge: hash of the whole request, W
  // included. kVoid, kOverlap: keyed hash of the label of the table that is
  // published (an unkeyed one would let its figures be guessed). kPartition:
  // the digest of the data set's people (curator/import/people/people.h).
  // kDataset: that of its digests.json (curator/data/file_digests.h).
  Digest request_hash{};
  // kPopulation: the cap. kOpen: the reservation. kCharge: the cost.
  // kClose: what was returned.
  MuSquared cost;
  // kPopulation: the policy, as canonical text. kGenesis: the ledger's random
  // id. kOpen: the identity's cap (units), empty if the operator set none.
  // kVoid, kOverlap: who approved the table. kPartition: the partition.
  // kDataset: the digest of its people.bin, in hexadecimal.
  std::string detail;
  Digest previous_hash{};
  Digest hash{};

  friend bool operator==(const LedgerRow&, const LedgerRow&) = default;
};

// "genesis", "population", "open", "charge", "close", "void", "overlap",
// "partition", "dataset".
std::string_view NameOf(RowKind kind);

// Partition of a data set, and a digest of the keyed fingerprints of its people
// (DigestOfPeople, curator/import/people/people.h). In no partition: empty,
// zeros.
struct AssignedPartition {
  std::string partition;
  Digest people{};

  friend bool operator==(const AssignedPartition&,
                         const AssignedPartition&) = default;
};

// The account of one partition.
struct PartitionPosition {
  std::string name;
  MuSquared charged, reserved, left;
};

// Position of a population: with partitions `charged` is the most that any of
// them has, `left` the least, and charged + reserved + left = cap even so. For
// a data set in a partition: the position of its account.
struct Position {
  MuSquared cap, charged, reserved, left;
  std::uint64_t row_count = 0;
  Digest head{};
  // When the first kVoid row of the population was appended (seconds since
  // 1970): the guarantee has not held since. Not set: it holds.
  std::optional<std::int64_t> void_since = std::nullopt;
  std::string partition = {};  // whose account it is; empty: all
  // All of the population's, in the order of declaration.
  std::vector<PartitionPosition> partitions = {};

  Budget budget() const { return {cap, charged, reserved}; }
};

struct IdentityPosition {
  MuSquared charged, reserved;
  std::uint64_t charge_count = 0;
};

enum class AnchorState {
  kNone,  // no anchor directory was named
  kAgrees,
  kLedgerAhead,  // stopped between commit and anchor; Open moves the anchor
  kFirst,        // no anchor yet, and no row beyond the first; Open writes it
};

// Everything about a ledger on disk.
struct LedgerAudit {
  std::vector<LedgerRow> rows;
  Digest head{};
  AnchorState anchor = AnchorState::kNone;
  std::vector<PopulationPolicy> policies;  // in order of declaration
  std::vector<Position> positions;         // of policies[i]
  // The partitions of data sets, by population and name.
  std::map<std::pair<std::string, std::string>, AssignedPartition> partition_of;
  // The files of data sets, in the same way.
  std::map<std::pair<std::string, std::string>, DatasetDigests> files_of;

  // The same as Ledger::FilesOf.
  std::optional<DatasetDigests> FilesOf(const std::string& population,
                                        const std::string& dataset) const;
};

// Result of AcceptAnchor.
struct AcceptedAnchor {
  std::uint64_t row_count = 0;
  Digest head{};
  bool replaced_unreadable = false;  // else there was none
};

struct RunOpening {
  std::string identity;
  std::string run_id;
  std::string population;
  std::string dataset;
  std::string mechanism;
  Digest parameters_hash{};
  std::uint32_t rounds = 0;
  // Cost to reserve: that of all rounds, which may cost unequally. Above zero.
  MuSquared cost;
  // Cap of this identity's own charges and reservations, if the operator set
  // one.
  std::optional<MuSquared> identity_cap;
  // Limit on the runs of the identity that have no charge, open or closed: this
  // number plus the number of the identity's charges. (Rows stay in the ledger
  // for ever, and a run without a charge costs nothing.)
  std::uint64_t most_uncharged_runs = 1000;
};

struct OpenedRun {
  std::uint32_t next_round = 1;  // first round without a charge
  bool was_open = false;         // the same run had been opened before
};

struct Charge {
  std::string identity;
  std::string run_id;
  std::uint32_t round = 0;
  Digest request_hash{};
  MuSquared cost;
};

// A table about people of a population that is about to be published.
struct TablePublication {
  std::string population;
  Digest label_hash{};   // keyed; not all bytes 0
  std::string approver;  // plain text of 1 to kLongestApprover bytes
};
inline constexpr std::size_t kLongestApprover = 256;

struct ChargedRow {
  std::uint64_t sequence = 0;
  Digest hash{};
  MuSquared cost;
  bool is_new = false;  // false: this very request had been charged before
};

// A charge and the hash of the request that it was made for.
struct RequestedCharge {
  ChargedRow row;
  Digest request_hash{};
};

// Thread-safe; every method is one serialised transaction. After a commit whose
// outcome is unknown, or after which the anchor could not be replaced, every
// later call that returns a status is UNAVAILABLE "storage-failed" until the
// ledger is opened again. One process at a time holds a ledger, and one ledger
// an anchor (lock files): a second Open is refused. What appends a row also
// gives DATA_LOSS "ledger-behind-anchor" if the anchor was moved or taken away
// since, as by a copy of the ledger that is served elsewhere.
class Ledger {
 public:
  struct Options {
    std::string directory;         // holds ledger.sqlite; created if missing
    std::string anchor_directory;  // holds anchor.json; empty: no anchor
    std::function<std::int64_t()> unix_seconds;  // default: the system's clock
  };

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
