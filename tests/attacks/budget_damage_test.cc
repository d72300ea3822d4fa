// Attack: random damage to the ledger, its log and its anchor between two
// starts, and copies of the volume served later, elsewhere or beside the
// original. Either the curator refuses to start, and nothing is released; or
// nothing is wrong: every row is as it was and every release has its bytes.
//
// DPNMF_ATTACK_SEED repeats, DPNMF_ATTACK_TRIALS=n does n times as much. Where
// a kind of damage must be refused, it is for certain, not by chance.
#include <filesystem>
#include <map>

#include "SQLiteCpp/SQLiteCpp.h"
#include "curator/ledger/ledger_row.h"
#include "gtest/gtest.h"
#include "tests/attacks/attacker.h"
#include "tests/curator/ledger/damaged_files.h"

namespace dpnmf::curator {
namespace {

namespace fs = std::filesystem;

std::string Hex(const Digest& digest) { return "x'" + HexOf(digest) + "'"; }

PopulationPolicy Extra(const std::string& population) {
  return {population, Adjacency::kReplaceOne, Conversion::kRdp, 1, 1e-5};
}

enum class Must { kRefuse, kRefuseOrBeWhole, kBeWhole };

class Vandal {
 public:
  explicit Vandal(std::uint64_t seed) : attacker_(&curator_, seed, 10) {
    curator_.Start();
    for (int call = 0; call < 150; ++call) {
      if (call % 30 == 20) old_.push_back({curator_.KeepCopy(), Rows().size()});
      const Attempt attempt = attacker_.Think();
      const Answer answer = attacker_.Do(attempt);
      if (attempt.kind == Attempt::kAsk && answer.found) {
        attacker_.Learn(attempt.run, attempt.round + 1);
        if (!attempt.by_session()) released_.push_back({attempt, answer});
      }
    }
    attacker_.DropSessions();
    // Every old copy lacks a row.
    EXPECT_TRUE(curator_.ledger().DeclarePopulation(Extra("last")).ok());
    // Half of the time as a crash leaves it, with a write-ahead log.
    if (attacker_.Below(2) == 0) curator_.Stop();
    good_ = curator_.KeepCopy();
    curator_.Stop();
    curator_.PutBack(good_);
    rows_ = Rows();
    curator_.PutBack(good_);
  }

  // One kind of damage to the whole ledger; what came of it: "" or a code.
  std::string Try(int kind) {
    curator_.PutBack(good_);
    const std::uint64_t draws = curator_.draws();
    const Must must = Damage(kind);
    const absl::Status started = curator_.TryStart();
    const std::string code = ReasonCode(started);
    EXPECT_TRUE(started.ok() || code == "ledger-damaged" ||
                code == "ledger-behind-anchor" || code == "ledger-newer" ||
                code == "storage-failed")
        << started;
    EXPECT_TRUE(must != Must::kRefuse || !code.empty());
    EXPECT_TRUE(must != Must::kBeWhole || code.empty()) << code;
    if (started.ok()) ExpectWhole();
    EXPECT_EQ(curator_.draws(), draws);
    curator_.Stop();
    return code;
  }

  static constexpr int kKinds = 13;

 private:
  struct OldCopy {
    std::string path;
    std::size_t rows;
  };

  std::vector<FileRow> Rows() const {
    return ReadLedgerFile(curator_.LedgerDirectoryPath());
  }

  void ExpectWhole() {
    EXPECT_TRUE(Rows() == rows_) << "a row changed";
    for (const auto& [attempt, answer] : released_) {
      const Answer again = attacker_.Do(attempt);
      EXPECT_EQ(again.code, "");
      EXPECT_EQ(again.bytes, answer.bytes);
      EXPECT_EQ(again.row_hash, answer.row_hash);
    }
  }

  std::uint64_t Below(std::uint64_t bound) { return attacker_.Below(bound); }
  std::string File() const {
    return curator_.LedgerDirectoryPath() + "/ledger.sqlite";
  }
  // The ledger, its log and index if there are any, the anchor.
  std::string AnyFile() {
    std::vector<std::string> files = {
        File(), File(), curator_.AnchorDirectoryPath() + "/anchor.json"};
    for (const char* suffix : {"-wal", "-shm"}) {
      if (fs::exists(File() + suffix)) files.push_back(File() + suffix);
    }
    return files[Below(files.size())];
  }
  const OldCopy& AnyOld() { return old_[Below(old_.size())]; }

  // Runs `sql` as an attacker who knows SQLite and the triggers would.
  void Edit(const std::string& sql) const {
    SQLite::Database database(File(), SQLite::OPEN_READWRITE);
    std::vector<std::string> triggers;
    for (const std::string name :
         {"ledger_keeps_rows", "ledger_keeps_values"}) {
      triggers.push_back(
          database
              .execAndGet("SELECT sql FROM sqlite_schema WHERE name = '" +
                          name + "'")
              .getString());
      database.exec("DROP TRIGGER " + name);
    }
    database.exec(sql);
    for (const std::string& trigger : triggers) database.exec(trigger);
  }

  Must Damage(int kind) {
    switch (kind) {
      case 0:
        return FlipBits();
      case 1: {
        const std::string file = AnyFile();
        fs::resize_file(
            file, Below(std::max<std::uintmax_t>(fs::file_size(file), 1)));
        return Must::kRefuseOrBeWhole;
      }
      case 2: {
        // Without its log a ledger may be whole, not without the rest.
        const std::string file = AnyFile();
        fs::remove(file);
        return file.find("ledger.sqlite-") == std::string::npos
                   ? Must::kRefuse
                   : Must::kRefuseOrBeWhole;
      }
      case 3:
        return EditACell();
      case 4:
        Edit("DELETE FROM ledger WHERE sequence > " +
             std::to_string(1 + Below(rows_.size() - 1)));
        return Must::kRefuse;
      case 5:
        return DeleteOrRepeatARow();
      case 6:
        return RewriteHistory();
      case 7:
        return ServeAnOldCopy();
      case 8:
        return Fork();
      case 9:
        ReplaceDirectory(AnyOld().path + "/anchor",
                         curator_.AnchorDirectoryPath());
        return Must::kBeWhole;  // a stop between commit and anchor
      case 10:
        return MixBackups();
      case 11:
        fs::remove_all(curator_.LedgerDirectoryPath());
        return Must::kRefuse;
      default:
        return OverwriteABlock();
    }
  }

  Must FlipBits() {
    const std::string file = AnyFile();
    std::string bytes = Slurp(file);
    for (std::uint64_t flips = 1 + Below(3); flips > 0 && !bytes.empty();
         --flips) {
      char& byte = bytes[Below(bytes.size())];
      byte = static_cast<char>(byte ^ (1 << Below(8)));
    }
    Spill(file, bytes);
    return Must::kRefuseOrBeWhole;
  }

  Must EditACell() {
    const char* const edits[] = {"kind = 'close'",
                                 "unix_seconds = unix_seconds + 1",
                                 "population = 'nobody'",
                                 "identity = 'dns:eve'",
                                 "run_id = run_id || 'x'",
                                 "round = round + 1",
                                 "mechanism = 'free'",
                                 "dataset = dataset || 'x'",
                                 "request_hash = zeroblob(32)",
                                 "cost = '1'",
                                 "detail = detail || ' '",
                                 "previous_hash = zeroblob(32)",
                                 "hash = zeroblob(32)"};
    // Not the first rows, in which a field may be so already.
    const FileRow& row = rows_[4 + Below(rows_.size() - 4)];
    std::string edit = edits[Below(std::size(edits))];
    if (row.kind == "close" && edit == "kind = 'close'") edit = "kind = 'open'";
    if (row.kind != "charge" && edit == "request_hash = zeroblob(32)")
      edit = "cost = '1'";
    Edit("UPDATE ledger SET " + edit +
         " WHERE sequence = " + std::to_string(row.sequence));
    return Must::kRefuse;
  }

  Must DeleteOrRepeatARow() {
    const std::string row = std::to_string(1 + Below(rows_.size()));
    if (Below(2) == 0) {
      Edit("DELETE FROM ledger WHERE sequence = " + row);
    } else {
      Edit(
          "INSERT INTO ledger SELECT (SELECT max(sequence) + 1 FROM ledger), "
          "kind, unix_seconds, population, identity, run_id, round, "
          "mechanism, dataset, request_hash, cost, detail, previous_hash, hash "
          "FROM ledger WHERE sequence = " +
          row);
    }
    return Must::kRefuse;
  }

  // A row is changed and its hash made to fit: alone (the anchor's row stays as
  // it is), or with every hash from there on.
  Must RewriteHistory() {
    std::vector<LedgerRow> rows =
        Ledger::ReadRows(curator_.LedgerOptions()).value();
    const std::size_t first = 1 + Below(rows.size() - 2);
    const std::size_t end = Below(2) == 0 ? first + 1 : rows.size();
    rows[first].unix_seconds -= 1;
    std::string sql;
    for (std::size_t i = first; i < end; ++i) {
      rows[i].previous_hash = rows[i - 1].hash;
      rows[i].hash = HashOf(rows[i]);
      sql += "UPDATE ledger SET previous_hash = " + Hex(rows[i].previous_hash) +
             ", hash = " + Hex(rows[i].hash) +
             ", unix_seconds = " + std::to_string(rows[i].unix_seconds) +
             " WHERE sequence = " + std::to_string(i + 1) + ";";
    }
    Edit(sql);
    return Must::kRefuse;
  }

  Must ServeAnOldCopy() {
    const OldCopy& old = AnyOld();
    ReplaceDirectory(old.path + "/ledger", curator_.LedgerDirectoryPath());
    if (Below(2) == 0)
      ReplaceDirectory(old.path + "/releases", curator_.ReleasesPath());
    return Must::kRefuse;
  }

  // An old copy went its own way, past the present row count, and comes back.
  Must Fork() {
    const OldCopy& old = AnyOld();
    ReplaceDirectory(old.path + "/ledger", curator_.LedgerDirectoryPath());
    Ledger::Options options = curator_.LedgerOptions();
    options.anchor_directory.clear();
    options.unix_seconds = [] { return std::int64_t{1'800'000'000}; };
    const auto ledger = Ledger::Open(options).value();
    for (std::size_t row = old.rows; row < rows_.size() + 2; ++row) {
      EXPECT_TRUE(
          ledger->DeclarePopulation(Extra("fork-" + std::to_string(row))).ok());
    }
    return Must::kRefuse;
  }

  // File by file from one backup or another.
  Must MixBackups() {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      const std::string from = AnyOld().path + "/ledger/ledger.sqlite" + suffix;
      if (Below(2) == 0) continue;
      fs::remove(File() + suffix);
      if (fs::exists(from)) fs::copy_file(from, File() + suffix);
    }
    return Must::kRefuseOrBeWhole;
  }

  Must OverwriteABlock() {
    const std::string file = AnyFile();
    std::string bytes = Slurp(file);
    const std::size_t at = Below(bytes.size() + 1);
    const std::size_t end = std::min(bytes.size(), at + Below(4096));
    for (std::size_t i = at; i < end; ++i)
      bytes[i] = static_cast<char>(Below(256));
    Spill(file, bytes);
    return Must::kRefuseOrBeWhole;
  }

  AttackedCurator curator_;
  Attacker attacker_;
  std::vector<std::pair<Attempt, Answer>> released_;
  std::vector<OldCopy> old_;
  std::string good_;
  std::vector<FileRow> rows_;
};

TEST(BudgetDamage, ADamagedLedgerIsRefusedOrWhole) {
  const std::uint64_t seed = AttackSeed("BudgetDamage");
  const int vandals = AttackTrials(10);
  constexpr int kDamages = 4;
  std::map<std::string, int> came_of;
  for (int v = 0; v < vandals; ++v) {
    SCOPED_TRACE("seed " + std::to_string(seed + static_cast<unsigned>(v)));
    Vandal vandal(seed + static_cast<unsigned>(v));
    for (int damage = 0; damage < kDamages * Vandal::kKinds; ++damage) {
      SCOPED_TRACE("damage " + std::to_string(damage));
      ++came_of[vandal.Try(damage % Vandal::kKinds)];
      if (testing::Test::HasFailure()) return;
    }
  }
  std::string line = "damage to the ledger |";
  for (const auto& [code, count] : came_of) {
    line += " " + std::to_string(count) + " " +
            (code.empty() ? std::string("without effect") : code) + ",";
  }
  line.pop_back();
  ReportAttack(line);
}

// Two copies of a ledger with one anchor.
class BudgetFork : public testing::Test {
 protected:
  BudgetFork() {
    curator_.Start();
    EXPECT_EQ(curator_.Open(kAlice, "run", variant_).code, "");
    EXPECT_EQ(curator_.Ask(kAlice, "run", variant_, 1, 0).code, "");
    copy_ = curator_.KeepCopy();
  }

  AttackedCurator curator_;
  const RunVariant& variant_ = RunVariants()[0];
  std::string copy_;
};

TEST_F(BudgetFork, ACopyIsNotServedBesideTheOriginal) {
  Ledger::Options fork = curator_.LedgerOptions();
  fork.directory = copy_ + "/ledger";
  EXPECT_EQ(ReasonCode(Ledger::Open(fork).status()), "data-dir-in-use");
  EXPECT_EQ(ReasonCode(Ledger::AcceptAnchor(fork).status()), "data-dir-in-use");
  // The original goes on, and the copy stays behind for good.
  EXPECT_EQ(curator_.Ask(kAlice, "run", variant_, 2, 0).code, "");
  curator_.Stop();
  EXPECT_EQ(ReasonCode(Ledger::Open(fork).status()), "ledger-behind-anchor");
}

// The anchor protects where the lock does not reach (on another machine):
// whoever appends first moves the anchor and excludes the other.
TEST_F(BudgetFork, ACopyThatMovedTheAnchorStopsTheOriginal) {
  Ledger::Options fork = curator_.LedgerOptions();
  fork.directory = copy_ + "/ledger";
  fork.anchor_directory = copy_ + "/anchor";
  {
    const auto ledger = Ledger::Open(fork).value();
    EXPECT_TRUE(ledger->CloseRun(kAlice, "run").ok());
  }
  fs::copy_file(copy_ + "/anchor/anchor.json",
                curator_.AnchorDirectoryPath() + "/anchor.json",
                fs::copy_options::overwrite_existing);
  const std::uint64_t draws = curator_.draws();
  const std::size_t rows =
      ReadLedgerFile(curator_.LedgerDirectoryPath()).size();
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(curator_.Ask(kAlice, "run", variant_, 2, 0).code,
              "ledger-behind-anchor");
    EXPECT_EQ(curator_.Open(kAlice, "another", variant_).code,
              "ledger-behind-anchor");
    EXPECT_EQ(curator_.Close(kAlice, "run").code, "ledger-behind-anchor");
  }
  EXPECT_EQ(curator_.draws(), draws);
  EXPECT_EQ(ReadLedgerFile(curator_.LedgerDirectoryPath()).size(), rows);
  curator_.Stop();
  EXPECT_EQ(ReasonCode(curator_.TryStart()), "ledger-behind-anchor");
}

TEST_F(BudgetFork, AnAnchorThatWentAwayStopsTheLedgerUntilItIsBack) {
  const std::string anchor = curator_.AnchorDirectoryPath();
  fs::rename(anchor, anchor + ".away");
  EXPECT_EQ(curator_.Ask(kAlice, "run", variant_, 2, 0).code,
            "ledger-behind-anchor");
  EXPECT_EQ(curator_.Ask(kAlice, "run", variant_, 1, 0).code, "");  // stored
  fs::remove_all(anchor);
  fs::rename(anchor + ".away", anchor);
  EXPECT_EQ(curator_.Ask(kAlice, "run", variant_, 2, 0).code, "");
}

}  // namespace
}  // namespace dpnmf::curator
