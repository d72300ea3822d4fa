// The SQLite table that holds the ledger's rows. Knows nothing of their rules.
//
// WAL, synchronous=FULL; one STRICT table; PRAGMA user_version is the version
// of the schema, 1: a program that does not know the version refuses the
// ledger. Triggers refuse UPDATE and DELETE, against accidents.
#ifndef DPNMF_CURATOR_LEDGER_LEDGER_TABLE_H_
#define DPNMF_CURATOR_LEDGER_LEDGER_TABLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "SQLiteCpp/SQLiteCpp.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "curator/ledger/ledger_records.h"

namespace dpnmf::curator {

// How a write ended. If it is not known whether the row is on disk, nothing may
// be written after it: the table must be opened and read again.
struct WriteOutcome {
  absl::Status status;
  bool known = true;
};

// Not thread-safe. Errors: DATA_LOSS "ledger-damaged" for what a healthy disk
// with an untouched file cannot show, UNAVAILABLE "storage-failed" for the
// rest.
class LedgerTable {
 public:
  // Creates the file if missing; the directory must exist. What is read
  // afterwards is durable.
  static absl::StatusOr<LedgerTable> OpenForWriting(
      const std::string& directory);
  // NOT_FOUND "ledger-missing".
  static absl::StatusOr<LedgerTable> OpenForReading(
      const std::string& directory);

  // True before CreateWith: a file without tables. FAILED_PRECONDITION
  // "ledger-newer".
  absl::StatusOr<bool> IsNew();
  // The schema and the first row, in one transaction.
  WriteOutcome CreateWith(const LedgerRow& first);
  // Durable if the status is OK.
  WriteOutcome Append(const LedgerRow& row);

  // Checks the file's structure and visits all rows of one snapshot in the
  // order of their numbers. Stops at the first status that is not OK and
  // returns it.
  absl::Status ForEachRow(
      const std::function<absl::Status(const LedgerRow&)>& visit);
  // DATA_LOSS if there is no such row.
  absl::StatusOr<LedgerRow> Read(std::uint64_t sequence);

 private:
  explicit LedgerTable(std::unique_ptr<SQLite::Database> database)
      : database_(std::move(database)) {}
  absl::Status CheckStructure();
  WriteOutcome WriteInTransaction(const std::function<void()>& write);
  void Insert(const LedgerRow& row);

  std::unique_ptr<SQLite::Database> database_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_LEDGER_TABLE_H_
