#include "analyst/run_store.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "SQLiteCpp/SQLiteCpp.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"
#include "common/base/mutex.h"
#include "common/wire/receipt.h"
#include "sqlite3.h"

namespace dpnmf::analyst {
namespace {

static_assert(std::endian::native == std::endian::little,
              "matrices are stored as little-endian doubles");

constexpr int kSchemaVersion = 4;
// The dictionary's name among a run's matrices; a mechanism's own have a
// prefix.
constexpr char kDictionary[] = "W";
constexpr char kMemoryPrefix[] = "memory.";

// A program that does not know this table may leave it alone: it is no new
// version of the schema.
constexpr char kReceipts[] = R"sql(
CREATE TABLE IF NOT EXISTS receipts (
  ledger_id TEXT NOT NULL,
  sequence  INTEGER NOT NULL,
  dataset   TEXT NOT NULL,
  receipt   BLOB NOT NULL,      -- dpnmf.v1.Receipt
  PRIMARY KEY (ledger_id, sequence)
) WITHOUT ROWID;
)sql";

// Likewise: what runs on ratings keep of their data sets.
constexpr char kItems[] = R"sql(
CREATE TABLE IF NOT EXISTS run_datasets (
  run_id  TEXT PRIMARY KEY,
  dataset BLOB NOT NULL         -- dpnmf.v1.Dataset
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run_items (
  run_id TEXT NOT NULL,
  first  INTEGER NOT NULL,
  page   BLOB NOT NULL,         -- dpnmf.v1.ListItemsReply
  PRIMARY KEY (run_id, first)
);
)sql";

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
)sql";

// Version 2: which runs were deleted, when and for whom.
constexpr char kForgotten[] = R"sql(
CREATE TABLE forgotten (
  run_id       TEXT PRIMARY KEY,
  population   TEXT NOT NULL,
  state        INTEGER NOT NULL,
  forgotten_by TEXT NOT NULL,
  unix_seconds INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// Version 3: which key signs the curator's receipts.
constexpr char kReceiptKeys[] = R"sql(
CREATE TABLE receipt_keys (
  dataset      TEXT PRIMARY KEY,  -- empty: of all, by the operator's word
  public_key   BLOB NOT NULL,     -- Ed25519, 32 bytes
  unix_seconds INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// Version 4: runs that are never asked of the curator, which an earlier program
// would open there; what clients asked for; releases as they came.
constexpr char kOrigins[] = R"sql(
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
)sql";

// What brings a state of version i + 1 to version i + 2.
constexpr const char* kMigrations[] = {kForgotten, kReceiptKeys, kOrigins};
static_assert(std::size(kMigrations) == kSchemaVersion - 1);

absl::Status Damaged(absl::string_view what) {
  return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                 absl::StrCat("The analyst's state is damaged (", what,
                              "); restore the state directory from a backup."));
}

// What SQLite reports, as a status with a reason code.
absl::Status FromSqlite(const SQLite::Exception& error) {
  switch (error.getErrorCode()) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Damaged(error.getErrorStr());
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

absl::Status RunEnded() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "run-ended",
                 "The run has already ended.");
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
  for (const auto& [name, matrix] : state.memory) {
    PutMatrix(db, run_id, kMemoryPrefix + name, matrix);
  }
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

// After those that are there.
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
       {"INSERT INTO run_datasets SELECT ?1, dataset FROM run_datasets WHERE "
        "run_id = ?2",
        "INSERT INTO run_items SELECT ?1, first, page FROM run_items WHERE "
        "run_id = ?2"}) {
    SQLite::Statement put(*db, copy);
    put.bind(1, to);
    put.bind(2, from);
    put.exec();
  }
}

// The matrix in columns first, first + 1 (shape) and first + 2 (entries).
absl::StatusOr<Eigen::MatrixXd> MatrixOf(SQLite::Statement* row, int first) {
  const std::int64_t rows = row->getColumn(first).getInt64();
  const std::int64_t columns = row->getColumn(first + 1).getInt64();
  const SQLite::Column entries = row->getColumn(first + 2);
  const auto bytes = static_cast<std::uint64_t>(entries.getBytes());
  if (rows < 0 || columns < 0 ||
      (columns > 0 && rows > (1LL << 32) / columns) ||
      bytes != sizeof(double) * static_cast<std::uint64_t>(rows * columns)) {
    return Damaged("a matrix does not fit its shape");
  }
  Eigen::MatrixXd matrix(rows, columns);
  if (bytes > 0) std::memcpy(matrix.data(), entries.getBlob(), bytes);
  return matrix;
}

constexpr char kRunColumns[] =
    "SELECT run_id, population, specification, guarantee, plan, state, "
    "rounds_done, charged, "
    "error, error_code, created, updated, started_by, coalesce(parent, ''), "
    "coalesce(added, 0) FROM runs LEFT JOIN run_origins USING (run_id) ";

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
    return Damaged("a run cannot be read");
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

absl::StatusOr<RunRecord> FindRun(SQLite::Database* db,
                                  const std::string& run_id) {
  SQLite::Statement row(*db, absl::StrCat(kRunColumns, "WHERE run_id = ?"));
  row.bind(1, run_id);
  if (!row.executeStep()) return RunUnknown();
  return RecordOf(&row);
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

// Keeps the longest chain seen: replies of parallel runs may arrive in any
// order.
void SeeChain(SQLite::Database* db, const v1::LedgerPosition& position) {
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

// A guarantee that was given up stays so: all runs of the population say it
// from then on, those too that have ended.
absl::Status MarkRuns(SQLite::Database* db, const std::string& population,
                      std::int64_t void_since) {
  std::vector<std::pair<std::string, v1::Guarantee>> unmarked;
  SQLite::Statement row(
      *db, "SELECT run_id, guarantee FROM runs WHERE population = ?");
  row.bind(1, population);
  while (row.executeStep()) {
    v1::Guarantee guarantee;
    if (!guarantee.ParseFromString(BlobOf(row.getColumn(1))))
      return Damaged("a run cannot be read");
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

// What the reply to a run says of its population.
absl::Status SeeVoidOf(SQLite::Database* db, const RunRecord& record,
                       const v1::LedgerPosition& position) {
  if (!position.has_void_since() || record.guarantee.has_void_since())
    return absl::OkStatus();
  return MarkRuns(db, record.population, position.void_since());
}

// False if the charge stands already.
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

std::int64_t SystemSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Checks a database that exists, makes the tables of one that is new.
absl::Status Prepare(SQLite::Database* db) {
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
    return Damaged("the database fails its check");
  }
  const int version = db->execAndGet("PRAGMA user_version").getInt();
  if (version > kSchemaVersion) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "state-newer",
                   "The state directory was written by a newer program; "
                   "install that version.");
  }
  if (version < 0) return Damaged("its version is not one");
  if (version < kSchemaVersion) {
    SQLite::Transaction transaction(*db);
    if (version == 0) db->exec(kSchema);
    for (int from = std::max(version, 1); from < kSchemaVersion; ++from)
      db->exec(kMigrations[from - 1]);
    db->exec(absl::StrCat("PRAGMA user_version = ", kSchemaVersion));
    transaction.commit();
  }
  db->exec(kReceipts);
  db->exec(kItems);
  return absl::OkStatus();
}

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
// One that is there stays.
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
    return Damaged("a receipt");
  return receipt;
}

// At most one row is the data set's: where the operator's word stands, no other
// key is recorded.
std::optional<std::string> FindReceiptKey(SQLite::Database* db,
                                          const std::string& dataset) {
  SQLite::Statement row(
      *db, "SELECT public_key FROM receipt_keys WHERE dataset IN ('', ?)");
  row.bind(1, dataset);
  if (!row.executeStep()) return std::nullopt;
  return BlobOf(row.getColumn(0));
}

// The key of the latest receipt that was stored before keys were recorded.
absl::StatusOr<std::optional<std::string>> KeyOfStoredReceipt(
    SQLite::Database* db, const std::string& dataset) {
  SQLite::Statement row(*db,
                        "SELECT receipt FROM receipts WHERE dataset = ? ORDER "
                        "BY sequence DESC LIMIT 1");
  row.bind(1, dataset);
  if (!row.executeStep()) return std::nullopt;
  v1::Receipt receipt;
  if (!receipt.ParseFromString(BlobOf(row.getColumn(0))))
    return Damaged("a receipt");
  return receipt.public_key();
}

void PutReceiptKey(SQLite::Database* db, const std::string& dataset,
                   const std::string& key, std::int64_t now) {
  SQLite::Statement put(*db, "INSERT INTO receipt_keys VALUES (?, ?, ?)");
  put.bind(1, dataset);
  BindBlob(&put, 2, key);
  put.bind(3, now);
  put.exec();
}

}  // namespace

struct RunStore::State {
  explicit State(const std::string& file)
      : db(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {}

  // Runs work(db) as one transaction: committed if it returns OK, else undone.
  // SQLite's exceptions become statuses.
  template <typename Work>
  auto Transact(Work work)
      -> decltype(work(static_cast<SQLite::Database*>(nullptr))) {
    MutexLock lock(&mutex);
    try {
      SQLite::Transaction transaction(db);
      auto result = work(&db);
      if (result.ok()) transaction.commit();
      return result;
    } catch (const SQLite::Exception& error) {
      return FromSqlite(error);
    }
  }

  Mutex mutex;
  SQLite::Database db ABSL_GUARDED_BY(mutex);
  std::function<std::int64_t()> unix_seconds;
};

RunStore::RunStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunStore::~RunStore() = default;

absl::StatusOr<std::unique_ptr<RunStore>> RunStore::Open(
    const std::string& directory, std::function<std::int64_t()> unix_seconds) {
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(directory));
  try {
    auto state = std::make_unique<State>(directory + "/analyst.sqlite");
    state->unix_seconds =
        unix_seconds ? std::move(unix_seconds) : &SystemSeconds;
    {
      MutexLock lock(&state->mutex);
      DPNMF_RETURN_IF_ERROR(Prepare(&state->db));
    }
    return std::unique_ptr<RunStore>(new RunStore(std::move(state)));
  } catch (const SQLite::Exception& error) {
    return FromSqlite(error);
  }
}

absl::Status RunStore::Add(const RunRecord& record, const LearnerState& learner,
                           const NewRunFacts& facts) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) {
    const v1::Run& run = record.run;
    SQLite::Statement put(
        *db,
        "INSERT INTO runs (run_id, population, specification, guarantee, plan, "
        "state, rounds_done, charged, error, error_code, created, updated, "
        "started_by) VALUES (?, ?, ?, ?, ?, ?, 0, '0', '', '', ?, ?, ?)");
    put.bind(1, run.run_id());
    put.bind(2, record.population);
    BindBlob(&put, 3, run.specification().SerializeAsString());
    BindBlob(&put, 4, record.guarantee.SerializeAsString());
    BindBlob(&put, 5, run.plan().SerializeAsString());
    put.bind(6, static_cast<int>(run.state()));
    put.bind(7, now);
    put.bind(8, now);
    put.bind(9, run.started_by());
    put.exec();
    PutLearner(db, run.run_id(), learner);
    StoreOrigin(db, run);
    if (facts.request.has_value()) StoreRequest(db, run, *facts.request);
    if (facts.dataset.has_value())
      StoreDataset(db, run.run_id(), *facts.dataset);
    if (!facts.like.empty()) CopyItems(db, facts.like, run.run_id());
    for (const v1::ListItemsReply& page : facts.items)
      StoreItemPage(db, run.run_id(), page);
    AppendRelease(db, run.run_id(), facts.release);
    v1::RunEvent event;
    event.set_state(run.state());
    event.set_rounds(run.specification().parameters().rounds());
    event.mutable_charged()->set_units("0");
    AppendEvent(db, run.run_id(), event);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<AnsweredRequest>> RunStore::FindRequest(
    const std::string& started_by, const std::string& name) {
  using Found = std::optional<AnsweredRequest>;
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<Found> {
    SQLite::Statement row(*db,
                          "SELECT run_id, digest FROM run_requests WHERE "
                          "started_by = ? AND request = ?");
    row.bind(1, started_by);
    row.bind(2, name);
    if (!row.executeStep()) return Found();
    return Found({row.getColumn(0).getString(), row.getColumn(1).getString()});
  });
}

absl::Status RunStore::DropRequest(const std::string& started_by,
                                   const std::string& name) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    SQLite::Statement drop(
        *db, "DELETE FROM run_requests WHERE started_by = ? AND request = ?");
    drop.bind(1, started_by);
    drop.bind(2, name);
    drop.exec();
    return absl::OkStatus();
  });
}

absl::StatusOr<int> RunStore::CountChildren(const std::string& run_id) {
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<int> {
    SQLite::Statement count(
        *db, "SELECT count(*) FROM run_origins WHERE parent = ?");
    count.bind(1, run_id);
    count.executeStep();
    return count.getColumn(0).getInt();
  });
}

absl::Status RunStore::ReadRelease(
    const std::string& run_id,
    const std::function<bool(const v1::ReleaseReply&)>& take) {
  // A message at a time, so that no lock is held while one is sent.
  for (std::int64_t after = 0;;) {
    v1::ReleaseReply message;
    const absl::StatusOr<bool> more =
        state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<bool> {
          SQLite::Statement row(
              *db,
              "SELECT ordinal, message FROM run_releases WHERE run_id = ? AND "
              "ordinal > ? ORDER BY ordinal LIMIT 1");
          row.bind(1, run_id);
          row.bind(2, after);
          if (!row.executeStep()) return false;
          after = row.getColumn(0).getInt64();
          if (!message.ParseFromString(BlobOf(row.getColumn(1))))
            return Damaged("the release of a run");
          return true;
        });
    if (!more.ok()) return more.status();
    if (!*more || !take(message)) return absl::OkStatus();
  }
}

absl::StatusOr<RunRecord> RunStore::Get(const std::string& run_id) {
  return state_->Transact(
      [&](SQLite::Database* db) { return FindRun(db, run_id); });
}

absl::StatusOr<std::vector<RunRecord>> RunStore::List() {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::vector<RunRecord>> {
        std::vector<RunRecord> records;
        SQLite::Statement row(
            *db, absl::StrCat(kRunColumns, "ORDER BY sequence DESC"));
        while (row.executeStep()) {
          DPNMF_ASSIGN_OR_RETURN(RunRecord record, RecordOf(&row));
          records.push_back(std::move(record));
        }
        return records;
      });
}

absl::StatusOr<int> RunStore::CountOpen(const std::string& started_by) {
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<int> {
    SQLite::Statement count(
        *db,
        "SELECT count(*) FROM runs WHERE started_by = ? AND state NOT IN (?, "
        "?, ?)");
    count.bind(1, started_by);
    count.bind(2, static_cast<int>(v1::RUN_STATE_COMPLETED));
    count.bind(3, static_cast<int>(v1::RUN_STATE_CANCELLED));
    count.bind(4, static_cast<int>(v1::RUN_STATE_FAILED));
    count.executeStep();
    return count.getColumn(0).getInt();
  });
}

absl::StatusOr<LearnerState> RunStore::ReadLearner(const std::string& run_id) {
  return state_->Transact([&](SQLite::Database* db)
                              -> absl::StatusOr<LearnerState> {
    LearnerState learner;
    SQLite::Statement row(
        *db,
        "SELECT name, rows, columns, entries FROM matrices WHERE run_id = ?");
    row.bind(1, run_id);
    while (row.executeStep()) {
      const std::string name = row.getColumn(0).getString();
      DPNMF_ASSIGN_OR_RETURN(Eigen::MatrixXd matrix, MatrixOf(&row, 1));
      if (name == kDictionary) {
        learner.w = std::move(matrix);
      } else if (absl::StartsWith(name, kMemoryPrefix)) {
        learner.memory[name.substr(sizeof(kMemoryPrefix) - 1)] =
            std::move(matrix);
      } else {
        return Damaged("a matrix has an unknown name");
      }
    }
    if (learner.w.size() == 0) return RunUnknown();
    return learner;
  });
}

absl::StatusOr<Model> RunStore::ReadModel(const std::string& run_id) {
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<Model> {
    SQLite::Statement row(
        *db,
        "SELECT runs.rounds_done - (SELECT count(*) FROM matrices AS other "
        "WHERE other.run_id = runs.run_id AND other.name = ?3), runs.state, "
        "rows, columns, entries FROM runs JOIN matrices USING (run_id) WHERE "
        "run_id = ?1 AND name = ?2");
    row.bind(1, run_id);
    row.bind(2, kDictionary);
    row.bind(3, absl::StrCat(kMemoryPrefix, kUnlearnt));
    if (!row.executeStep()) return RunUnknown();
    Model model;
    model.rounds_done = row.getColumn(0).getUInt();
    model.state = static_cast<v1::RunState>(row.getColumn(1).getInt());
    DPNMF_ASSIGN_OR_RETURN(model.w, MatrixOf(&row, 2));
    SQLite::Statement share(*db,
                            "SELECT rows, columns, entries FROM matrices WHERE "
                            "run_id = ? AND name = ?");
    share.bind(1, run_id);
    share.bind(2, absl::StrCat(kMemoryPrefix, kPriorShare));
    if (share.executeStep()) {
      DPNMF_ASSIGN_OR_RETURN(const Eigen::MatrixXd kept, MatrixOf(&share, 0));
      if (kept.size() == 1) model.prior_share = kept(0);
    }
    return model;
  });
}

absl::Status RunStore::PutDataset(const std::string& run_id,
                                  const v1::Dataset& dataset) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(FindRun(db, run_id).status());
    StoreDataset(db, run_id, dataset);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<v1::Dataset>> RunStore::ReadDataset(
    const std::string& run_id) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::optional<v1::Dataset>> {
        DPNMF_RETURN_IF_ERROR(FindRun(db, run_id).status());
        SQLite::Statement row(
            *db, "SELECT dataset FROM run_datasets WHERE run_id = ?");
        row.bind(1, run_id);
        if (!row.executeStep()) return std::nullopt;
        v1::Dataset dataset;
        if (!dataset.ParseFromString(BlobOf(row.getColumn(0))))
          return Damaged("the data set of a run");
        return dataset;
      });
}

absl::Status RunStore::PutItemPage(const std::string& run_id,
                                   const v1::ListItemsReply& page) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(FindRun(db, run_id).status());
    StoreItemPage(db, run_id, page);
    return absl::OkStatus();
  });
}

absl::Status RunStore::ReadItemPages(
    const std::string& run_id,
    const std::function<bool(const v1::ListItemsReply&)>& take) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_RETURN_IF_ERROR(FindRun(db, run_id).status());
    SQLite::Statement row(
        *db, "SELECT page FROM run_items WHERE run_id = ? ORDER BY first");
    row.bind(1, run_id);
    while (row.executeStep()) {
      v1::ListItemsReply page;
      if (!page.ParseFromString(BlobOf(row.getColumn(0))) || !take(page))
        return Damaged("the items of a run");
    }
    return absl::OkStatus();
  });
}

absl::Status RunStore::ChangeState(const std::string& run_id,
                                   const StateChange& change) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, FindRun(db, run_id));
    if (IsFinal(record.run.state())) return RunEnded();
    SQLite::Statement put(
        *db,
        "UPDATE runs SET state = ?, plan = ?, error = ?, error_code = ?, "
        "updated = ? WHERE run_id = ?");
    const v1::RunState state = NextState(record.run.state(), change.state);
    put.bind(1, static_cast<int>(state));
    BindBlob(&put, 2,
             change.plan.value_or(record.run.plan()).SerializeAsString());
    put.bind(3, change.error.value_or(record.run.error()));
    put.bind(4, change.error_code.value_or(record.run.error_code()));
    put.bind(5, now);
    put.bind(6, run_id);
    put.exec();
    SeeChain(db, change.event.position());
    DPNMF_RETURN_IF_ERROR(SeeVoidOf(db, record, change.event.position()));
    v1::RunEvent event = change.event;
    event.set_state(state);
    AppendEvent(db, run_id, std::move(event));
    return absl::OkStatus();
  });
}

absl::Status RunStore::FinishRound(const std::string& run_id,
                                   const FinishedRound& finished) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, FindRun(db, run_id));
    if (finished.round != record.run.rounds_done() + 1) {
      return Refusal(
          absl::StatusCode::kInternal, "round-out-of-order",
          "The round to be stored does not follow the last stored one.");
    }
    std::optional<MuSquared> charged =
        MuSquared::FromUnitsText(record.run.charged().units());
    if (MirrorCharge(db, record.population, finished.charge,
                     finished.event.position(), now)) {
      charged = MuSquared::Add(*charged, finished.charge.cost);
      if (!charged.has_value()) return Damaged("a run's cost is out of range");
    }
    SQLite::Statement put(
        *db,
        "UPDATE runs SET state = ?, rounds_done = ?, charged = ?, updated = ? "
        "WHERE run_id = ?");
    const v1::RunState state =
        NextState(record.run.state(), v1::RUN_STATE_RUNNING);
    put.bind(1, static_cast<int>(state));
    put.bind(2, finished.round);
    put.bind(3, charged->UnitsText());
    put.bind(4, now);
    put.bind(5, run_id);
    put.exec();
    if (finished.charge.receipt.has_value())
      PutReceipt(db, *finished.charge.receipt);
    for (const v1::Receipt& receipt : finished.other_receipts)
      PutReceipt(db, receipt);
    if (!finished.lost) PutLearner(db, run_id, finished.state);
    AppendRelease(db, run_id, finished.release);
    SeeChain(db, finished.event.position());
    DPNMF_RETURN_IF_ERROR(SeeVoidOf(db, record, finished.event.position()));
    v1::RunEvent event = finished.event;
    event.set_state(state);
    AppendEvent(db, run_id, std::move(event));
    return absl::OkStatus();
  });
}

absl::Status RunStore::SeeVoid(const std::string& population,
                               std::int64_t void_since) {
  return state_->Transact([&](SQLite::Database* db) {
    return MarkRuns(db, population, void_since);
  });
}

absl::Status RunStore::MarkReceipts(std::int64_t void_since,
                                    const std::vector<VoidMark>& marks) {
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    std::vector<std::string> ledgers;
    SQLite::Statement id(*db, "SELECT DISTINCT ledger_id FROM receipts");
    while (id.executeStep()) ledgers.push_back(id.getColumn(0).getString());
    for (const std::string& ledger : ledgers) {
      for (const VoidMark& mark : marks) {
        DPNMF_ASSIGN_OR_RETURN(
            std::optional<v1::Receipt> receipt,
            ReadReceipt(db, ledger, static_cast<std::int64_t>(mark.sequence)));
        if (!receipt.has_value() || receipt->has_void_since() ||
            receipt->row_hash() != mark.row_hash)
          continue;
        receipt->set_void_since(void_since);
        receipt->set_void_signature(mark.signature);
        if (CheckReceipt(*receipt).ok()) ReplaceReceipt(db, *receipt);
      }
    }
    return absl::OkStatus();
  });
}

absl::Status RunStore::FinishFit(const std::string& run_id,
                                 const Eigen::MatrixXd& w,
                                 const v1::RunEvent& told,
                                 std::optional<double> prior_share) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) -> absl::Status {
    DPNMF_ASSIGN_OR_RETURN(const RunRecord record, FindRun(db, run_id));
    if (IsFinal(record.run.state())) return RunEnded();
    const std::uint32_t rounds =
        record.run.specification().parameters().rounds();
    SQLite::Statement put(
        *db,
        "UPDATE runs SET state = ?, rounds_done = ?, updated = ? WHERE run_id "
        "= ?");
    put.bind(1, static_cast<int>(v1::RUN_STATE_COMPLETED));
    put.bind(2, rounds);
    put.bind(3, now);
    put.bind(4, run_id);
    put.exec();
    PutMatrix(db, run_id, kDictionary, w);
    if (prior_share.has_value()) {
      PutMatrix(db, run_id, absl::StrCat(kMemoryPrefix, kPriorShare),
                Eigen::MatrixXd::Constant(1, 1, *prior_share));
    }
    v1::RunEvent event = told;
    event.set_state(v1::RUN_STATE_COMPLETED);
    event.set_round(rounds);
    event.set_rounds(rounds);
    AppendEvent(db, run_id, std::move(event));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<v1::RunEvent>> RunStore::Events(
    const std::string& run_id, std::uint64_t after, int limit) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::vector<v1::RunEvent>> {
        std::vector<v1::RunEvent> events;
        SQLite::Statement row(
            *db,
            "SELECT event FROM events WHERE run_id = ? AND cursor > ? "
            "ORDER BY cursor LIMIT ?");
        row.bind(1, run_id);
        row.bind(2, static_cast<std::int64_t>(
                        std::min<std::uint64_t>(after, INT64_MAX)));
        row.bind(3, limit);
        while (row.executeStep()) {
          v1::RunEvent event;
          if (!event.ParseFromString(BlobOf(row.getColumn(0))))
            return Damaged("an event");
          events.push_back(std::move(event));
        }
        return events;
      });
}

absl::StatusOr<std::vector<v1::Receipt>> RunStore::Receipts(
    const std::string& dataset, const v1::Receipt& after, int limit) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::vector<v1::Receipt>> {
        SQLite::Statement row(
            *db,
            "SELECT receipt FROM receipts WHERE (ledger_id, sequence) > (?1, "
            "?2) AND (?3 = '' OR dataset = ?3) ORDER BY ledger_id, sequence "
            "LIMIT ?4");
        row.bind(1, after.ledger_id());
        row.bind(2, static_cast<std::int64_t>(after.sequence()));
        row.bind(3, dataset);
        row.bind(4, limit);
        std::vector<v1::Receipt> receipts;
        while (row.executeStep()) {
          v1::Receipt receipt;
          if (!receipt.ParseFromString(BlobOf(row.getColumn(0))))
            return Damaged("a receipt");
          receipts.push_back(std::move(receipt));
        }
        return receipts;
      });
}

absl::StatusOr<std::optional<std::string>> RunStore::ReceiptKeyOf(
    const std::string& dataset) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::optional<std::string>> {
        std::optional<std::string> key = FindReceiptKey(db, dataset);
        if (key.has_value()) return key;
        return KeyOfStoredReceipt(db, dataset);
      });
}

absl::StatusOr<std::string> RunStore::RecordReceiptKey(
    const std::string& dataset, const std::string& key) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::string> {
        const std::optional<std::string> known = FindReceiptKey(db, dataset);
        if (known.has_value()) return *known;
        DPNMF_ASSIGN_OR_RETURN(const std::optional<std::string> earlier,
                               KeyOfStoredReceipt(db, dataset));
        PutReceiptKey(db, dataset, earlier.value_or(key), now);
        return earlier.value_or(key);
      });
}

absl::StatusOr<bool> RunStore::GiveReceiptKey(const std::string& key) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<bool> {
    if (FindReceiptKey(db, "") == key) return false;
    db->exec("DELETE FROM receipt_keys");
    PutReceiptKey(db, "", key, now);
    return true;
  });
}

absl::StatusOr<MirrorView> RunStore::Mirror(const std::string& population) {
  return state_->Transact([&](SQLite::Database* db)
                              -> absl::StatusOr<MirrorView> {
    MirrorView view;
    SQLite::Statement chain(
        *db, "SELECT row_count, head FROM chain WHERE population = ?");
    chain.bind(1, population);
    if (chain.executeStep()) {
      view.row_count =
          static_cast<std::uint64_t>(chain.getColumn(0).getInt64());
      view.head = BlobOf(chain.getColumn(1));
    }
    SQLite::Statement row(
        *db,
        "SELECT run_id, round, cost, row_hash FROM mirror WHERE population = ? "
        "ORDER BY unix_seconds, run_id, round");
    row.bind(1, population);
    while (row.executeStep()) {
      const std::optional<MuSquared> cost =
          MuSquared::FromUnitsText(row.getColumn(2).getString());
      if (!cost.has_value()) return Damaged("a mirrored charge");
      view.charges.push_back({row.getColumn(0).getString(),
                              row.getColumn(1).getUInt(),
                              *cost,
                              BlobOf(row.getColumn(3)),
                              {}});
    }
    return view;
  });
}

absl::StatusOr<std::uint64_t> RunStore::Forget(
    const std::string& run_id, const std::string& forgotten_by) {
  const std::int64_t now = state_->unix_seconds();
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::uint64_t> {
        DPNMF_ASSIGN_OR_RETURN(const RunRecord record, FindRun(db, run_id));
        if (!IsFinal(record.run.state())) {
          return Refusal(absl::StatusCode::kFailedPrecondition, "run-not-ended",
                         "The run has not ended; cancel it first.");
        }
        for (const char* table :
             {"matrices", "events", "run_datasets", "run_items", "run_releases",
              "run_origins", "runs"}) {
          SQLite::Statement drop(
              *db, absl::StrCat("DELETE FROM ", table, " WHERE run_id = ?"));
          drop.bind(1, run_id);
          drop.exec();
        }
        SQLite::Statement drop(*db,
                               "DELETE FROM run_requests WHERE run_id = ? AND "
                               "request LIKE 'refit:%'");
        drop.bind(1, run_id);
        drop.exec();
        SQLite::Statement put(
            *db, "INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?, ?, ?)");
        put.bind(1, run_id);
        put.bind(2, record.population);
        put.bind(3, static_cast<int>(record.run.state()));
        put.bind(4, forgotten_by);
        put.bind(5, now);
        put.exec();
        SQLite::Statement count(*db,
                                "SELECT count(*) FROM mirror WHERE run_id = ?");
        count.bind(1, run_id);
        count.executeStep();
        return static_cast<std::uint64_t>(count.getColumn(0).getInt64());
      });
}

absl::StatusOr<std::vector<std::pair<std::string, std::uint32_t>>>
RunStore::ForgottenRuns() {
  using Runs = std::vector<std::pair<std::string, std::uint32_t>>;
  return state_->Transact([&](SQLite::Database* db) -> absl::StatusOr<Runs> {
    Runs runs;
    SQLite::Statement row(
        *db,
        "SELECT run_id, coalesce(max(round), 0) FROM forgotten LEFT JOIN "
        "mirror USING (run_id) GROUP BY run_id");
    while (row.executeStep()) {
      runs.emplace_back(row.getColumn(0).getString(),
                        row.getColumn(1).getUInt());
    }
    return runs;
  });
}

absl::StatusOr<std::vector<std::string>> RunStore::EndedBefore(
    std::int64_t unix_seconds) {
  return state_->Transact(
      [&](SQLite::Database* db) -> absl::StatusOr<std::vector<std::string>> {
        std::vector<std::string> ended;
        SQLite::Statement row(*db,
                              "SELECT run_id, state FROM runs WHERE updated < "
                              "? ORDER BY sequence");
        row.bind(1, unix_seconds);
        while (row.executeStep()) {
          const int state = row.getColumn(1).getInt();
          if (v1::RunState_IsValid(state) &&
              IsFinal(static_cast<v1::RunState>(state)))
            ended.push_back(row.getColumn(0).getString());
        }
        return ended;
      });
}

}  // namespace dpnmf::analyst
