// Damage of every kind: what a ledger must notice when it is opened.
#include <sqlite3.h>

#include <filesystem>
#include <random>
#include <vector>

#include "SQLiteCpp/SQLiteCpp.h"
#include "curator/ledger/anchor.h"
#include "curator/ledger/ledger.h"
#include "curator/ledger/ledger_row.h"
#include "gmock/gmock.h"
#include "tests/curator/ledger/damaged_files.h"
#include "tests/curator/ledger/release_fixtures.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* kColumns[] = {
    "sequence", "kind",   "unix_seconds",  "population", "identity",
    "run_id",   "round",  "mechanism",     "dataset",    "request_hash",
    "cost",     "detail", "previous_hash", "hash"};

// Six rows: genesis, population, open, two charges, close.
class LedgerDamage : public testing::Test {
 protected:
  LedgerDamage() { WriteRows(); }

  void WriteRows() {
    const auto ledger = home_.OpenWithPeople();
    const RunOpening opening = OpeningFor("run");
    EXPECT_TRUE(ledger->OpenRun(opening).ok());
    EXPECT_TRUE(ledger->ChargeRound(ChargeFor(opening, 1)).ok());
    EXPECT_TRUE(ledger->ChargeRound(ChargeFor(opening, 2)).ok());
    EXPECT_TRUE(ledger->CloseRun("dns:analyst", "run").ok());
  }

  std::string File() const {
    return home_.options.directory + "/ledger.sqlite";
  }

  // With SQLite's own tools and without the triggers, as an intruder would.
  void Edit(const std::string& sql) const {
    SQLite::Database database(File(), SQLite::OPEN_READWRITE);
    std::vector<std::string> triggers;
    for (const char* name : {"ledger_keeps_rows", "ledger_keeps_values"}) {
      triggers.push_back(
          database
              .execAndGet(std::string("SELECT sql FROM sqlite_schema WHERE "
                                      "name = '") +
                          name + "'")
              .getString());
      database.exec(std::string("DROP TRIGGER ") + name);
    }
    database.exec(sql);
    for (const std::string& trigger : triggers) database.exec(trigger);
  }

  void Insert(const LedgerRow& row) const {
    SQLite::Database database(File(), SQLite::OPEN_READWRITE);
    SQLite::Statement insert(
        database, "INSERT INTO ledger VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    int at = 0;
    insert.bind(++at, static_cast<std::int64_t>(row.sequence));
    insert.bind(++at, std::string(NameOf(row.kind)));
    insert.bind(++at, row.unix_seconds);
    insert.bind(++at, row.population);
    insert.bind(++at, row.identity);
    insert.bind(++at, row.run_id);
    insert.bind(++at, static_cast<std::int64_t>(row.round));
    insert.bind(++at, row.mechanism);
    insert.bind(++at, row.dataset);
    insert.bind(++at, row.request_hash.data(), 32);
    insert.bind(++at, row.cost.UnitsText());
    insert.bind(++at, row.detail);
    insert.bind(++at, row.previous_hash.data(), 32);
    insert.bind(++at, row.hash.data(), 32);
    insert.exec();
  }

  void ExpectRefused(const std::string& code) const {
    EXPECT_EQ(home_.VerifyCode(), code);
    EXPECT_EQ(home_.OpenCode(), code);
  }

  // Each changes a copy of the last row, which is then appended with a right
  // number and right hashes.
  void ExpectEachRefused(
      const std::vector<std::function<void(LedgerRow*)>>& wrong) const {
    const LedgerRow last = Ledger::ReadRows(home_.options).value().back();
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      SCOPED_TRACE(i);
      LedgerRow row = last;
      wrong[i](&row);
      row.sequence = last.sequence + 1;
      row.previous_hash = last.hash;
      row.hash = HashOf(row);
      const std::string saved = Slurp(File());
      Insert(row);
      ExpectRefused("ledger-damaged");
      Spill(File(), saved);
    }
  }

  const LedgerHome home_;
};

TEST_F(LedgerDamage, TheUntouchedLedgerOpens) { ExpectRefused(""); }

TEST_F(LedgerDamage, TheTableRefusesAccidentalChanges) {
  SQLite::Database database(File(), SQLite::OPEN_READWRITE);
  EXPECT_THROW(database.exec("DELETE FROM ledger"), SQLite::Exception);
  EXPECT_THROW(database.exec("UPDATE ledger SET round = 9"), SQLite::Exception);
}

struct Cell {
  int row;
  std::string column, type, bytes;
};

std::vector<Cell> CellsOf(const std::string& file) {
  SQLite::Database database(file, SQLite::OPEN_READONLY);
  std::vector<Cell> cells;
  for (const std::string column : kColumns) {
    SQLite::Statement query(database, "SELECT sequence, typeof(" + column +
                                          "), CAST(" + column +
                                          " AS BLOB) FROM ledger");
    while (query.executeStep()) {
      cells.push_back({query.getColumn(0).getInt(), column,
                       query.getColumn(1).getString(),
                       query.getColumn(2).getString()});
    }
  }
  return cells;
}

// Every byte of every column of every row, one after the other, without the
// anchor's help.
TEST_F(LedgerDamage, SeesEveryByteOfEveryColumn) {
  Ledger::Options unanchored = home_.options;
  unanchored.anchor_directory.clear();
  const std::string good = Slurp(File());
  int flips = 0, refused_by_sqlite = 0;
  for (const Cell& cell : CellsOf(File())) {
    for (std::size_t i = 0; i < cell.bytes.size(); ++i) {
      std::string bad = cell.bytes;
      bad[i] = static_cast<char>(bad[i] ^ 1);
      ++flips;
      try {
        Edit("UPDATE ledger SET " + cell.column + " = CAST(x'" +
             HexOf({reinterpret_cast<const std::uint8_t*>(bad.data()),
                    bad.size()}) +
             "' AS " + cell.type +
             ") WHERE sequence = " + std::to_string(cell.row));
        EXPECT_EQ(ReasonCode(Ledger::Verify(unanchored).status()),
                  "ledger-damaged")
            << "row " << cell.row << " " << cell.column << " byte " << i;
      } catch (const SQLite::Exception&) {
        ++refused_by_sqlite;  // the number of another row
      }
      Spill(File(), good);
    }
  }
  EXPECT_GT(flips, 1000);
  EXPECT_LE(refused_by_sqlite, 6);
  ExpectRefused("");
}

TEST_F(LedgerDamage, SeesADeletedRow) {
  for (const int row : {1, 2, 3, 4, 5}) {
    const std::string saved = Slurp(File());
    Edit("DELETE FROM ledger WHERE sequence = " + std::to_string(row));
    ExpectRefused("ledger-damaged");
    Spill(File(), saved);
  }
}

TEST_F(LedgerDamage, SeesACutTailByItsAnchor) {
  Edit("DELETE FROM ledger WHERE sequence = 6");
  ExpectRefused("ledger-behind-anchor");
}

TEST_F(LedgerDamage, SeesAnEmptiedTable) {
  Edit("DELETE FROM ledger");
  ExpectRefused("ledger-damaged");
}

TEST_F(LedgerDamage, SeesAnInsertedRow) {
  Edit(
      "UPDATE ledger SET sequence = -sequence WHERE sequence > 4;"
      "UPDATE ledger SET sequence = 1 - sequence WHERE sequence < 0;"
      "INSERT INTO ledger SELECT 5, kind, unix_seconds, population, identity, "
      "run_id, round, mechanism, dataset, request_hash, cost, detail, "
      "previous_hash, hash FROM ledger WHERE sequence = 4");
  ExpectRefused("ledger-damaged");
}

TEST_F(LedgerDamage, SeesSwappedRows) {
  Edit(
      "UPDATE ledger SET sequence = 99 WHERE sequence = 4;"
      "UPDATE ledger SET sequence = 4 WHERE sequence = 5;"
      "UPDATE ledger SET sequence = 5 WHERE sequence = 99");
  ExpectRefused("ledger-damaged");
}

TEST_F(LedgerDamage, NamesTheFirstBadRow) {
  Edit("UPDATE ledger SET cost = '1' WHERE sequence = 5");
  EXPECT_THAT(std::string(home_.TryOpen().status().message()),
              HasSubstr("damaged at row 5"));
}

// An intruder that knows the format rewrites a row and every hash after it. The
// chain is whole then; the rules, and the anchor, still hold.
TEST_F(LedgerDamage, SeesARewrittenHistoryByItsAnchor) {
  std::vector<LedgerRow> rows = Ledger::ReadRows(home_.options).value();
  rows[3].unix_seconds += 1;
  for (std::size_t i = 3; i < rows.size(); ++i) {
    if (i > 3) rows[i].previous_hash = rows[i - 1].hash;
    rows[i].hash = HashOf(rows[i]);
    const auto hex = [](const Digest& digest) {
      return "x'" + HexOf(digest) + "'";
    };
    Edit("UPDATE ledger SET previous_hash = " + hex(rows[i].previous_hash) +
         ", hash = " + hex(rows[i].hash) +
         ", unix_seconds = " + std::to_string(rows[i].unix_seconds) +
         " WHERE sequence = " + std::to_string(i + 1));
  }
  ExpectRefused("ledger-behind-anchor");
  Ledger::Options unanchored = home_.options;
  unanchored.anchor_directory.clear();
  EXPECT_TRUE(Ledger::Verify(unanchored).ok());
}

// Rows that are chained correctly and break a rule: each of them is damage.
TEST_F(LedgerDamage, SeesARowThatCouldNotHaveBeenAppended) {
  const std::vector<LedgerRow> rows = Ledger::ReadRows(home_.options).value();
  const LedgerRow& population = rows[1];
  const LedgerRow& opening = rows[2];
  const LedgerRow& charge = rows[3];
  const LedgerRow& close = rows[5];
  const auto with = [](LedgerRow row,
                       const std::function<void(LedgerRow*)>& f) {
    f(&row);
    return row;
  };
  const auto other_run = [&](LedgerRow row) {
    row.run_id = "another";
    return row;
  };
  const std::vector<LedgerRow> wrong = {
      rows[0],     // a second genesis
      population,  // declared twice
      with(population,
           [](LedgerRow* r) {  // a cap above its epsilon
             r->population = "others";
             r->cost = MuSquared::FromUnits(r->cost.units() * 2);
           }),
      opening,  // opened twice
      charge,   // on a closed run
      close,    // closed twice
      with(other_run(opening),
           [&](LedgerRow* r) {
             r->cost = *MuSquared::Multiply(population.cost, 2);
           }),
      with(other_run(opening),
           [](LedgerRow* r) { r->population = "strangers"; }),
      with(other_run(opening), [](LedgerRow* r) { r->round = 0; }),
      with(other_run(opening), [](LedgerRow* r) { r->detail = "1"; }),
      with(other_run(opening), [](LedgerRow* r) { r->detail = "many"; }),
      other_run(charge),
      other_run(close)};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    SCOPED_TRACE(i);
    LedgerRow row = wrong[i];
    row.sequence = 7;
    row.previous_hash = rows.back().hash;
    row.hash = HashOf(row);
    const std::string saved = Slurp(File());
    Insert(row);
    ExpectRefused("ledger-damaged");
    Spill(File(), saved);
  }
  ExpectRefused("");
}

TEST_F(LedgerDamage, SeesAChangedSchema) {
  for (const char* sql :
       {"CREATE TABLE another (x)", "CREATE INDEX i ON ledger (round)",
        "CREATE TRIGGER t AFTER INSERT ON ledger BEGIN SELECT 1; END",
        "ALTER TABLE ledger ADD COLUMN note TEXT", "PRAGMA user_version = 0",
        "DROP TABLE ledger"}) {
    SCOPED_TRACE(sql);
    const std::string saved = Slurp(File());
    {
      SQLite::Database database(File(), SQLite::OPEN_READWRITE);
      database.exec(sql);
    }
    EXPECT_THAT(home_.OpenCode(),
                AnyOf("ledger-damaged", "ledger-behind-anchor"));
    EXPECT_NE(home_.VerifyCode(), "");
    Spill(File(), saved);
  }
}

TEST_F(LedgerDamage, ALedgerOfAnotherVersionOrOfNoneIsRefused) {
  for (const auto& [version, code] :
       {std::pair{2, "ledger-newer"}, std::pair{0, "ledger-damaged"},
        std::pair{-1, "ledger-damaged"}}) {
    SCOPED_TRACE(version);
    {
      SQLite::Database database(File(), SQLite::OPEN_READWRITE);
      database.exec(absl::StrCat("PRAGMA user_version = ", version));
    }
    ExpectRefused(code);
  }
}

TEST_F(LedgerDamage, RowsOfEveryKindAreOfTheSameVersion) {
  PopulationPolicy policy = PolicyFor("months");
  policy.partitions = {"id", {"jan", "feb"}};
  const auto ledger = home_.Open();
  ASSERT_TRUE(ledger->DeclarePopulation(policy).ok());
  ASSERT_TRUE(ledger->AssignPartition("months", "d", {"jan", Digest{1}}).ok());
  ASSERT_TRUE(ledger->AcceptOverlap({"people", DigestOfNumber(1), "Ann"}).ok());
  ASSERT_TRUE(
      ledger->BindDataset("people", "new", {Digest{1}, Digest{2}}).ok());
  SQLite::Database database(File(), SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 1);
}

// Checks as SeesARowThatCouldNotHaveBeenAppended does.
TEST_F(LedgerDamage, SeesDigestsThatCouldNotHaveBeenRecorded) {
  ASSERT_TRUE(
      home_.Open()->BindDataset("people", "new", {Digest{1}, Digest{2}}).ok());
  const std::vector<LedgerRow> rows = Ledger::ReadRows(home_.options).value();
  const std::vector<std::function<void(LedgerRow*)>> wrong = {
      [](LedgerRow*) {},  // twice
      [](LedgerRow* r) { r->dataset = "e", r->request_hash = {}; },
      [](LedgerRow* r) { r->dataset = ""; },
      [](LedgerRow* r) { r->dataset = "e", r->detail = "mar"; },
      [](LedgerRow* r) { r->dataset = "e", r->detail.clear(); },
      [](LedgerRow* r) { r->dataset = "e", r->population = "strangers"; },
      [](LedgerRow* r) { r->dataset = "e", r->identity = "dns:analyst"; },
      [](LedgerRow* r) { r->dataset = "e", r->run_id = "run"; },
      [](LedgerRow* r) { r->dataset = "e", r->round = 1; },
      [](LedgerRow* r) { r->dataset = "e", r->mechanism = "moments"; },
      [](LedgerRow* r) { r->dataset = "e", r->cost = MuSquared::FromUnits(1); },
  };
  ExpectEachRefused(wrong);
  ExpectRefused("");
}

// Checks as SeesARowThatCouldNotHaveBeenAppended does.
TEST_F(LedgerDamage, SeesAPartitionThatCouldNotHaveBeenRecorded) {
  PopulationPolicy policy = PolicyFor("months");
  policy.partitions = {"id", {"jan", "feb"}};
  ASSERT_TRUE(home_.Open()->DeclarePopulation(policy).ok());
  ASSERT_TRUE(
      home_.Open()->AssignPartition("months", "d", {"jan", Digest{1}}).ok());
  const std::vector<LedgerRow> rows = Ledger::ReadRows(home_.options).value();
  const std::vector<std::function<void(LedgerRow*)>> wrong = {
      [](LedgerRow*) {},  // twice
      [](LedgerRow* r) { r->dataset = "e", r->request_hash = {}; },
      [](LedgerRow* r) { r->dataset = ""; },
      [](LedgerRow* r) { r->dataset = "e", r->detail = "mar"; },
      [](LedgerRow* r) { r->dataset = "e", r->population = "people"; },
      [](LedgerRow* r) { r->dataset = "e", r->population = "strangers"; },
      [](LedgerRow* r) { r->dataset = "e", r->identity = "dns:analyst"; },
      [](LedgerRow* r) { r->dataset = "e", r->round = 1; },
      [](LedgerRow* r) { r->dataset = "e", r->cost = MuSquared::FromUnits(1); },
  };
  ExpectEachRefused(wrong);
  ExpectRefused("");
}

// Checks as SeesARowThatCouldNotHaveBeenAppended does.
TEST_F(LedgerDamage, SeesAPublicationThatCouldNotHaveBeenRecorded) {
  ASSERT_TRUE(home_.Open()
                  ->VoidGuarantee({"people", DigestOfNumber(1), "Ann Operator"})
                  .ok());
  const std::vector<LedgerRow> rows = Ledger::ReadRows(home_.options).value();
  const std::vector<std::function<void(LedgerRow*)>> wrong = {
      [](LedgerRow*) {},  // twice
      [](LedgerRow* r) { r->population = "strangers"; },
      [](LedgerRow* r) { r->request_hash = {}; },
      [](LedgerRow* r) { r->detail = ""; },
      [](LedgerRow* r) { r->detail = "two\nlines"; },
      [](LedgerRow* r) { r->identity = "dns:analyst"; },
      [](LedgerRow* r) { r->run_id = "run"; },
      [](LedgerRow* r) { r->round = 1; },
      [](LedgerRow* r) { r->mechanism = "statistics"; },
      [](LedgerRow* r) { r->dataset = "digits"; },
      [](LedgerRow* r) { r->cost = MuSquared::FromUnits(1); }};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    SCOPED_TRACE(i);
    LedgerRow row = rows.back();
    row.sequence = 8;
    row.previous_hash = rows.back().hash;
    if (i > 0) row.request_hash = DigestOfNumber(2);
    wrong[i](&row);
    row.hash = HashOf(row);
    const std::string saved = Slurp(File());
    Insert(row);
    ExpectRefused("ledger-damaged");
    Spill(File(), saved);
  }
  ExpectRefused("");
}

// Any byte of the file: either it is noticed or no row is affected (unused
// space, counters of SQLite's header).
TEST_F(LedgerDamage, AFlippedByteOfTheFileIsSeenOrChangesNoRow) {
  const std::string good = Slurp(File());
  const auto rows = Ledger::ReadRows(home_.options).value();
  std::mt19937_64 random(20'240'101);
  int seen = 0;
  constexpr int kFlips = 1500;
  for (int flip = 0; flip < kFlips; ++flip) {
    std::string bad = good;
    const std::size_t at = flip < 200 ? flip : random() % bad.size();
    bad[at] = static_cast<char>(bad[at] ^ (1 << (random() % 8)));
    Spill(File(), bad);
    const auto audit = Ledger::Audit(home_.options);
    if (!audit.ok()) {
      ++seen;
    } else {
      EXPECT_EQ(audit->rows, rows) << "byte " << at;
    }
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(File() + suffix);
  }
  EXPECT_GT(seen, kFlips / 20);
  std::printf("%d of %d flips seen, the others without effect\n", seen, kFlips);
}

TEST_F(LedgerDamage, SeesATruncatedFile) {
  const std::string good = Slurp(File());
  for (std::size_t size : {good.size() - 1, good.size() / 2, std::size_t{100},
                           std::size_t{10}, std::size_t{0}}) {
    SCOPED_TRACE(size);
    Spill(File(), good.substr(0, size));
    EXPECT_THAT(home_.OpenCode(),
                AnyOf("ledger-damaged", "ledger-behind-anchor"));
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(File() + suffix);
  }
}

// SQLite drops what does not fit its checksums from the write-ahead log on: the
// last rows are gone, and the anchor says so.
TEST_F(LedgerDamage, SeesAnEditedWriteAheadLog) {
  const TempDirectory copy;
  {
    const auto ledger = home_.Open();
    ASSERT_TRUE(ledger->OpenRun(OpeningFor("second", 4, 4)).ok());
    ReplaceDirectory(home_.options.directory, copy / "ledger");
  }
  ReplaceDirectory(copy / "ledger", home_.options.directory);
  const std::string wal = File() + "-wal";
  const std::string good = Slurp(wal);
  ASSERT_GT(good.size(), 1000u);
  for (std::size_t at : {std::size_t{40}, good.size() / 2, good.size() - 1}) {
    ReplaceDirectory(copy / "ledger", home_.options.directory);
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    Spill(wal, bad);
    EXPECT_EQ(home_.OpenCode(), "ledger-behind-anchor") << at;
  }
  ReplaceDirectory(copy / "ledger", home_.options.directory);
  EXPECT_EQ(home_.OpenCode(), "");
}

TEST_F(LedgerDamage, RefusesAnOldCopyOfTheWholeDirectory) {
  const TempDirectory old;
  ReplaceDirectory(home_.options.directory, old / "ledger");
  {
    const auto ledger = home_.Open();
    ASSERT_TRUE(ledger->OpenRun(OpeningFor("second", 4, 4)).ok());
  }
  ReplaceDirectory(old / "ledger", home_.options.directory);
  ExpectRefused("ledger-behind-anchor");
  EXPECT_EQ(ReasonCode(Ledger::AcceptAnchor(home_.options).status()),
            "ledger-behind-anchor");
}

TEST_F(LedgerDamage, RefusesAFork) {
  const TempDirectory old;
  ReplaceDirectory(home_.options.directory, old / "ledger");
  {
    const auto ledger = home_.Open();
    ASSERT_TRUE(ledger->OpenRun(OpeningFor("second", 4, 4)).ok());
  }
  // The old copy goes its own way, further than the anchor's count.
  Ledger::Options fork;
  fork.directory = old / "ledger";
  {
    const auto ledger = Ledger::Open(fork).value();
    ASSERT_TRUE(ledger->OpenRun(OpeningFor("third", 4, 4)).ok());
    ASSERT_TRUE(ledger->OpenRun(OpeningFor("fourth", 4, 8)).ok());
  }
  ReplaceDirectory(old / "ledger", home_.options.directory);
  ExpectRefused("ledger-behind-anchor");
}

TEST_F(LedgerDamage, RefusesAnEmptyLedgerBesideAnAnchorWithRows) {
  fs::remove_all(home_.options.directory);
  EXPECT_EQ(home_.OpenCode(), "ledger-behind-anchor");
  EXPECT_EQ(home_.OpenCode(), "ledger-behind-anchor");  // nothing was begun
}

TEST_F(LedgerDamage, RefusesTheAnchorOfAnotherLedger) {
  const LedgerHome other;
  other.OpenWithPeople();
  ReplaceDirectory(other.options.anchor_directory,
                   home_.options.anchor_directory);
  ExpectRefused("ledger-behind-anchor");
  EXPECT_EQ(ReasonCode(Ledger::AcceptAnchor(home_.options).status()),
            "ledger-behind-anchor");
}

TEST_F(LedgerDamage, RefusesAMissingAnchorUntilItIsAccepted) {
  fs::remove_all(home_.options.anchor_directory);
  ExpectRefused("ledger-behind-anchor");
  const std::string sentence(home_.TryOpen().status().message());
  EXPECT_THAT(sentence, HasSubstr("ledger anchor --accept"));
  EXPECT_THAT(sentence, HasSubstr("first check --anchor-dir"));
  EXPECT_THAT(sentence,
              HasSubstr(home_.options.anchor_directory + "/anchor.json"));
  const auto accepted = Ledger::AcceptAnchor(home_.options);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(accepted->row_count, 6u);
  EXPECT_FALSE(accepted->replaced_unreadable);
  ExpectRefused("");
  EXPECT_EQ(Ledger::Verify(home_.options)->row_count, 6u);
  EXPECT_EQ(ReasonCode(Ledger::AcceptAnchor(home_.options).status()),
            "anchor-present");
}

TEST_F(LedgerDamage, RefusesAnUnreadableAnchorUntilItIsAccepted) {
  Spill(home_.options.anchor_directory + "/anchor.json", "{\"format\": 1");
  ExpectRefused("ledger-behind-anchor");
  EXPECT_TRUE(Ledger::AcceptAnchor(home_.options)->replaced_unreadable);
  ExpectRefused("");
}

TEST_F(LedgerDamage, DoesNotAcceptAnAnchorForADamagedLedger) {
  fs::remove_all(home_.options.anchor_directory);
  Edit("UPDATE ledger SET cost = '1' WHERE sequence = 5");
  EXPECT_EQ(ReasonCode(Ledger::AcceptAnchor(home_.options).status()),
            "ledger-damaged");
}

TEST_F(LedgerDamage, DoesNotAcceptAnAnchorWhileAServerRuns) {
  const auto ledger = home_.Open();
  fs::remove_all(home_.options.anchor_directory);
  EXPECT_EQ(ReasonCode(Ledger::AcceptAnchor(home_.options).status()),
            "data-dir-in-use");
}

// A stop between commit and anchor: the ledger is ahead, which is fine.
TEST_F(LedgerDamage, MovesTheAnchorForwardOfALedgerThatIsAhead) {
  const TempDirectory old;
  ReplaceDirectory(home_.options.anchor_directory, old / "anchor");
  {
    const auto ledger = home_.Open();
    ASSERT_TRUE(ledger->OpenRun(OpeningFor("second", 4, 4)).ok());
  }
  const auto newest = ReadAnchor(home_.options.anchor_directory).value();
  ReplaceDirectory(old / "anchor", home_.options.anchor_directory);
  EXPECT_EQ(Ledger::Audit(home_.options)->anchor, AnchorState::kLedgerAhead);
  home_.Open();
  EXPECT_EQ(ReadAnchor(home_.options.anchor_directory).value(), newest);
}

TEST_F(LedgerDamage, RefusesAnAnchorInTheLedgersOwnDirectory) {
  Ledger::Options options = home_.options;
  options.anchor_directory = options.directory + "/../ledger/";
  EXPECT_EQ(ReasonCode(Ledger::Open(options).status()),
            "anchor-directory-invalid");
  options.anchor_directory = options.directory + "/anchor";
  EXPECT_EQ(ReasonCode(Ledger::Open(options).status()),
            "anchor-directory-invalid");
}

TEST(LedgerAnchor, WithoutAnAnchorARollbackIsNotSeen) {
  const LedgerHome home(/*anchored=*/false);
  const TempDirectory old;
  home.OpenWithPeople();
  ReplaceDirectory(home.options.directory, old / "ledger");
  ASSERT_TRUE(home.Open()->OpenRun(OpeningFor("run")).ok());
  ReplaceDirectory(old / "ledger", home.options.directory);
  EXPECT_EQ(home.OpenCode(), "");
  EXPECT_EQ(Ledger::Audit(home.options)->anchor, AnchorState::kNone);
}

}  // namespace
}  // namespace dpnmf::curator
