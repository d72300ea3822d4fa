// Checks of an import against the ledger and the operator's flags: whether the
// data may have this name, this partition and this delta, and whether their
// people were published without privacy.
//
// Thread rule: for one thread. Errors carry the codes named
// (docs/reference/errors.md).
#ifndef DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_CHECKS_H_
#define DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_CHECKS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/commands/import/import_flags.h"
#include "curator/import/import.h"
#include "curator/ledger/ledger.h"
#include "curator/ledger/ledger_row.h"

namespace dpnmf::curator {

// "operator at import, uid 1000": in rows and audit records.
std::string ByOperator();

// The rows of the ledger as they are now; none if there is no ledger.
absl::StatusOr<std::vector<LedgerRow>> LedgerRowsAt(
    const Ledger::Options& ledger_paths);

bool IsDeclared(const std::vector<LedgerRow>& rows,
                const std::string& population);

// ---- Partitions of the population's people

// INVALID_ARGUMENT "partition-missing" if one of --disjoint-people-by and
// --partition is given without the other.
absl::Status CheckPartitionFlags(const ImportOptions& options);

// Options for the checks before the ledger is read: if no names of partitions
// are given, the population's apply, and options of partitions are left out.
ImportOptions WithoutPartitions(ImportOptions options);

// Partitions are declared once, with the cap: later imports need not repeat
// their names, and data that name none belong to a population that has them.
// INVALID_ARGUMENT "partitions-missing", FAILED_PRECONDITION
// "population-differs".
absl::Status AdoptPartitions(const std::vector<LedgerRow>& rows,
                             ImportOptions* options);

// The data sets that the ledger has in other partitions. One whose directory is
// away may come back, so its people must be known as well.
std::vector<PeopleElsewhere> InOtherPartitions(
    const std::vector<LedgerRow>& rows, const ImportOptions& options);

// FAILED_PRECONDITION "dataset-used". What was released under a name stays tied
// to those people: whoever comes later under the same name would have what they
// have spent, and they would be forgotten.
absl::Status CheckNameIsUnused(const std::vector<LedgerRow>& rows,
                               const std::string& name);

// FAILED_PRECONDITION "dataset-used", "partition-differs". A name that an
// import was killed with keeps its partition. Nor may another population take
// it: that population could import nobody any more until the people of that
// name are there (people-missing), and they never could be.
absl::Status CheckPartitionOfName(const std::vector<LedgerRow>& rows,
                                  const ImportOptions& options);

// ---- The promise

using Note = std::function<void(const std::string& sentence)>;

// INVALID_ARGUMENT "delta-weak": a delta of 1/N or more would allow that one of
// N people's data are published as they are. A population's delta is fixed by
// its first import. --weak-delta makes it a note.
absl::Status CheckDelta(const DatasetDescription& description, bool weak_delta,
                        const Note& note);

// The delta that was good for the first month may not be for a year: a note.
absl::Status NoteGrowth(const ImportOptions& options,
                        const DatasetDescription& description,
                        const Note& note);

// ---- People of tables that were published without privacy

// FAILED_PRECONDITION "people-published" unless a flag accepts it: ids do not
// coincide by chance, so --accept-overlap is for rows alone.
absl::Status CheckAllowed(const ImportFlags& flags, std::uint64_t ids,
                          std::uint64_t rows);

// Nobody knows who is in a table whose record is lost: errors of CheckRecords.
absl::Status CheckRecordsOf(const std::vector<LedgerRow>& rows,
                            const std::string& data_dir);

// INVALID_ARGUMENT "flag-unused": a flag that accepts tables, and no table.
absl::Status CheckFlagsUsed(const ImportFlags& flags,
                            const std::vector<Digest>& tables);

// The operator's word is written down, in the audit and the ledger, before it
// counts.
absl::Status RecordTables(const ImportFlags& flags,
                          const DatasetDescription& dataset,
                          const std::vector<Digest>& tables, Ledger* ledger);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_COMMANDS_IMPORT_IMPORT_CHECKS_H_
