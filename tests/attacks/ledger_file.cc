#include "tests/attacks/ledger_file.h"

#include <fstream>
#include <map>

#include "SQLiteCpp/SQLiteCpp.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

SQLite::Database OpenFile(const std::string& directory) {
  // By the system's own calls, whatever stands between it and the product.
  return SQLite::Database(directory + "/ledger.sqlite", SQLite::OPEN_READONLY,
                          kBusyTimeoutMs, "unix");
}

Units UnitsOf(const std::string& digits) {
  Units units = 0;
  for (const char digit : digits)
    units = units * 10 + static_cast<Units>(digit - '0');
  return units;
}

}  // namespace

std::vector<FileRow> ReadLedgerFile(const std::string& directory) {
  SQLite::Database database = OpenFile(directory);
  SQLite::Statement query(
      database,
      "SELECT sequence, kind, population, identity, run_id, round, cost, "
      "lower(hex(request_hash)), lower(hex(previous_hash)), lower(hex(hash)) "
      "FROM ledger ORDER BY sequence");
  std::vector<FileRow> rows;
  while (query.executeStep()) {
    FileRow row;
    row.sequence = static_cast<std::uint64_t>(query.getColumn(0).getInt64());
    row.kind = query.getColumn(1).getString();
    row.population = query.getColumn(2).getString();
    row.identity = query.getColumn(3).getString();
    row.run = query.getColumn(4).getString();
    row.round = query.getColumn(5).getUInt();
    row.cost = UnitsOf(query.getColumn(6).getString());
    row.request_hash = query.getColumn(7).getString();
    row.previous_hash = query.getColumn(8).getString();
    row.hash = query.getColumn(9).getString();
    rows.push_back(std::move(row));
  }
  return rows;
}

FileCounts CountLedgerFile(const std::string& directory, std::uint64_t rows) {
  SQLite::Database database = OpenFile(directory);
  SQLite::Statement query(
      database,
      "SELECT count(*), sum(kind = 'charge') FROM ledger WHERE sequence <= ?");
  query.bind(1, static_cast<std::int64_t>(rows));
  query.executeStep();
  return {static_cast<std::uint64_t>(query.getColumn(0).getInt64()),
          static_cast<std::uint64_t>(query.getColumn(1).getInt64())};
}

FileAnchor ReadAnchorFile(const std::string& directory) {
  std::ifstream file(directory + "/anchor.json");
  if (!file) return {};
  const nlohmann::json anchor = nlohmann::json::parse(file);
  return {anchor["rows"].get<std::uint64_t>(),
          anchor["head"].get<std::string>()};
}

void ExpectChained(const std::vector<FileRow>& rows) {
  std::string head(64, '0');
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].sequence, i + 1);
    ASSERT_EQ(rows[i].previous_hash, head);
    head = rows[i].hash;
  }
}

void ExpectLawful(const std::vector<FileRow>& rows) {
  struct OpenRun {
    Units left = 0;
    std::uint32_t rounds = 0, charged = 0;
    bool closed = false;
    std::string identity;
  };
  std::map<std::string, Units> caps, used;
  std::map<std::string, OpenRun> runs;
  for (const FileRow& row : rows) {
    SCOPED_TRACE("row " + std::to_string(row.sequence));
    if (row.kind == "genesis") continue;
    if (row.kind == "population") {
      ASSERT_TRUE(caps.emplace(row.population, row.cost).second);
      continue;
    }
    OpenRun& run = runs[row.run];
    if (row.kind == "open") {
      ASSERT_EQ(run.rounds, 0u);
      run = {row.cost, row.round, 0, false, row.identity};
      used[row.population] += row.cost;
    } else {
      ASSERT_FALSE(run.closed);
      ASSERT_EQ(run.identity, row.identity);
      ASSERT_LE(row.cost, run.left);
      if (row.kind == "charge") {
        ASSERT_EQ(row.round, ++run.charged);
        ASSERT_LE(row.round, run.rounds);
        run.left -= row.cost;
      } else {
        ASSERT_EQ(UnitsText(row.cost), UnitsText(run.left));
        run.closed = true;
        used[row.population] -= row.cost;
      }
    }
    ASSERT_LE(used[row.population], caps.at(row.population));
  }
}

}  // namespace dpnmf::curator
