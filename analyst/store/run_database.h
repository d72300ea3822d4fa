// The analyst's database: its tables, and the rows of runs, matrices, events,
// releases, receipts and the mirror. RunStore (run_store.h) makes transactions
// of them; nothing else includes this.
//
// Every function needs the store's lock and an open transaction, throws
// SQLite::Exception for what SQLite refuses (StatusOfSqlite makes a status of
// it), and returns DATA_LOSS "state-damaged" for a row that cannot be read.
#ifndef DPNMF_ANALYST_STORE_RUN_DATABASE_H_
#define DPNMF_ANALYST_STORE_RUN_DATABASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "SQLiteCpp/SQLiteCpp.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analyst/store/run_records.h"

namespace dpnmf::analyst {

// The dictionary's name among a run's matrices; a mechanism's own have a
// prefix.
inline constexpr char kDictionary[] = "W";
inline constexpr char kMemoryPrefix[] = "memory.";

absl::Status StateDamaged(absl::string_view what);

// "state-damaged", "state-dir-in-use", "storage-failed".
absl::Status StatusOfSqlite(const SQLite::Exception& error);

// Checks a database that exists, makes the tables of one that is new.
// FAILED_PRECONDITION "state-newer"; DATA_LOSS "state-damaged" without version;
// UNAVAILABLE "storage-failed" on a file system without a write-ahead log.
absl::Status PrepareDatabase(SQLite::Database* db);

std::string BlobOf(SQLite::Column column);
void BindBlob(SQLite::Statement* statement, int index,
              const std::string& bytes);

// ---- Runs

// NOT_FOUND "run-unknown".
absl::Status RunUnknown();
absl::StatusOr<RunRecord> FindRun(SQLite::Database* db,
                                  const std::string& run_id);
// The latest first.
absl::StatusOr<std::vector<RunRecord>> AllRuns(SQLite::Database* db);

// The parent of a run, or that it was added.
void StoreOrigin(SQLite::Database* db, const v1::Run& run);
// The terms of a run that is fitted to a sum of releases.
void StoreJoined(SQLite::Database* db, const v1::Run& run);
void StoreRequest(SQLite::Database* db, const v1::Run& run,
                  const ClientRequest& request);
// With the next cursor of the run.
void AppendEvent(SQLite::Database* db, const std::string& run_id,
                 v1::RunEvent event);

// ---- Data of a run

void PutMatrix(SQLite::Database* db, const std::string& run_id,
               const std::string& name, const Eigen::MatrixXd& matrix);
// The matrix in columns first, first + 1 (shape) and first + 2 (entries).
absl::StatusOr<Eigen::MatrixXd> MatrixOf(SQLite::Statement* row, int first);
void PutLearner(SQLite::Database* db, const std::string& run_id,
                const LearnerState& state);
// A 1 x 1 matrix of the run's memory.
absl::StatusOr<std::optional<double>> KeptFigure(SQLite::Database* db,
                                                 const std::string& run_id,
                                                 const std::string& name);

void StoreDataset(SQLite::Database* db, const std::string& run_id,
                  const v1::Dataset& dataset);
void StoreItemPage(SQLite::Database* db, const std::string& run_id,
                   const v1::ListItemsReply& page);
// Data set and items of one run for another.
void CopyItems(SQLite::Database* db, const std::string& from,
               const std::string& to);
// After those that are there.
void AppendRelease(SQLite::Database* db, const std::string& run_id,
                   const std::vector<v1::ReleaseReply>& messages);

// ---- The curator's word

// Keeps the longest chain seen: replies of parallel runs may arrive in any
// order.
void RecordChain(SQLite::Database* db, const v1::LedgerPosition& position);
// A guarantee that was given up stays so: all runs of the population say it
// from then on, those too that have ended.
absl::Status MarkRuns(SQLite::Database* db, const std::string& population,
                      std::int64_t void_since);
// Marks the population's runs if a run's reply says that its guarantee is void.
absl::Status SeeVoidOf(SQLite::Database* db, const RunRecord& record,
                       const v1::LedgerPosition& position);
// False if the charge stands already.
bool MirrorCharge(SQLite::Database* db, const std::string& population,
                  const MirroredCharge& charge,
                  const v1::LedgerPosition& position, std::int64_t now);

// One that is there stays.
void PutReceipt(SQLite::Database* db, const v1::Receipt& receipt);
void ReplaceReceipt(SQLite::Database* db, const v1::Receipt& receipt);
absl::StatusOr<std::optional<v1::Receipt>> ReadReceipt(
    SQLite::Database* db, const std::string& ledger, std::int64_t sequence);

// At most one row is the data set's: where the operator's word stands, no other
// key is recorded.
std::optional<std::string> FindReceiptKey(SQLite::Database* db,
                                          const std::string& dataset);
void PutReceiptKey(SQLite::Database* db, const std::string& dataset,
                   const std::string& key, std::int64_t now);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_STORE_RUN_DATABASE_H_
