// The ledger and its anchor as they lie on disk, read without the product's
// code.
#ifndef DPNMF_TESTS_ATTACKS_LEDGER_FILE_H_
#define DPNMF_TESTS_ATTACKS_LEDGER_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/attacks/budget_model.h"

namespace dpnmf::curator {

struct FileRow {
  std::uint64_t sequence = 0;
  std::string kind, population, identity, run;
  std::uint32_t round = 0;
  Units cost = 0;
  std::string request_hash, previous_hash, hash;  // hex

  friend bool operator==(const FileRow&, const FileRow&) = default;
};

// Every row by number. The file may be in use.
std::vector<FileRow> ReadLedgerFile(const std::string& directory);

struct FileCounts {
  std::uint64_t rows = 0, charges = 0;
};
// Counts all rows and the charges among the first `rows` rows.
FileCounts CountLedgerFile(const std::string& directory, std::uint64_t rows);

struct FileAnchor {
  std::uint64_t rows = 0;  // 0: no anchor
  std::string head;
};
FileAnchor ReadAnchorFile(const std::string& directory);

// Fails the test unless the rows are numbered without gaps and each names the
// hash of the one before.
void ExpectChained(const std::vector<FileRow>& rows);

// Fails the test unless every prefix of the rows is lawful by its amounts:
// charged + reserved <= cap, charges of open runs alone, in order and within
// the reservation, one closing a run that returns what is left. For each
// population the cap that its row names.
void ExpectLawful(const std::vector<FileRow>& rows);

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_LEDGER_FILE_H_
