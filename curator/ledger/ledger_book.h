// Sums over the rows of a ledger, and the rules for the row that comes next.
//
// The one place that holds the ledger's rules. Opening, verifying and every
// append go through Check and Add, so a row that could not have been appended
// cannot be read back either: it is damage.
#ifndef DPNMF_CURATOR_LEDGER_LEDGER_BOOK_H_
#define DPNMF_CURATOR_LEDGER_LEDGER_BOOK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/crypto/sha256.h"
#include "curator/ledger/ledger_records.h"

namespace dpnmf::curator {

struct BookedCharge {
  std::uint64_t sequence = 0;
  Digest request_hash{};
  Digest hash{};
  MuSquared cost;
};

// One account of a population: of a partition, or of all people where there are
// none.
struct BookedAccount {
  MuSquared charged, reserved;
};

struct BookedRun {
  LedgerRow opening;  // the kOpen row
  // The account that it is booked to; nothing: to all.
  std::optional<std::size_t> account;
  std::vector<BookedCharge> charges;  // of rounds 1, 2, ...
  MuSquared left;                     // of the reservation
  bool closed = false;
  MuSquared returned;  // once closed
};

struct BookedPopulation {
  PopulationPolicy policy;
  MuSquared cap;
  // One for each of policy.partitions, else one.
  std::vector<BookedAccount> accounts;
  struct Partition {
    std::size_t index = 0;  // in policy.partitions
    Digest people{};        // of the data set
  };
  std::map<std::string, Partition> partition_of;   // by data set
  std::map<std::string, DatasetDigests> files_of;  // by data set
  std::set<std::string> datasets_with_runs;
  struct Identity {
    MuSquared charged, reserved;          // of all its runs
    std::vector<BookedAccount> accounts;  // as of the population
    std::vector<std::uint64_t> charges;   // sequences, ascending
    std::uint64_t uncharged_runs = 0;     // open or closed
  };
  std::map<std::string, Identity> identities;
  // The first kVoid row.
  struct Void {
    std::uint64_t sequence = 0;
    std::int64_t unix_seconds = 0;
  };
  std::optional<Void> voided;
  // Kind and label of every kVoid and kOverlap row.
  std::set<std::pair<RowKind, Digest>> publications;

  // The account of the data set's partition; nothing: all.
  std::optional<std::size_t> AccountOf(const std::string& dataset) const;
  // Partition of the data set, as Ledger::PartitionOf.
  AssignedPartition AssignedTo(const std::string& dataset) const;
};

// Budget of one account, or of all: then `charged` is the most of one of them,
// and the amount left of the cap is the least. Without accounts nothing is
// booked.
Budget BudgetOf(MuSquared cap, const std::vector<BookedAccount>& accounts,
                std::optional<std::size_t> account);

// Not thread-safe.
class LedgerBook {
 public:
  // Fills in sequence, previous_hash and hash so that `row` comes next.
  LedgerRow Chained(LedgerRow row) const;

  // Checks whether `row` may come next: chain, form and every rule. Refusals
  // that a caller of the ledger can meet carry its codes (ledger.h); the rest
  // is INTERNAL "ledger-rule".
  absl::Status Check(const LedgerRow& row) const;

  // Books a row that Check has found good.
  void Add(const LedgerRow& row);

  std::uint64_t row_count() const { return row_count_; }
  const Digest& head() const { return head_; }
  const std::string& ledger_id() const { return ledger_id_; }
  // Returns null if unknown.
  const BookedRun* FindRun(const std::string& run_id) const;
  const BookedPopulation* FindPopulation(const std::string& name) const;
  // In order of declaration.
  const std::vector<std::string>& populations() const { return declared_; }

  // The refusal of a run id, respectively a population, that is not known.
  static absl::Status RunUnknown();
  static absl::Status PopulationUnknown(const std::string& name);

 private:
  absl::Status CheckChain(const LedgerRow& row) const;
  absl::Status CheckGenesis(const LedgerRow& row) const;
  absl::Status CheckPopulation(const LedgerRow& row) const;
  absl::Status CheckOpen(const LedgerRow& row) const;
  absl::Status CheckFits(const BookedPopulation& population,
                         const LedgerRow& row) const;
  absl::Status CheckCharge(const LedgerRow& row) const;
  absl::Status CheckClose(const LedgerRow& row) const;
  absl::Status CheckPublication(const LedgerRow& row) const;
  absl::Status CheckPartition(const LedgerRow& row) const;
  absl::Status CheckDataset(const LedgerRow& row) const;
  void AddPopulation(const LedgerRow& row);
  void AddOpen(const LedgerRow& row);
  void AddCharge(const LedgerRow& row);
  void AddClose(const LedgerRow& row);
  void AddPublication(const LedgerRow& row);
  void AddPartition(const LedgerRow& row);
  void AddDataset(const LedgerRow& row);

  std::uint64_t row_count_ = 0;
  Digest head_{};
  std::string ledger_id_;
  std::map<std::string, BookedPopulation> populations_;
  std::vector<std::string> declared_;
  std::map<std::string, BookedRun> runs_;
};

// Position of a population that the book has: spent and left, of one account or
// of all.
Position PositionIn(const LedgerBook& book, const BookedPopulation& population,
                    std::optional<std::size_t> account = std::nullopt);

// The cap on an identity's charges that an opening row carries in its detail.
std::string IdentityCapText(const std::optional<MuSquared>& cap);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_LEDGER_BOOK_H_
