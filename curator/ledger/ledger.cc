#include "curator/ledger/ledger.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/mutex.h"
#include "common/base/system_seconds.h"
#include "common/base/view.h"
#include "curator/ledger/anchor.h"
#include "curator/ledger/data_paths.h"
#include "curator/ledger/ledger_book.h"
#include "curator/ledger/ledger_row.h"
#include "curator/ledger/ledger_table.h"

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

// "WHAT (anchor: PATH); ADVICE".
absl::Status BehindAnchor(const Ledger::Options& options, std::string_view what,
                          std::string_view advice) {
  return Refusal(
      absl::StatusCode::kDataLoss, "ledger-behind-anchor",
      absl::StrCat(View(what), " (anchor: ",
                   AnchorFile(options.anchor_directory), "); ", View(advice)));
}

constexpr char kRestoreAdvice[] =
    "charges may be missing, so nothing is released: restore the ledger that "
    "the anchor belongs to.";
constexpr char kAcceptAdvice[] =
    "first check --anchor-dir: it must name the directory that was given "
    "before. Only if the anchor itself was lost and this ledger is the latest, "
    "run `dpnmf-curator ledger anchor --accept`.";

absl::Status CheckAnchorDirectory(const Ledger::Options& options) {
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

// Whether the ledger is the one that the anchor knows, or its continuation.
absl::StatusOr<AnchorState> CompareWithAnchor(
    const Ledger::Options& options, const Replayed& replayed,
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

absl::StatusOr<std::optional<Anchor>> ReadAnchorOf(
    const Ledger::Options& options) {
  if (options.anchor_directory.empty()) return std::nullopt;
  auto anchor = ReadAnchor(options.anchor_directory);
  if (ReasonCode(anchor.status()) == "anchor-damaged")
    return BehindAnchor(options, "The ledger's anchor is not readable",
                        kAcceptAdvice);
  return anchor;
}

// Keeps other processes away, also from the anchor of a copy of this ledger.
struct Locks {
  FileLock ledger;
  std::optional<FileLock> anchor;
};

// `name` is "ledger" or "anchor", and stands in the sentence.
absl::StatusOr<FileLock> LockOf(const std::string& directory,
                                const std::string& name) {
  return FileLock::Take(
      absl::StrCat(directory, "/", name, ".lock"),
      Refusal(
          absl::StatusCode::kFailedPrecondition, "data-dir-in-use",
          absl::StrCat("Another process uses the ", name, " in `", directory,
                       "`; stop it or choose another directory.")));
}

absl::StatusOr<Locks> Lock(const Ledger::Options& options) {
  DPNMF_ASSIGN_OR_RETURN(FileLock ledger, LockOf(options.directory, "ledger"));
  Locks locks{std::move(ledger), std::nullopt};
  if (options.anchor_directory.empty()) return locks;
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.anchor_directory));
  DPNMF_ASSIGN_OR_RETURN(FileLock anchor,
                         LockOf(options.anchor_directory, "anchor"));
  locks.anchor.emplace(std::move(anchor));
  return locks;
}

Anchor AnchorOf(const LedgerBook& book) {
  return {book.ledger_id(), book.row_count(), book.head()};
}

MuSquared LeftOf(const Budget& budget) {
  return MuSquared::FromUnits(budget.cap.units() - budget.charged.units() -
                              budget.reserved.units());
}

// Of one account, or of all.
Position PositionIn(const LedgerBook& book, const BookedPopulation& population,
                    std::optional<std::size_t> account = std::nullopt) {
  const Budget budget = BudgetOf(population.cap, population.accounts, account);
  const std::vector<std::string>& names = population.policy.partitions.names;
  Position position;
  position.cap = budget.cap;
  position.charged = budget.charged;
  position.reserved = budget.reserved;
  position.left = LeftOf(budget);
  if (account.has_value()) position.partition = names[*account];
  for (std::size_t i = 0; i < names.size(); ++i) {
    const BookedAccount& own = population.accounts[i];
    const Budget one = {population.cap, own.charged, own.reserved};
    position.partitions.push_back(
        {names[i], one.charged, one.reserved, LeftOf(one)});
  }
  position.row_count = book.row_count();
  position.head = book.head();
  if (population.voided.has_value())
    position.void_since = population.voided->unix_seconds;
  return position;
}

LedgerRow RowOfRun(RowKind kind, const LedgerRow& opening) {
  LedgerRow row;
  row.kind = kind;
  row.population = opening.population;
  row.identity = opening.identity;
  row.run_id = opening.run_id;
  row.mechanism = opening.mechanism;
  row.dataset = opening.dataset;
  return row;
}

// All but the cap of the identity, which the operator may change meanwhile.
bool SameOpening(const LedgerRow& a, const LedgerRow& b) {
  return a.identity == b.identity && a.population == b.population &&
         a.mechanism == b.mechanism && a.dataset == b.dataset &&
         a.request_hash == b.request_hash && a.round == b.round &&
         a.cost == b.cost;
}

absl::StatusOr<OpenedRun> GoOnWith(const BookedRun& run,
                                   const LedgerRow& asked) {
  if (!SameOpening(run.opening, asked)) {
    return Refusal(absl::StatusCode::kAlreadyExists, "run-differs",
                   "A run with that id was opened with another request; use "
                   "another run id.");
  }
  if (run.closed) {
    return Refusal(absl::StatusCode::kFailedPrecondition, "run-closed",
                   "The run is closed; start another run.");
  }
  OpenedRun opened;
  opened.next_round = static_cast<std::uint32_t>(run.charges.size() + 1);
  opened.was_open = true;
  return opened;
}

absl::Status CheckUnchargedRuns(const LedgerBook& book,
                                const RunOpening& opening) {
  const BookedPopulation* known = book.FindPopulation(opening.population);
  if (known == nullptr)
    return LedgerBook::PopulationUnknown(opening.population);
  const auto found = known->identities.find(opening.identity);
  if (found == known->identities.end()) return absl::OkStatus();
  const BookedPopulation::Identity& identity = found->second;
  if (identity.uncharged_runs <
      opening.most_uncharged_runs + identity.charges.size())
    return absl::OkStatus();
  return Refusal(
      absl::StatusCode::kResourceExhausted, "too-many-uncharged-runs",
      absl::StrCat(
          "This identity has opened ", identity.uncharged_runs,
          " runs without requesting a round of them; continue an open one, or "
          "ask the operator for a larger --max-uncharged-runs."));
}

LedgerRow OpeningRow(const RunOpening& opening) {
  LedgerRow row;
  row.kind = RowKind::kOpen;
  row.population = opening.population;
  row.identity = opening.identity;
  row.run_id = opening.run_id;
  row.round = opening.rounds;
  row.mechanism = opening.mechanism;
  row.dataset = opening.dataset;
  row.request_hash = opening.parameters_hash;
  row.cost = opening.cost;
  row.detail = IdentityCapText(opening.identity_cap);
  return row;
}

}  // namespace

struct Ledger::State {
  State(Options o, Locks l, LedgerTable t, LedgerBook b)
      : options(std::move(o)),
        locks(std::move(l)),
        table(std::move(t)),
        book(std::move(b)),
        id(book.ledger_id()) {}

  // Refuses everything after a write whose outcome is not known.
  absl::Status Healthy() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (!poisoned) return absl::OkStatus();
    return Refusal(absl::StatusCode::kUnavailable, "storage-failed",
                   "The disk of the ledger failed; nothing is released until "
                   "the curator is restarted.");
  }
  // Refuses if the anchor is not where this ledger left it: a copy of the
  // ledger is served elsewhere, or the anchor's volume is away.
  absl::Status AnchorStands() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Chains, checks, commits, anchors, and only then books the row. Returns it.
  absl::StatusOr<LedgerRow> Append(LedgerRow row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // The run of this identity. NOT_FOUND "run-unknown".
  absl::StatusOr<const BookedRun*> RunOf(const std::string& identity,
                                         const std::string& run_id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // The charge that was made for this request; nothing if the round is next.
  absl::StatusOr<std::optional<ChargedRow>> Find(const Charge& charge) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  absl::StatusOr<LedgerRow> ChargeRow(const Charge& charge) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // kind: kVoid or kOverlap.
  absl::Status Record(RowKind kind, const TablePublication& publication)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const Options options;
  const Locks locks;
  mutable Mutex mutex;
  LedgerTable table ABSL_GUARDED_BY(mutex);
  LedgerBook book ABSL_GUARDED_BY(mutex);
  const std::string id;
  bool poisoned ABSL_GUARDED_BY(mutex) = false;
};

absl::Status Ledger::State::AnchorStands() const {
  DPNMF_ASSIGN_OR_RETURN(const std::optional<Anchor> anchor,
                         ReadAnchorOf(options));
  if (options.anchor_directory.empty() || anchor == AnchorOf(book))
    return absl::OkStatus();
  return BehindAnchor(options, "The anchor is not as this ledger left it",
                      "stop every other curator that serves a copy of the "
                      "ledger, and restart this one.");
}

absl::StatusOr<LedgerRow> Ledger::State::Append(LedgerRow row) {
  row.unix_seconds = options.unix_seconds();
  row = book.Chained(std::move(row));
  DPNMF_RETURN_IF_ERROR(book.Check(row));
  DPNMF_RETURN_IF_ERROR(AnchorStands());
  // The anchor is written before the commit, so that its disk cannot fail
  // between the two, and takes its place after it.
  std::optional<StagedAnchor> staged;
  if (!options.anchor_directory.empty()) {
    auto stage = StagedAnchor::Stage(
        options.anchor_directory, {book.ledger_id(), row.sequence, row.hash});
    if (!stage.ok()) return stage.status();
    staged.emplace(*std::move(stage));
  }
  DPNMF_FAILPOINT("before-commit");
  const WriteOutcome outcome = table.Append(row);
  poisoned = !outcome.known;
  DPNMF_RETURN_IF_ERROR(outcome.status);
  DPNMF_FAILPOINT("after-commit");
  if (staged.has_value()) {
    if (const absl::Status status = staged->Publish(); !status.ok()) {
      poisoned = true;
      return status;
    }
  }
  DPNMF_FAILPOINT("after-anchor");
  book.Add(row);
  return row;
}

absl::StatusOr<const BookedRun*> Ledger::State::RunOf(
    const std::string& identity, const std::string& run_id) const {
  const BookedRun* run = book.FindRun(run_id);
  if (run == nullptr || run->opening.identity != identity)
    return LedgerBook::RunUnknown();
  return run;
}

absl::StatusOr<std::optional<ChargedRow>> Ledger::State::Find(
    const Charge& charge) const {
  DPNMF_ASSIGN_OR_RETURN(const BookedRun* const run,
                         RunOf(charge.identity, charge.run_id));
  if (charge.round == 0 || charge.round > run->charges.size())
    return std::nullopt;
  const BookedCharge& made = run->charges[charge.round - 1];
  if (made.request_hash != charge.request_hash) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "round-differs",
        absl::StrCat("Round ", charge.round,
                     " of the run was charged for another request; send the "
                     "same W and parameters, or start another run."));
  }
  return ChargedRow{made.sequence, made.hash, made.cost, false};
}

absl::StatusOr<LedgerRow> Ledger::State::ChargeRow(const Charge& charge) const {
  DPNMF_ASSIGN_OR_RETURN(const BookedRun* const run,
                         RunOf(charge.identity, charge.run_id));
  LedgerRow row = RowOfRun(RowKind::kCharge, run->opening);
  row.round = charge.round;
  row.request_hash = charge.request_hash;
  row.cost = charge.cost;
  return row;
}

absl::Status Ledger::State::Record(RowKind kind,
                                   const TablePublication& publication) {
  DPNMF_RETURN_IF_ERROR(Healthy());
  const BookedPopulation* const known =
      book.FindPopulation(publication.population);
  if (known != nullptr &&
      known->publications.contains({kind, publication.label_hash})) {
    return absl::OkStatus();
  }
  LedgerRow row;
  row.kind = kind;
  row.population = publication.population;
  row.request_hash = publication.label_hash;
  row.detail = publication.approver;
  return Append(std::move(row)).status();
}

Ledger::Ledger(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ledger::~Ledger() = default;

namespace {

// A new ledger: its first row and its anchor.
absl::StatusOr<LedgerBook> Begin(const Ledger::Options& options,
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

absl::StatusOr<LedgerBook> Load(const Ledger::Options& options,
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

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(Options options) {
  if (!options.unix_seconds) options.unix_seconds = SystemSeconds;
  DPNMF_RETURN_IF_ERROR(CheckAnchorDirectory(options));
  DPNMF_RETURN_IF_ERROR(CreateDurableDirectory(options.directory));
  DPNMF_ASSIGN_OR_RETURN(Locks locks, Lock(options));
  DPNMF_ASSIGN_OR_RETURN(LedgerTable table,
                         LedgerTable::OpenForWriting(options.directory));
  DPNMF_RETURN_IF_ERROR(SyncDirectory(options.directory));
  DPNMF_ASSIGN_OR_RETURN(LedgerBook book, Load(options, &table));
  if (!options.anchor_directory.empty()) {
    DPNMF_RETURN_IF_ERROR(
        WriteAnchor(options.anchor_directory, AnchorOf(book)));
  }
  auto state = std::make_unique<State>(std::move(options), std::move(locks),
                                       std::move(table), std::move(book));
  return std::unique_ptr<Ledger>(new Ledger(std::move(state)));
}

absl::StatusOr<LedgerAudit> Ledger::Audit(const Options& options) {
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
  }
  return audit;
}

absl::StatusOr<Position> Ledger::Verify(const Options& options) {
  DPNMF_ASSIGN_OR_RETURN(const LedgerAudit audit, Audit(options));
  Position position;
  position.row_count = audit.rows.size();
  position.head = audit.head;
  return position;
}

absl::StatusOr<std::vector<LedgerRow>> Ledger::ReadRows(
    const Options& options) {
  DPNMF_ASSIGN_OR_RETURN(LedgerTable table,
                         LedgerTable::OpenForReading(options.directory));
  std::vector<LedgerRow> rows;
  DPNMF_RETURN_IF_ERROR(table.ForEachRow([&](const LedgerRow& row) {
    rows.push_back(row);
    return absl::OkStatus();
  }));
  return rows;
}

absl::StatusOr<AcceptedAnchor> Ledger::AcceptAnchor(const Options& options) {
  DPNMF_RETURN_IF_ERROR(CheckAnchorDirectory(options));
  if (options.anchor_directory.empty()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "anchor-directory-invalid",
        "No anchor directory is given; give the one that the curator uses.");
  }
  DPNMF_ASSIGN_OR_RETURN(LedgerTable table,
                         LedgerTable::OpenForReading(options.directory));
  DPNMF_ASSIGN_OR_RETURN(const Locks locks, Lock(options));
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

absl::Status Ledger::DeclarePopulation(const PopulationPolicy& policy) {
  if (policy.population.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, "population-malformed",
                   "`population` must not be empty; give the name of the "
                   "people that the data are about.");
  }
  DPNMF_RETURN_IF_ERROR(CheckPartitions(policy.partitions));
  DPNMF_ASSIGN_OR_RETURN(
      const MuSquared cap,
      LargestCost(policy.conversion, policy.epsilon, policy.delta));
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  if (const BookedPopulation* known =
          state_->book.FindPopulation(policy.population);
      known != nullptr) {
    if (known->policy == policy) return absl::OkStatus();
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "population-differs",
        absl::StrCat("Population `", policy.population,
                     "` was declared before as ", PolicyText(known->policy),
                     "; a cap is fixed before the first release, so use the "
                     "same cap or another population."));
  }
  LedgerRow row;
  row.kind = RowKind::kPopulation;
  row.population = policy.population;
  row.cost = cap;
  row.detail = PolicyText(policy);
  return state_->Append(std::move(row)).status();
}

absl::StatusOr<PopulationPolicy> Ledger::Policy(
    const std::string& population) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  return known->policy;
}

absl::Status Ledger::AssignPartition(const std::string& population,
                                     const std::string& dataset,
                                     const AssignedPartition& assigned) {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known != nullptr && !known->datasets_with_runs.contains(dataset) &&
      known->partition_of.contains(dataset) &&
      known->AssignedTo(dataset) == assigned)
    return absl::OkStatus();
  LedgerRow row;
  row.kind = RowKind::kPartition;
  row.population = population;
  row.dataset = dataset;
  row.request_hash = assigned.people;
  row.detail = assigned.partition;
  return state_->Append(std::move(row)).status();
}

absl::StatusOr<AssignedPartition> Ledger::PartitionOf(
    const std::string& population, const std::string& dataset) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  return known->AssignedTo(dataset);
}

absl::StatusOr<OpenedRun> Ledger::OpenRun(const RunOpening& opening) {
  LedgerRow row = OpeningRow(opening);
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  if (const BookedRun* run = state_->book.FindRun(opening.run_id);
      run != nullptr) {
    return GoOnWith(*run, row);
  }
  DPNMF_RETURN_IF_ERROR(CheckUnchargedRuns(state_->book, opening));
  DPNMF_RETURN_IF_ERROR(state_->Append(std::move(row)).status());
  return OpenedRun{};
}

absl::StatusOr<ChargedRow> Ledger::ChargeRound(const Charge& charge) {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  DPNMF_ASSIGN_OR_RETURN(const std::optional<ChargedRow> made,
                         state_->Find(charge));
  if (made.has_value()) return *made;
  DPNMF_ASSIGN_OR_RETURN(LedgerRow row, state_->ChargeRow(charge));
  DPNMF_ASSIGN_OR_RETURN(row, state_->Append(std::move(row)));
  return ChargedRow{row.sequence, row.hash, row.cost, true};
}

absl::StatusOr<std::optional<ChargedRow>> Ledger::FindCharge(
    const Charge& charge) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  DPNMF_ASSIGN_OR_RETURN(const std::optional<ChargedRow> made,
                         state_->Find(charge));
  if (made.has_value()) return made;
  // What ChargeRound would refuse is refused here too. The cost may be left
  // out.
  DPNMF_ASSIGN_OR_RETURN(LedgerRow row, state_->ChargeRow(charge));
  row.cost = MuSquared::FromUnits(1);
  DPNMF_RETURN_IF_ERROR(
      state_->book.Check(state_->book.Chained(std::move(row))));
  return std::nullopt;
}

absl::StatusOr<std::optional<RequestedCharge>> Ledger::FindCharge(
    const std::string& identity, const std::string& run_id,
    std::uint32_t round) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  DPNMF_ASSIGN_OR_RETURN(const BookedRun* const run,
                         state_->RunOf(identity, run_id));
  if (round == 0 || round > run->charges.size()) return std::nullopt;
  const BookedCharge& made = run->charges[round - 1];
  return RequestedCharge{{made.sequence, made.hash, made.cost, false},
                         made.request_hash};
}

absl::StatusOr<MuSquared> Ledger::CloseRun(const std::string& identity,
                                           const std::string& run_id) {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  DPNMF_ASSIGN_OR_RETURN(const BookedRun* const run,
                         state_->RunOf(identity, run_id));
  if (run->closed) return run->returned;
  LedgerRow row = RowOfRun(RowKind::kClose, run->opening);
  row.cost = run->left;
  DPNMF_ASSIGN_OR_RETURN(row, state_->Append(std::move(row)));
  return row.cost;
}

absl::Status Ledger::VoidGuarantee(const TablePublication& publication) {
  MutexLock lock(&state_->mutex);
  return state_->Record(RowKind::kVoid, publication);
}

absl::Status Ledger::AcceptOverlap(const TablePublication& publication) {
  MutexLock lock(&state_->mutex);
  return state_->Record(RowKind::kOverlap, publication);
}

std::optional<std::int64_t> Ledger::VoidBefore(const std::string& population,
                                               std::uint64_t sequence) const {
  MutexLock lock(&state_->mutex);
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr || !known->voided.has_value() ||
      known->voided->sequence > sequence) {
    return std::nullopt;
  }
  return known->voided->unix_seconds;
}

absl::StatusOr<std::optional<LedgerRow>> Ledger::VoidRowOf(
    const std::string& population) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  if (!known->voided.has_value()) return std::nullopt;
  DPNMF_ASSIGN_OR_RETURN(LedgerRow row,
                         state_->table.Read(known->voided->sequence));
  return row;
}

std::vector<std::string> Ledger::Populations() const {
  MutexLock lock(&state_->mutex);
  return state_->book.populations();
}

absl::StatusOr<Position> Ledger::PositionOf(
    const std::string& population) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  return PositionIn(state_->book, *known);
}

absl::StatusOr<IdentityPosition> Ledger::PositionOf(
    const std::string& population, const std::string& identity) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  const auto found = known->identities.find(identity);
  if (found == known->identities.end()) return IdentityPosition{};
  return IdentityPosition{found->second.charged, found->second.reserved,
                          found->second.charges.size()};
}

absl::StatusOr<Position> Ledger::PositionFor(const std::string& population,
                                             const std::string& dataset) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  return PositionIn(state_->book, *known, known->AccountOf(dataset));
}

absl::StatusOr<IdentityPosition> Ledger::PositionFor(
    const std::string& population, const std::string& dataset,
    const std::string& identity) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  const auto found = known->identities.find(identity);
  if (found == known->identities.end()) return IdentityPosition{};
  const Budget own =
      BudgetOf(known->cap, found->second.accounts, known->AccountOf(dataset));
  return IdentityPosition{own.charged, own.reserved,
                          found->second.charges.size()};
}

const std::string& Ledger::id() const { return state_->id; }

absl::StatusOr<LedgerRow> Ledger::RowAt(std::uint64_t sequence) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  return state_->table.Read(sequence);
}

absl::StatusOr<std::vector<LedgerRow>> Ledger::ChargesOf(
    const std::string& population, const std::string& identity,
    std::uint64_t after, std::size_t limit) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  std::vector<LedgerRow> rows;
  const auto found = known->identities.find(identity);
  if (found == known->identities.end()) return rows;
  const std::vector<std::uint64_t>& charges = found->second.charges;
  for (auto next = std::upper_bound(charges.begin(), charges.end(), after);
       next != charges.end() && rows.size() < limit; ++next) {
    DPNMF_ASSIGN_OR_RETURN(LedgerRow row, state_->table.Read(*next));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace dpnmf::curator
