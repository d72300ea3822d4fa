#include "curator/ledger/ledger.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/failpoint.h"
#include "common/base/system_seconds.h"
#include "common/threads/mutex.h"
#include "curator/ledger/anchor.h"
#include "curator/ledger/ledger_book.h"
#include "curator/ledger/ledger_files.h"
#include "curator/ledger/ledger_row.h"
#include "curator/ledger/ledger_table.h"

namespace dpnmf::curator {
namespace {

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

absl::StatusOr<OpenedRun> Reopen(const BookedRun& run, const LedgerRow& asked) {
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
  State(Options o, LedgerFiles files)
      : options(std::move(o)),
        locks(std::move(files.locks)),
        table(std::move(files.table)),
        book(std::move(files.book)),
        id(book.ledger_id()) {}

  // Refuses everything after a write whose outcome is not known, and after a
  // commit whose anchor could not be put in its place or whose row could not be
  // booked.
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
  const LedgerLocks locks;
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
  // Until the book has the row, also if the anchor fails or memory runs out.
  poisoned = true;
  const WriteOutcome outcome = table.Append(row);
  if (!outcome.status.ok()) {
    poisoned = !outcome.known;
    return outcome.status;
  }
  DPNMF_FAILPOINT("after-commit");
  if (staged.has_value()) DPNMF_RETURN_IF_ERROR(staged->Publish());
  DPNMF_FAILPOINT("after-anchor");
  book.Add(row);
  poisoned = false;
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

absl::StatusOr<std::unique_ptr<Ledger>> Ledger::Open(Options options) {
  if (!options.unix_seconds) options.unix_seconds = SystemSeconds;
  DPNMF_ASSIGN_OR_RETURN(LedgerFiles files, LedgerFiles::Open(options));
  auto state = std::make_unique<State>(std::move(options), std::move(files));
  return std::unique_ptr<Ledger>(new Ledger(std::move(state)));
}

absl::StatusOr<LedgerAudit> Ledger::Audit(const Options& options) {
  return LedgerFiles::Audit(options);
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
  return LedgerFiles::ReadRows(options);
}

absl::StatusOr<AcceptedAnchor> Ledger::AcceptAnchor(const Options& options) {
  return LedgerFiles::AcceptAnchor(options);
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

absl::Status Ledger::BindDataset(const std::string& population,
                                 const std::string& dataset,
                                 const DatasetDigests& digests) {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known != nullptr) {
    const auto before = known->files_of.find(dataset);
    if (before != known->files_of.end() && before->second == digests)
      return absl::OkStatus();
  }
  LedgerRow row;
  row.kind = RowKind::kDataset;
  row.population = population;
  row.dataset = dataset;
  row.request_hash = digests.files;
  row.detail = HexOf(digests.people);
  return state_->Append(std::move(row)).status();
}

absl::StatusOr<std::optional<DatasetDigests>> Ledger::FilesOf(
    const std::string& population, const std::string& dataset) const {
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  const BookedPopulation* known = state_->book.FindPopulation(population);
  if (known == nullptr) return LedgerBook::PopulationUnknown(population);
  const auto found = known->files_of.find(dataset);
  if (found == known->files_of.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<OpenedRun> Ledger::OpenRun(const RunOpening& opening) {
  LedgerRow row = OpeningRow(opening);
  MutexLock lock(&state_->mutex);
  DPNMF_RETURN_IF_ERROR(state_->Healthy());
  if (const BookedRun* run = state_->book.FindRun(opening.run_id);
      run != nullptr) {
    return Reopen(*run, row);
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
  // Refuses here too what ChargeRound would refuse, except for the cost:
  // charge.cost does not count, the check uses the least cost.
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
