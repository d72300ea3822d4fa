#include "analyst/store/run_database.h"

#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyst/store/stored_learner.h"
#include "common/base/error.h"
#include "sqlite3.h"

namespace dpnmf::analyst {
namespace {

static_assert(std::endian::native == std::endian::little,
              "matrices are stored as little-endian doubles");

constexpr int kSchemaVersion = 1;

constexpr char kSchema[] = R"sql(
CREATE TABLE runs (
  sequence      INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id        TEXT NOT NULL UNIQUE,
  population    TEXT NOT NULL,
  specification BLOB NOT NULL,  -- dpnmf.v1.RunSpecification
  guarantee     BLOB NOT NULL,  -- dpnmf.v1.Guarantee
  plan          BLOB NOT NULL,  -- dpnmf.v1.RunPlan
  state         INTEGER NOT NULL,
  rounds_done   INTEGER NOT NULL,
  charged       TEXT NOT NULL,  -- mu^2 in units of 2^-60
  error         TEXT NOT NULL,
  error_code    TEXT NOT NULL,
  created       INTEGER NOT NULL,
  updated       INTEGER NOT NULL,
  started_by    TEXT NOT NULL
);
-- W and what the mechanism carries, column-major little-endian doubles. Apart
-- from `runs`, so that a change of state does not rewrite them.
CREATE TABLE matrices (
  run_id  TEXT NOT NULL,
  name    TEXT NOT NULL,
  rows    INTEGER NOT NULL,
  columns INTEGER NOT NULL,
  entries BLOB NOT NULL,
  PRIMARY KEY (run_id, name)
);
CREATE TABLE events (
  run_id TEXT NOT NULL,
  cursor INTEGER NOT NULL,
  event  BLOB NOT NULL,         -- dpnmf.v1.RunEvent
  PRIMARY KEY (run_id, cursor)
) WITHOUT ROWID;
CREATE TABLE mirror (
  run_id       TEXT NOT NULL,
  round        INTEGER NOT NULL,
  population   TEXT NOT NULL,
  cost         TEXT NOT NULL,
  row_hash     BLOB NOT NULL,
  row_count    INTEGER NOT NULL,
  head         BLOB NOT NULL,
  unix_seconds INTEGER NOT NULL,
  PRIMARY KEY (run_id, round)
) WITHOUT ROWID;
CREATE INDEX mirror_by_population ON mirror (population);
-- The chain as the latest reply showed it.
CREATE TABLE chain (
  population TEXT PRIMARY KEY,
  row_count  INTEGER NOT NULL,
  head       BLOB NOT NULL
) WITHOUT ROWID;
-- Which runs were deleted, when and for whom.
CREATE TABLE forgotten (
  run_id       TEXT PRIMARY KEY,
  population   TEXT NOT NULL,
  state        INTEGER NOT NULL,
  forgotten_by TEXT NOT NULL,
  unix_seconds INTEGER NOT NULL
) WITHOUT ROWID;
-- Which key signs the curator's receipts.
CREATE TABLE receipt_keys (
  dataset      TEXT PRIMARY KEY,  -- empty: of all, by the operator's word
  public_key   BLOB NOT NULL,     -- Ed25519, 32 bytes
  unix_seconds INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE receipts (
  ledger_id TEXT NOT NULL,
  sequence  INTEGER NOT NULL,
  dataset   TEXT NOT NULL,
  receipt   BLOB NOT NULL,      -- dpnmf.v1.Receipt
  PRIMARY KEY (ledger_id, sequence)
) WITHOUT ROWID;
-- Runs that are never asked of the curator; what clients asked for; releases as
-- they came.
CREATE TABLE run_origins (
  run_id TEXT PRIMARY KEY,
  parent TEXT NOT NULL,         -- empty: none
  added  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX run_origins_by_parent ON run_origins (parent);
CREATE TABLE run_requests (
  started_by TEXT NOT NULL,
  request    TEXT NOT NULL,
  run_id     TEXT NOT NULL,
  digest     TEXT NOT NULL,
  PRIMARY KEY (started_by, request)
) WITHOUT ROWID;
CREATE TABLE run_releases (
  run_id  TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  message BLOB NOT NULL,        -- dpnmf.v1.ReleaseReply
  PRIMARY KEY (run_id, ordinal)
);
-- Terms of runs that are fitted to a sum of releases.
CREATE TABLE run_joined (
  run_id     TEXT NOT NULL,
  ordinal    INTEGER NOT NULL,
  population TEXT NOT NULL,
  joined     BLOB NOT NULL,     -- dpnmf.v1.JoinedRun
  PRIMARY KEY (run_id, ordinal)
) WITHOUT ROWID;
-- Data sets and items that runs on ratings keep.
CREATE TABLE run_datasets (
  run_id  TEXT PRIMARY KEY,
  dataset BLOB NOT NULL         -- dpnmf.v1.Dataset
) WITHOUT ROWID;
CREATE TABLE run_items (
  run_id TEXT NOT NULL,
  first  INTEGER NOT NULL,
  page   BLOB NOT NULL,         -- dpnmf.v1.ListItemsReply
  PRIMARY KEY (run_id, first)
);
)sql";

}  // namespace

absl::Status StateDamaged(absl::string_view what) {
  return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                 absl::StrCat("The analyst's state is damaged (", what,
                              "); restore the state directory from a backup."));
}

absl::Status StatusOfSqlite(const SQLite::Exception& error) {
  switch (error.getErrorCode()) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return StateDamaged(error.getErrorStr());
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Refusal(
          absl::StatusCode::kFailedPrecondition, "state-dir-in-use",
          "The state directory is in use by another process; stop it or choose "
          "another --state-dir.");
    default:
      return Refusal(
          absl::StatusCode::kUnavailable, "storage-failed",
          absl::StrCat("The analyst cannot use its state directory (",
                       error.what(),
                       "); free disk space or check the device."));
  }
}

absl::Status RunUnknown() {
  return Refusal(absl::StatusCode::kNotFound, "run-unknown",
                 "There is no run with that id; `dpnmf runs` lists them.");
}

std::string BlobOf(SQLite::Column column) {
  const int size = column.getBytes();
  const void* data = column.getBlob();
  return size > 0 ? std::string(static_cast<const char*>(data),
                                static_cast<std::size_t>(size))
                  : std::string();
}

void BindBlob(SQLite::Statement* statement, int index,
              const std::string& bytes) {
  statement->bind(index, bytes.data(), static_cast<int>(bytes.size()));
}

void PutMatrix(SQLite::Database* db, const std::string& run_id,
               const std::string& name, const Eigen::MatrixXd& matrix) {
  SQLite::Statement put(
      *db, "INSERT OR REPLACE INTO matrices VALUES (?, ?, ?, ?, ?)");
  put.bind(1, run_id);
  put.bind(2, name);
  put.bind(3, static_cast<std::int64_t>(matrix.rows()));
  put.bind(4, static_cast<std::int64_t>(matrix.cols()));
  // No entries are an empty blob: a null pointer would be NULL.
  const void* const entries =
      matrix.size() > 0 ? static_cast<const void*>(matrix.data()) : "";
  put.bindNoCopy(5, entries,
                 static_cast<int>(sizeof(double) *
                                  static_cast<std::size_t>(matrix.size())));
  put.exec();
}

void PutLearner(SQLite::Database* db, const std::string& run_id,
                const LearnerState& state) {
  PutMatrix(db, run_id, kDictionary, state.w);
  WriteMatrices(state, [&](const std::string& name, const auto& matrix) {
    PutMatrix(db, run_id, kMemoryPrefix + name, matrix);
  });
}

void StoreDataset(SQLite::Database* db, const std::string& run_id,
                  const v1::Dataset& dataset) {
  SQLite::Statement put(*db,
                        "INSERT OR REPLACE INTO run_datasets VALUES (?, ?)");
  put.bind(1, run_id);
  BindBlob(&put, 2, dataset.SerializeAsString());
  put.exec();
}

void StoreItemPage(SQLite::Database* db, const std::string& run_id,
                   const v1::ListItemsReply& page) {
  SQLite::Statement put(*db,
                        "INSERT OR REPLACE INTO run_items VALUES (?, ?, ?)");
  put.bind(1, run_id);
  put.bind(2, static_cast<std::int64_t>(page.first()));
  BindBlob(&put, 3, page.SerializeAsString());
  put.exec();
}

void AppendRelease(SQLite::Database* db, const std::string& run_id,
                   const std::vector<v1::ReleaseReply>& messages) {
  for (const v1::ReleaseReply& message : messages) {
    SQLite::Statement put(
        *db,
        "INSERT INTO run_releases SELECT ?1, coalesce(max(ordinal), 0) + 1, ?2 "
        "FROM run_releases WHERE run_id = ?1");
    put.bind(1, run_id);
    BindBlob(&put, 2, message.SerializeAsString());
    put.exec();
  }
}

void StoreOrigin(SQLite::Database* db, const v1::Run& run) {
  if (run.parent().empty() && !run.added()) return;
  SQLite::Statement put(*db, "INSERT INTO run_origins VALUES (?, ?, ?)");
  put.bind(1, run.run_id());
  put.bind(2, run.parent());
  put.bind(3, run.added() ? 1 : 0);
  put.exec();
}

void StoreJoined(SQLite::Database* db, const v1::Run& run) {
  for (int i = 0; i < run.joined_size(); ++i) {
    SQLite::Statement put(*db, "INSERT INTO run_joined VALUES (?, ?, ?, ?)");
    put.bind(1, run.run_id());
    put.bind(2, i);
    put.bind(3, run.joined(i).population());
    BindBlob(&put, 4, run.joined(i).SerializeAsString());
    put.exec();
  }
}

void StoreRequest(SQLite::Database* db, const v1::Run& run,
                  const ClientRequest& request) {
  SQLite::Statement put(*db, "INSERT INTO run_requests VALUES (?, ?, ?, ?)");
  put.bind(1, run.started_by());
  put.bind(2, request.name);
  put.bind(3, run.run_id());
  put.bind(4, request.digest);
  put.exec();
}

void CopyItems(SQLite::Database* db, const std::string& from,
               const std::string& to) {
  for (const char* copy :
       {"INSERT OR IGNORE INTO run_datasets SELECT ?1, dataset FROM "
        "run_datasets WHERE run_id = ?2",
        "INSERT INTO run_items SELECT ?1, first, page FROM run_items WHERE "
        "run_id = ?2"}) {
    SQLite::Statement put(*db, copy);
    put.bind(1, to);
    put.bind(2, from);
    put.exec();
  }
}

absl::StatusOr<Eigen::MatrixXd> MatrixOf(SQLite::Statement* row, int first) {
  const std::int64_t rows = row->getColumn(first).getInt64();
  const std::int64_t columns = row->getColumn(first + 1).getInt64();
  const SQLite::Column entries = row->getColumn(first + 2);
  const auto bytes = static_cast<std::uint64_t>(entries.getBytes());
  if (rows < 0 || columns < 0 ||
      (columns > 0 && rows > (1LL << 32) / columns) ||
      bytes != sizeof(double) * static_cast<std::uint64_t>(rows * columns)) {
    return StateDamaged("a matrix does not fit its shape");
  }
  Eigen::MatrixXd matrix(rows, columns);
  if (bytes > 0) std::memcpy(matrix.data(), entries.getBlob(), bytes);
  return matrix;
}

namespace {

constexpr char kRunColumns[] =
    "SELECT run_id, population, specification, guarantee, plan, state, "
    "rounds_done, charged, "
    "error, error_code, created, updated, started_by, coalesce(parent, ''), "
    "coalesce(added, 0) FROM runs LEFT JOIN run_origins USING (run_id) ";

// Reads the terms of a run; only runs with a parent have terms.
absl::Status ReadJoined(SQLite::Database* db, v1::Run* run) {
  if (run->parent().empty()) return absl::OkStatus();
  SQLite::Statement row(
      *db, "SELECT joined FROM run_joined WHERE run_id = ? ORDER BY ordinal");
  row.bind(1, run->run_id());
  while (row.executeStep()) {
    if (!run->add_joined()->ParseFromString(BlobOf(row.getColumn(0))))
      return StateDamaged("the terms of a run");
  }
  return absl::OkStatus();
}

absl::StatusOr<RunRecord> RecordOf(SQLite::Statement* row) {
  RunRecord record;
  v1::Run& run = record.run;
  run.set_run_id(row->getColumn(0).getString());
  record.population = row->getColumn(1).getString();
  const std::optional<MuSquared> charged =
      MuSquared::FromUnitsText(row->getColumn(7).getString());
  if (!run.mutable_specification()->ParseFromString(
          BlobOf(row->getColumn(2))) ||
      !record.guarantee.ParseFromString(BlobOf(row->getColumn(3))) ||
      !run.mutable_plan()->ParseFromString(BlobOf(row->getColumn(4))) ||
      !v1::RunState_IsValid(row->getColumn(5).getInt()) ||
      !charged.has_value()) {
    return StateDamaged("a run cannot be read");
  }
  run.set_state(static_cast<v1::RunState>(row->getColumn(5).getInt()));
  run.set_rounds_done(row->getColumn(6).getUInt());
  run.mutable_charged()->set_units(charged->UnitsText());
  run.mutable_charged()->set_value(charged->ToDouble());
  run.set_error(row->getColumn(8).getString());
  run.set_error_code(row->getColumn(9).getString());
  run.set_created_unix_seconds(row->getColumn(10).getInt64());
  run.set_updated_unix_seconds(row->getColumn(11).getInt64());
  run.set_started_by(row->getColumn(12).getString());
  run.set_parent(row->getColumn(13).getString());
  run.set_added(row->getColumn(14).getInt() != 0);
  if (record.guarantee.has_void_since())
    run.set_void_since(record.guarantee.void_since());
  return record;
}

}  // namespace

absl::StatusOr<RunRecord> FindRun(SQLite::Database* db,
                                  const std::string& run_id) {
  SQLite::Statement row(*db, absl::StrCat(kRunColumns, "WHERE run_id = ?"));
  row.bind(1, run_id);
  if (!row.executeStep()) return RunUnknown();
  DPNMF_ASSIGN_OR_RETURN(RunRecord record, RecordOf(&row));
  DPNMF_RETURN_IF_ERROR(ReadJoined(db, &record.run));
  return record;
}

absl::StatusOr<std::vector<RunRecord>> AllRuns(SQLite::Database* db) {
  std::vector<RunRecord> records;
  SQLite::Statement row(*db,
                        absl::StrCat(kRunColumns, "ORDER BY sequence DESC"));
  while (row.executeStep()) {
    DPNMF_ASSIGN_OR_RETURN(RunRecord record, RecordOf(&row));
    DPNMF_RETURN_IF_ERROR(ReadJoined(db, &record.run));
    records.push_back(std::move(record));
  }
  return records;
}

void AppendEvent(SQLite::Database* db, const std::string& run_id,
                 v1::RunEvent event) {
  SQLite::Statement last(
      *db, "SELECT coalesce(max(cursor), 0) FROM events WHERE run_id = ?");
  last.bind(1, run_id);
  last.executeStep();
  const std::int64_t cursor = last.getColumn(0).getInt64() + 1;
  event.set_cursor(static_cast<std::uint64_t>(cursor));
  SQLite::Statement put(*db, "INSERT INTO events VALUES (?, ?, ?)");
  put.bind(1, run_id);
  put.bind(2, cursor);
  BindBlob(&put, 3, event.SerializeAsString());
  put.exec();
}

void RecordChain(SQLite::Database* db, const v1::LedgerPosition& position) {
  if (position.head().empty()) return;
  SQLite::Statement put(
      *db,
      "INSERT INTO chain VALUES (?1, ?2, ?3) ON CONFLICT (population) DO "
      "UPDATE SET row_count = ?2, head = ?3 WHERE ?2 >= row_count");
  put.bind(1, position.population());
  put.bind(2, static_cast<std::int64_t>(position.row_count()));
  BindBlob(&put, 3, position.head());
  put.exec();
}

absl::Status MarkRuns(SQLite::Database* db, const std::string& population,
                      std::int64_t void_since) {
  std::vector<std::pair<std::string, v1::Guarantee>> unmarked;
  SQLite::Statement row(
      *db,
      "SELECT run_id, guarantee FROM runs WHERE population = ?1 OR run_id IN "
      "(SELECT run_id FROM run_joined WHERE population = ?1)");
  row.bind(1, population);
  while (row.executeStep()) {
    v1::Guarantee guarantee;
    if (!guarantee.ParseFromString(BlobOf(row.getColumn(1))))
      return StateDamaged("a run cannot be read");
    if (guarantee.has_void_since()) continue;
    guarantee.set_void_since(void_since);
    unmarked.emplace_back(row.getColumn(0).getString(), std::move(guarantee));
  }
  for (const auto& [run_id, guarantee] : unmarked) {
    SQLite::Statement put(*db,
                          "UPDATE runs SET guarantee = ? WHERE run_id = ?");
    BindBlob(&put, 1, guarantee.SerializeAsString());
    put.bind(2, run_id);
    put.exec();
  }
  return absl::OkStatus();
}

absl::Status SeeVoidOf(SQLite::Database* db, const RunRecord& record,
                       const v1::LedgerPosition& position) {
  if (!position.has_void_since() || record.guarantee.has_void_since())
    return absl::OkStatus();
  return MarkRuns(db, record.population, position.void_since());
}

bool MirrorCharge(SQLite::Database* db, const std::string& population,
                  const MirroredCharge& charge,
                  const v1::LedgerPosition& position, std::int64_t now) {
  SQLite::Statement put(
      *db, "INSERT OR IGNORE INTO mirror VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  put.bind(1, charge.run_id);
  put.bind(2, charge.round);
  put.bind(3, population);
  put.bind(4, charge.cost.UnitsText());
  BindBlob(&put, 5, charge.row_hash);
  put.bind(6, static_cast<std::int64_t>(position.row_count()));
  BindBlob(&put, 7, position.head());
  put.bind(8, now);
  return put.exec() == 1;
}

namespace {

// Names and texts of all tables and indices.
std::string SchemaOf(SQLite::Database& db) {
  std::string all;
  SQLite::Statement listing(
      db,
      "SELECT name, ifnull(sql, '') FROM sqlite_schema WHERE type <> 'trigger' "
      "ORDER BY name");
  while (listing.executeStep()) {
    absl::StrAppend(&all, listing.getColumn(0).getString(), "\n",
                    listing.getColumn(1).getString(), "\n");
  }
  return all;
}

}  // namespace

absl::Status PrepareDatabase(SQLite::Database* db) {
  // One process at a time: the lock is taken by the first transaction and kept.
  db->exec("PRAGMA locking_mode = EXCLUSIVE");
  db->exec("PRAGMA journal_mode = WAL");
  db->exec("PRAGMA synchronous = FULL");
  db->exec("BEGIN EXCLUSIVE; COMMIT");
  if (db->execAndGet("PRAGMA journal_mode").getString() != "wal") {
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   "The state directory's file system does not support "
                   "SQLite's write-ahead log; choose a local --state-dir.");
  }
  SQLite::Statement check(*db, "PRAGMA quick_check(1)");
  if (!check.executeStep() || check.getColumn(0).getString() != "ok") {
    return StateDamaged("the database fails its check");
  }
  const int version = db->execAndGet("PRAGMA user_version").getInt();
  if (version > kSchemaVersion) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "state-newer",
                   "The state directory was written by a newer program; "
                   "install that version.");
  }
  if (version == kSchemaVersion) {
    SQLite::Database empty(":memory:",
                           SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    empty.exec(kSchema);
    return SchemaOf(*db) == SchemaOf(empty)
               ? absl::OkStatus()
               : StateDamaged("its schema was changed");
  }
  const int objects =
      db->execAndGet("SELECT count(*) FROM sqlite_schema").getInt();
  if (version != 0 || objects != 0)
    return StateDamaged("it has no schema version");
  SQLite::Transaction transaction(*db);
  db->exec(kSchema);
  db->exec(absl::StrCat("PRAGMA user_version = ", kSchemaVersion));
  transaction.commit();
  return absl::OkStatus();
}

namespace {

void WriteReceipt(SQLite::Database* db, const v1::Receipt& receipt,
                  const char* insert) {
  SQLite::Statement put(
      *db, absl::StrCat(insert, " INTO receipts VALUES (?, ?, ?, ?)"));
  put.bind(1, receipt.ledger_id());
  put.bind(2, static_cast<std::int64_t>(receipt.sequence()));
  put.bind(3, receipt.dataset());
  BindBlob(&put, 4, receipt.SerializeAsString());
  put.exec();
}

}  // namespace

void PutReceipt(SQLite::Database* db, const v1::Receipt& receipt) {
  WriteReceipt(db, receipt, "INSERT OR IGNORE");
}
void ReplaceReceipt(SQLite::Database* db, const v1::Receipt& receipt) {
  WriteReceipt(db, receipt, "INSERT OR REPLACE");
}

absl::StatusOr<std::optional<v1::Receipt>> ReadReceipt(
    SQLite::Database* db, const std::string& ledger, std::int64_t sequence) {
  SQLite::Statement row(
      *db, "SELECT receipt FROM receipts WHERE ledger_id = ? AND sequence = ?");
  row.bind(1, ledger);
  row.bind(2, sequence);
  if (!row.executeStep()) return std::nullopt;
  v1::Receipt receipt;
  if (!receipt.ParseFromString(BlobOf(row.getColumn(0))))
    return StateDamaged("a receipt");
  return receipt;
}

std::optional<std::string> FindReceiptKey(SQLite::Database* db,
                                          const std::string& dataset) {
  SQLite::Statement row(
      *db, "SELECT public_key FROM receipt_keys WHERE dataset IN ('', ?)");
  row.bind(1, dataset);
  if (!row.executeStep()) return std::nullopt;
  return BlobOf(row.getColumn(0));
}

void PutReceiptKey(SQLite::Database* db, const std::string& dataset,
                   const std::string& key, std::int64_t now) {
  SQLite::Statement put(*db, "INSERT INTO receipt_keys VALUES (?, ?, ?)");
  put.bind(1, dataset);
  BindBlob(&put, 2, key);
  put.bind(3, now);
  put.exec();
}

absl::StatusOr<std::optional<double>> KeptFigure(SQLite::Database* db,
                                                 const std::string& run_id,
                                                 const std::string& name) {
  SQLite::Statement row(*db,
                        "SELECT rows, columns, entries FROM matrices WHERE "
                        "run_id = ? AND name = ?");
  row.bind(1, run_id);
  row.bind(2, absl::StrCat(kMemoryPrefix, name));
  if (!row.executeStep()) return std::optional<double>();
  DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd kept, MatrixOf(&row, 0));
  return kept.size() == 1 ? std::optional(kept(0)) : std::nullopt;
}

}  // namespace dpnmf::analyst
