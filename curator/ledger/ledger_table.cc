#include "curator/ledger/ledger_table.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/durable_file.h"
#include "curator/ledger/ledger_row.h"

namespace dpnmf::curator {
namespace {

constexpr char kLedgerFile[] = "ledger.sqlite";
constexpr int kSchemaVersion = 1;
constexpr int kBusyTimeoutMs = 2000;

struct SchemaObject {
  const char* name;
  const char* sql;
};
// Objects of the schema, ordered by name as sqlite_schema lists them.
constexpr SchemaObject kSchema[] = {
    {"ledger",
     "CREATE TABLE ledger (sequence INTEGER PRIMARY KEY NOT NULL, kind TEXT "
     "NOT "
     "NULL, unix_seconds INTEGER NOT NULL, population TEXT NOT NULL, identity "
     "TEXT NOT NULL, run_id TEXT NOT NULL, round INTEGER NOT NULL, mechanism "
     "TEXT NOT NULL, dataset TEXT NOT NULL, request_hash BLOB NOT NULL, cost "
     "TEXT NOT NULL, detail TEXT NOT NULL, previous_hash BLOB NOT NULL, hash "
     "BLOB NOT NULL) STRICT"},
    {"ledger_keeps_rows",
     "CREATE TRIGGER ledger_keeps_rows BEFORE DELETE ON ledger BEGIN SELECT "
     "RAISE(ABORT, 'the ledger is append-only'); END"},
    {"ledger_keeps_values",
     "CREATE TRIGGER ledger_keeps_values BEFORE UPDATE ON ledger BEGIN SELECT "
     "RAISE(ABORT, 'the ledger is append-only'); END"},
};

constexpr char kColumns[] =
    "sequence, kind, unix_seconds, population, identity, run_id, round, "
    "mechanism, dataset, request_hash, cost, detail, previous_hash, hash";

absl::Status Damaged(std::string_view what) {
  return Refusal(absl::StatusCode::kDataLoss, "ledger-damaged",
                 absl::StrCat("The ledger is damaged: ", View(what), "."));
}

absl::Status Unusable(const std::string& what) {
  return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                 absl::StrCat("The ledger's file cannot be used: ", what, "."));
}

absl::Status StatusOf(const SQLite::Exception& error) {
  const int code = error.getErrorCode();
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
    return Damaged(error.what());
  return Unusable(error.what());
}

// SQLite's check reports a page that the disk did not give with the code of the
// failure: that is the disk's fault, and may pass.
bool IsReadFailure(const std::string& finding) {
  constexpr char kCode[] = "error code=";
  const std::size_t at = finding.find(kCode);
  if (at == std::string::npos) return false;
  const int code = std::atoi(finding.c_str() + at + sizeof(kCode) - 1) & 0xff;
  return code == SQLITE_IOERR || code == SQLITE_NOMEM || code == SQLITE_FULL;
}

// Runs `body`, which returns a Status or StatusOr, and turns exceptions into
// one.
template <typename Body>
auto Guarded(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const SQLite::Exception& error) {
    return StatusOf(error);
  }
}

int IntegerPragma(SQLite::Database& database, const char* pragma) {
  return database.execAndGet(absl::StrCat("PRAGMA ", pragma)).getInt();
}

std::unique_ptr<SQLite::Database> OpenDatabase(const std::string& path,
                                               int flags) {
  auto database =
      std::make_unique<SQLite::Database>(path, flags, kBusyTimeoutMs);
  database->exec("PRAGMA trusted_schema = OFF");
  database->exec("PRAGMA cell_size_check = ON");
  return database;
}

// Columns of a damaged file may be of any type, whatever STRICT promises.
class RowReader {
 public:
  explicit RowReader(SQLite::Statement& statement) : statement_(statement) {}

  std::int64_t Integer() {
    const SQLite::Column column = statement_.getColumn(index_++);
    ok_ = ok_ && column.isInteger();
    return column.getInt64();
  }
  std::uint64_t Count(std::uint64_t largest) {
    const std::int64_t value = Integer();
    ok_ = ok_ && value >= 0 && static_cast<std::uint64_t>(value) <= largest;
    return ok_ ? static_cast<std::uint64_t>(value) : 0;
  }
  std::string Text() {
    const SQLite::Column column = statement_.getColumn(index_++);
    ok_ = ok_ && column.isText();
    return column.getString();
  }
  Digest Hash() {
    const SQLite::Column column = statement_.getColumn(index_++);
    Digest digest{};
    ok_ = ok_ && column.isBlob() &&
          static_cast<std::size_t>(column.getBytes()) == digest.size();
    if (!ok_) return digest;
    const auto* bytes = static_cast<const std::uint8_t*>(column.getBlob());
    std::copy_n(bytes, digest.size(), digest.begin());
    return digest;
  }
  void Require(bool condition) { ok_ = ok_ && condition; }
  bool ok() const { return ok_; }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
  bool ok_ = true;
};

std::optional<LedgerRow> RowOf(SQLite::Statement& statement) {
  RowReader reader(statement);
  LedgerRow row;
  row.sequence = reader.Count(std::numeric_limits<std::int64_t>::max());
  const auto kind = RowKindOfName(reader.Text());
  row.unix_seconds = reader.Integer();
  row.population = reader.Text();
  row.identity = reader.Text();
  row.run_id = reader.Text();
  row.round = static_cast<std::uint32_t>(
      reader.Count(std::numeric_limits<std::uint32_t>::max()));
  row.mechanism = reader.Text();
  row.dataset = reader.Text();
  row.request_hash = reader.Hash();
  const auto cost = MuSquared::FromUnitsText(reader.Text());
  row.detail = reader.Text();
  row.previous_hash = reader.Hash();
  row.hash = reader.Hash();
  reader.Require(kind.has_value() && cost.has_value());
  if (!reader.ok()) return std::nullopt;
  row.kind = *kind;
  row.cost = *cost;
  return row;
}

}  // namespace

absl::StatusOr<LedgerTable> LedgerTable::OpenForWriting(
    const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kLedgerFile);
  // The anchor is about to be set to the last row that is read below, so every
  // row that is read must be on disk first.
  DPNMF_RETURN_IF_ERROR(RewriteDurably(absl::StrCat(path, "-wal")));
  // SQLite gives the files beside it the same mode.
  DPNMF_RETURN_IF_ERROR(MakePrivateFile(path));
  return Guarded([&]() -> absl::StatusOr<LedgerTable> {
    auto database =
        OpenDatabase(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    // exec runs the statement to its end. That is needed: SQLite returns the
    // result "wal" before the statement has committed the change.
    database->exec("PRAGMA journal_mode = WAL");
    database->exec("PRAGMA synchronous = FULL");
    const std::string mode =
        database->execAndGet("PRAGMA journal_mode").getString();
    constexpr int kFull = 2;
    if (mode != "wal" || IntegerPragma(*database, "synchronous") != kFull) {
      return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                     absl::StrCat("The file system of `", directory,
                                  "` does not support SQLite's write-ahead "
                                  "log; keep the ledger on a local disk."));
    }
    return LedgerTable(std::move(database));
  });
}

absl::StatusOr<LedgerTable> LedgerTable::OpenForReading(
    const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kLedgerFile);
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) {
    return Refusal(absl::StatusCode::kNotFound, "ledger-missing",
                   absl::StrCat("There is no ledger in `", directory,
                                "`; give the curator's data directory."));
  }
  return Guarded([&]() -> absl::StatusOr<LedgerTable> {
    return LedgerTable(OpenDatabase(path, SQLite::OPEN_READONLY));
  });
}

absl::StatusOr<bool> LedgerTable::IsNew() {
  return Guarded([&]() -> absl::StatusOr<bool> {
    const int version = IntegerPragma(*database_, "user_version");
    if (version > kSchemaVersion) {
      return Refusal(
          absl::StatusCode::kFailedPrecondition, "ledger-newer",
          absl::StrCat("The ledger has schema version ", version,
                       " and this program supports up to ", kSchemaVersion,
                       "; use the newer program that wrote it."));
    }
    const int objects =
        database_->execAndGet("SELECT count(*) FROM sqlite_schema").getInt();
    return version == 0 && objects == 0;
  });
}

absl::Status LedgerTable::CheckStructure() {
  if (IntegerPragma(*database_, "user_version") != kSchemaVersion)
    return Damaged("it has no schema version");
  SQLite::Statement listing(
      *database_, "SELECT name, sql FROM sqlite_schema ORDER BY name");
  for (const SchemaObject& expected : kSchema) {
    if (!listing.executeStep() ||
        listing.getColumn(0).getString() != expected.name ||
        listing.getColumn(1).getString() != expected.sql) {
      return Damaged("its schema was changed");
    }
  }
  if (listing.executeStep()) return Damaged("its schema was changed");
  const std::string finding =
      database_->execAndGet("PRAGMA quick_check(1)").getString();
  if (finding == "ok") return absl::OkStatus();
  return IsReadFailure(finding) ? Unusable(finding) : Damaged(finding);
}

absl::Status LedgerTable::ForEachRow(
    const std::function<absl::Status(const LedgerRow&)>& visit) {
  return Guarded([&]() -> absl::Status {
    // Read-only: the destructor's rollback ends the snapshot.
    const SQLite::Transaction snapshot(*database_);
    DPNMF_RETURN_IF_ERROR(CheckStructure());
    SQLite::Statement rows(*database_, absl::StrCat("SELECT ", kColumns,
                                                    " FROM ledger ORDER BY "
                                                    "sequence"));
    std::uint64_t last = 0;
    while (rows.executeStep()) {
      const std::optional<LedgerRow> row = RowOf(rows);
      if (!row.has_value())
        return Damaged(absl::StrCat("row ", last + 1, " is not readable"));
      DPNMF_RETURN_IF_ERROR(visit(*row));
      last = row->sequence;
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<LedgerRow> LedgerTable::Read(std::uint64_t sequence) {
  return Guarded([&]() -> absl::StatusOr<LedgerRow> {
    SQLite::Statement query(
        *database_,
        absl::StrCat("SELECT ", kColumns, " FROM ledger WHERE sequence = ?"));
    query.bind(1, static_cast<std::int64_t>(sequence));
    std::optional<LedgerRow> row;
    if (query.executeStep()) row = RowOf(query);
    if (!row.has_value() || row->hash != HashOf(*row))
      return Damaged(absl::StrCat("row ", sequence, " is not readable"));
    return *std::move(row);
  });
}

WriteOutcome LedgerTable::CreateWith(const LedgerRow& first) {
  return WriteInTransaction([&] {
    for (const SchemaObject& object : kSchema) database_->exec(object.sql);
    database_->exec(absl::StrCat("PRAGMA user_version = ", kSchemaVersion));
    Insert(first);
  });
}

WriteOutcome LedgerTable::Append(const LedgerRow& row) {
  return WriteInTransaction([&] { Insert(row); });
}

WriteOutcome LedgerTable::WriteInTransaction(
    const std::function<void()>& write) {
  bool committing = false;
  try {
    SQLite::Transaction transaction(*database_,
                                    SQLite::TransactionBehavior::IMMEDIATE);
    write();
    committing = true;
    transaction.commit();
    return {absl::OkStatus(), true};
  } catch (const SQLite::Exception& error) {
    return {StatusOf(error), !committing};
  }
}

void LedgerTable::Insert(const LedgerRow& row) {
  SQLite::Statement insert(
      *database_, absl::StrCat("INSERT INTO ledger (", kColumns,
                               ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  int index = 0;
  const auto bind_hash = [&](const Digest& digest) {
    insert.bind(++index, digest.data(), static_cast<int>(digest.size()));
  };
  insert.bind(++index, static_cast<std::int64_t>(row.sequence));
  insert.bind(++index, std::string(NameOf(row.kind)));
  insert.bind(++index, row.unix_seconds);
  insert.bind(++index, row.population);
  insert.bind(++index, row.identity);
  insert.bind(++index, row.run_id);
  insert.bind(++index, static_cast<std::int64_t>(row.round));
  insert.bind(++index, row.mechanism);
  insert.bind(++index, row.dataset);
  bind_hash(row.request_hash);
  insert.bind(++index, row.cost.UnitsText());
  insert.bind(++index, row.detail);
  bind_hash(row.previous_hash);
  bind_hash(row.hash);
  insert.exec();
}

}  // namespace dpnmf::curator
