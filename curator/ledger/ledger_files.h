// A ledger and its anchor as they lie on disk: who may use them, and whether
// all rows are right and the two agree. What a server appends is in ledger.cc.
#ifndef DPNMF_CURATOR_LEDGER_LEDGER_FILES_H_
#define DPNMF_CURATOR_LEDGER_LEDGER_FILES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/durable_file.h"
#include "curator/ledger/anchor.h"
#include "curator/ledger/ledger_book.h"
#include "curator/ledger/ledger_records.h"
#include "curator/ledger/ledger_table.h"

namespace dpnmf::curator {

// Keeps other processes away, also from the anchor of a copy of this ledger.
struct LedgerLocks {
  // FAILED_PRECONDITION "data-dir-in-use"; UNAVAILABLE "storage-failed".
  static absl::StatusOr<LedgerLocks> Take(const LedgerSettings& options);

  FileLock ledger;
  std::optional<FileLock> anchor;
};

struct LedgerFiles {
  // Locked, verified row by row and against the anchor, which is then written;
  // a new ledger gets its first row. Errors of Ledger::Open.
  static absl::StatusOr<LedgerFiles> Open(const LedgerSettings& options);
  // The functions of Ledger that have these names.
  static absl::StatusOr<LedgerAudit> Audit(const LedgerSettings& options);
  static absl::StatusOr<std::vector<LedgerRow>> ReadRows(
      const LedgerSettings& options);
  static absl::StatusOr<AcceptedAnchor> AcceptAnchor(
      const LedgerSettings& options);

  LedgerLocks locks;
  LedgerTable table;
  LedgerBook book;
};

// DATA_LOSS "ledger-behind-anchor": "WHAT (anchor: PATH); ADVICE".
absl::Status BehindAnchor(const LedgerSettings& options, std::string_view what,
                          std::string_view advice);

// Returns nullopt if there is no anchor, or no directory for one. DATA_LOSS
// "ledger-behind-anchor" if the anchor is not readable.
absl::StatusOr<std::optional<Anchor>> ReadAnchorOf(
    const LedgerSettings& options);

// Anchor that matches the current rows.
Anchor AnchorOf(const LedgerBook& book);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_LEDGER_LEDGER_FILES_H_
