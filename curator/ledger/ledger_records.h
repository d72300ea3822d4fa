// Records that the ledger takes, stores and returns.
#ifndef DPNMF_CURATOR_LEDGER_LEDGER_RECORDS_H_
#define DPNMF_CURATOR_LEDGER_LEDGER_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
                                        const std::string& dataset) const {
    const auto found = files_of.find({population, dataset});
    if (found == files_of.end()) return std::nullopt;
    return found->second;
  }
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

struct LedgerSettings {
  std::string directory;         // holds ledger.sqlite; created if missing
  std::string anchor_directory;  // holds anchor.json; empty: no anchor
  std::function<std::int64_t()> unix_seconds;  // default: the system's clock
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_LEDGER_RECORDS_H_
