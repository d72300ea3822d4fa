#include "curator/ledger/ledger_files.h"

#include <openssl/rand.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger_row.h"

namespace dpnmf::curator {
namespace {

std::string RandomLedgerId() {
  std::array<std::uint8_t, 16> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) {
    std::fputs("dpnmf: OpenSSL has no random bytes; stopping\n", stderr);
    std::abort();
  }
  return HexOf(bytes);
}

constexpr char kRestoreAdvice[] =
    "charges may be missing, so nothing is released: restore the ledger that "
    "the anchor belongs to.";
constexpr char kAcceptAdvice[] =
    "first check --anchor-dir: it must name the directory that was given "
    "before. Only if the anchor itself was lost and this ledger is the latest, "
    "run `dpnmf-curator ledger anchor --accept`.";

absl::Status CheckAnchorDirectory(const LedgerSettings& options) {
  if (options.anchor_directory.empty() ||
      !LiesIn(options.anchor_directory, options.directory)) {
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kInvalidArgument, "anchor-directory-invalid",
                 "The anchor must not be in the ledger's own directory; choose "
                 "a directory on another volume.");
}

// The rows, and what they add up to.
struct Replayed {
  LedgerBook book;
  // Hash of the row at the anchor's count, if there is one.
  std::optional<Digest> hash_at_anchor;
};

absl::StatusOr<Replayed> Replay(LedgerTable* table,
                                const std::optional<Anchor>& anchor,
                                std::vector<LedgerRow>* rows) {
  Replayed replayed;
  const auto book_row = [&](const LedgerRow& row) -> absl::Status {
    if (const absl::Status status = replayed.book.Check(row); !status.ok()) {
      return Refusal(
          absl::StatusCode::kDataLoss, "ledger-damaged",
          absl::StrCat("The ledger is damaged at row ",
                       replayed.book.row_count() + 1, ". ", status.message()));
    }
    replayed.book.Add(row);
    if (anchor.has_value() && anchor->row_count == row.sequence)
      replayed.hash_at_anchor = row.hash;
    if (rows != nullptr) rows->push_back(row);
    return absl::OkStatus();
  };
  DPNMF_RETURN_IF_ERROR(table->ForEachRow(book_row));
  if (replayed.book.row_count() == 0) {
    return Refusal(absl::StatusCode::kDataLoss, "ledger-damaged",
                   "The ledger is damaged: it has no rows.");
  }
  return replayed;
}

// Checks that the ledger is the one that the anchor knows, or its continuation.
absl::StatusOr<AnchorState> CompareWithAnchor(
    const LedgerSettings& options, const Replayed& replayed,
    const std::optional<Anchor>& anchor) {
  const LedgerBook& book = replayed.book;
  if (!anchor.has_value()) {
    if (book.row_count() == 1) return AnchorState::kFirst;
    return BehindAnchor(options,
                        absl::StrCat("The ledger has ", book.row_count(),
                                     " rows and its anchor is missing"),
                        kAcceptAdvice);
  }
  if (anchor->ledger_id != book.ledger_id()) {
    return BehindAnchor(options, "The anchor belongs to another ledger",
                        "give the right --anchor-dir, or restore the ledger "
                        "that the anchor belongs to.");
  }
  if (anchor->row_count > book.row_count()) {
    return BehindAnchor(
        options,
        absl::StrCat("The ledger has ", book.row_count(),
                     " rows and its anchor says ", anchor->row_count),
        kRestoreAdvice);
  }
  if (replayed.hash_at_anchor != anchor->head) {
    return BehindAnchor(options,
                        absl::StrCat("Row ", anchor->row_count,
                                     " is not the row that the anchor knows"),
                        kRestoreAdvice);
  }
  return anchor->row_count == book.row_count() ? AnchorState::kAgrees
                                               : AnchorState::kLedgerAhead;
}

// `name` is "ledger" or "anchor", and stands in the sentence.
absl::StatusOr<FileLock> LockOf(const std::string& directory,
                                const std::string& name) {
  return FileLock::Take(
      absl::StrCat(directory, "/", name, ".lock"),
      Refusal(absl::StatusCode::kFailedPrecondition, "data-dir-in-use",
              absl::StrCat("A curator or another command uses the ", name,
                           " in `", directory,
                           "`: stop the curator, or wait for the command.")));
}

// A new ledger: its first row and its anchor.
absl::StatusOr<LedgerBook> Begin(const LedgerSettings& options,
                                 const std::optional<Anchor>& anchor,
                                 LedgerTable* table) {
  if (anchor.has_value()) {
    return BehindAnchor(options,
                        absl::StrCat("The ledger is empty and its anchor says ",
                                     anchor->row_count, " rows"),
                        kRestoreAdvice);
  }
  LedgerBook book;
  LedgerRow genesis;
  genesis.unix_seconds = options.unix_seconds();
  genesis.detail = RandomLedgerId();
  genesis = book.Chained(std::move(genesis));
  DPNMF_RETURN_IF_ERROR(book.Check(genesis));
  DPNMF_RETURN_IF_ERROR(table->CreateWith(genesis).status);
  DPNMF_RETURN_IF_ERROR(SyncDirectory(options.directory));
  book.Add(genesis);
  return book;
}

absl::StatusOr<LedgerBook> Load(const LedgerSettings& options,
                                LedgerTable* table) {
  DPNMF_ASSIGN_OR_RETURN(const std::optional<Anchor> anchor,
                         ReadAnchorOf(options));
  DPNMF_ASSIGN_OR_RETURN(const bool is_new, table->IsNew());
  if (is_new) return Begin(options, anchor, table);
  DPNMF_ASSIGN_OR_RETURN(Replayed replayed, Replay(table, anchor, nullptr));
  if (!options.anchor_directory.empty())
    DPNMF_RETURN_IF_ERROR(
        CompareWithAnchor(options, replayed, anchor).status());
  return std::move(replayed.book);
}

}  // namespace

absl::Status BehindAnchor(const LedgerSettings& options, std::string_view what,
                          std::string_view advice) {
  return Refusal(
      absl::StatusCode::kDataLoss, "ledger-behind-anchor",
      absl::StrCat(View(what), " (anchor: ",
                   AnchorFile(options.anchor_directory), "); ", View(advice)));
}

absl::StatusOr<std::optional<Anchor>> ReadAnchorOf(
    const LedgerSettings& options) {
  if (options.anchor_directory.empty()) return std::nullopt;
  auto anchor = ReadAnchor(options.anchor_directory);
  if (ReasonCode(anchor.status()) == "anchor-damaged")
    return BehindAnchor(options, "The ledger's anchor is not readable",
                        kAcceptAdvice);
  return anchor;
}

Anchor AnchorOf(const LedgerBook& book) {
  return {book.ledger_id(), book.row_count(), book.head()};
}

absl::StatusOr<LedgerLocks> LedgerLocks::Take(const LedgerSettings& options) {
  DPNMF_ASSIGN_OR_RETURN(FileLock ledger, LockOf(options.directory, "ledger"));
  LedgerLocks locks{std::move(ledger), std::nullopt};
  if (options.anchor_directory.empty()) return locks;
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.anchor_directory));
  DPNMF_ASSIGN_OR_RETURN(FileLock anchor,
                         LockOf(options.anchor_directory, "anchor"));
  locks.anchor.emplace(std::move(anchor));
  return locks;
}

absl::StatusOr<LedgerFiles> LedgerFiles::Open(const LedgerSettings& options) {
  DPNMF_RETURN_IF_ERROR(CheckAnchorDirectory(options));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.directory));
  DPNMF_ASSIGN_OR_RETURN(LedgerLocks locks, LedgerLocks::Take(options));
  DPNMF_ASSIGN_OR_RETURN(LedgerTable table,
                         LedgerTable::OpenForWriting(options.directory));
  DPNMF_RETURN_IF_ERROR(SyncDirectory(options.directory));
  DPNMF_ASSIGN_OR_RETURN(LedgerBook book, Load(options, &table));
  if (!options.anchor_directory.empty()) {
    DPNMF_RETURN_IF_ERROR(
        WriteAnchor(options.anchor_directory, AnchorOf(book)));
  }
  return LedgerFiles{std::move(locks), std::move(table), std::move(book)};
}

absl::StatusOr<LedgerAudit> LedgerFiles::Audit(const LedgerSettings& options) {
  DPNMF_RETURN_IF_ERROR(CheckAnchorDirectory(options));
  // The anchor first: rows are only added, so it cannot be overtaken.
  DPNMF_ASSIGN_OR_RETURN(const std::optional<Anchor> anchor,
                         ReadAnchorOf(options));
  DPNMF_ASSIGN_OR_RETURN(LedgerTable table,
                         LedgerTable::OpenForReading(options.directory));
  DPNMF_RETURN_IF_ERROR(table.IsNew().status());
  LedgerAudit audit;
  DPNMF_ASSIGN_OR_RETURN(const Replayed replayed,
                         Replay(&table, anchor, &audit.rows));
  if (!options.anchor_directory.empty()) {
    DPNMF_ASSIGN_OR_RETURN(audit.anchor,
                           CompareWithAnchor(options, replayed, anchor));
  }
  audit.head = replayed.book.head();
  for (const std::string& name : replayed.book.populations()) {
    const BookedPopulation& population = *replayed.book.FindPopulation(name);
    audit.policies.push_back(population.policy);
    audit.positions.push_back(PositionIn(replayed.book, population));
    for (const auto& [dataset, partition] : population.partition_of)
      audit.partition_of[{name, dataset}] = population.AssignedTo(dataset);
    for (const auto& [dataset, digests] : population.files_of)
      audit.files_of[{name, dataset}] = digests;
  }
  return audit;
}

absl::StatusOr<std::vector<LedgerRow>> LedgerFiles::ReadRows(
    const LedgerSettings& options) {
  DPNMF_ASSIGN_OR_RETURN(LedgerTable table,
                         LedgerTable::OpenForReading(options.directory));
  std::vector<LedgerRow> rows;
  DPNMF_RETURN_IF_ERROR(table.ForEachRow([&](const LedgerRow& row) {
    rows.push_back(row);
    return absl::OkStatus();
  }));
  return rows;
}

absl::StatusOr<AcceptedAnchor> LedgerFiles::AcceptAnchor(
    const LedgerSettings& options) {
  DPNMF_RETURN_IF_ERROR(CheckAnchorDirectory(options));
  if (options.anchor_directory.empty()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "anchor-directory-invalid",
        "No anchor directory is given; give the one that the curator uses.");
  }
  DPNMF_ASSIGN_OR_RETURN(LedgerTable table,
                         LedgerTable::OpenForReading(options.directory));
  DPNMF_ASSIGN_OR_RETURN(const LedgerLocks locks, LedgerLocks::Take(options));
  const auto anchor = ReadAnchor(options.anchor_directory);
  const bool unreadable = ReasonCode(anchor.status()) == "anchor-damaged";
  if (!anchor.ok() && !unreadable) return anchor.status();
  const std::optional<Anchor> known =
      unreadable ? std::optional<Anchor>() : *anchor;
  DPNMF_RETURN_IF_ERROR(table.IsNew().status());
  DPNMF_ASSIGN_OR_RETURN(const Replayed replayed,
                         Replay(&table, known, nullptr));
  if (known.has_value()) {
    DPNMF_RETURN_IF_ERROR(CompareWithAnchor(options, replayed, known).status());
    return Refusal(absl::StatusCode::kFailedPrecondition, "anchor-present",
                   "The ledger has its anchor; there is nothing to accept.");
  }
  DPNMF_RETURN_IF_ERROR(
      WriteAnchor(options.anchor_directory, AnchorOf(replayed.book)));
  return AcceptedAnchor{replayed.book.row_count(), replayed.book.head(),
                        unreadable};
}

}  // namespace dpnmf::curator
