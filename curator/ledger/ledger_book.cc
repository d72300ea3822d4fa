#include "curator/ledger/ledger_book.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/hex_id.h"
#include "common/base/utf8.h"
#include "common/privacy/budget.h"
#include "curator/ledger/ledger_row.h"

namespace dpnmf::curator {
namespace {

absl::Status RuleBroken(std::string_view sentence) {
  return Refusal(absl::StatusCode::kInternal, "ledger-rule", sentence);
}

absl::Status RunClosed() {
  return Refusal(absl::StatusCode::kFailedPrecondition, "run-closed",
                 "The run is closed; start another run.");
}

// a + b and a - b where Check has shown that the result is in range.
MuSquared Plus(MuSquared a, MuSquared b) {
  const auto sum = MuSquared::Add(a, b);
  if (!sum.has_value()) std::abort();
  return *sum;
}

MuSquared Minus(MuSquared a, MuSquared b) {
  const auto difference = MuSquared::Subtract(a, b);
  if (!difference.has_value()) std::abort();
  return *difference;
}

bool HasRunFields(const LedgerRow& row) {
  return !row.identity.empty() || !row.run_id.empty() || row.round != 0 ||
         !row.mechanism.empty() || !row.dataset.empty() ||
         row.request_hash != Digest{};
}

bool NamesMatch(const LedgerRow& row, const LedgerRow& opening) {
  return row.population == opening.population &&
         row.mechanism == opening.mechanism && row.dataset == opening.dataset &&
         row.detail.empty();
}

// The cap of the policy keeps its promise. The tolerance leaves room for
// another version's last digits; the cap itself is fixed by the chain.
bool CapIsKept(const PopulationPolicy& policy, MuSquared cap) {
  const auto epsilon = Epsilon(policy.conversion, cap, policy.delta);
  return epsilon.ok() && *epsilon <= policy.epsilon * (1 + 1e-9);
}

// Calls change(account) for the account that a run is booked to, or for all.
template <typename Change>
void ForEachAccount(std::vector<BookedAccount>* accounts,
                    std::optional<std::size_t> account, const Change& change) {
  for (std::size_t i = 0; i < accounts->size(); ++i)
    if (!account.has_value() || *account == i) change(&(*accounts)[i]);
}

}  // namespace

std::optional<std::size_t> BookedPopulation::AccountOf(
    const std::string& dataset) const {
  const auto found = partition_of.find(dataset);
  if (found == partition_of.end()) return std::nullopt;
  return found->second.index;
}

AssignedPartition BookedPopulation::AssignedTo(
    const std::string& dataset) const {
  const auto found = partition_of.find(dataset);
  if (found == partition_of.end()) return {};
  return {policy.partitions.names[found->second.index], found->second.people};
}

Budget BudgetOf(MuSquared cap, const std::vector<BookedAccount>& accounts,
                std::optional<std::size_t> account) {
  MuSquared most_charged, most_committed;
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    if (account.has_value() && *account != i) continue;
    most_charged = std::max(most_charged, accounts[i].charged);
    most_committed = std::max(most_committed,
                              Plus(accounts[i].charged, accounts[i].reserved));
  }
  return {cap, most_charged, Minus(most_committed, most_charged)};
}

std::string IdentityCapText(const std::optional<MuSquared>& cap) {
  return cap.has_value() ? cap->UnitsText() : std::string();
}

absl::Status LedgerBook::RunUnknown() {
  return Refusal(absl::StatusCode::kNotFound, "run-unknown",
                 "This identity has no run with that id; open the run first.");
}

absl::Status LedgerBook::PopulationUnknown(const std::string& name) {
  return Refusal(absl::StatusCode::kNotFound, "population-unknown",
                 absl::StrCat("The ledger has no budget for population `", name,
                              "`; import a data set of it first."));
}

LedgerRow LedgerBook::Chained(LedgerRow row) const {
  row.sequence = row_count_ + 1;
  row.previous_hash = head_;
  row.hash = HashOf(row);
  return row;
}

absl::Status LedgerBook::Check(const LedgerRow& row) const {
  DPNMF_RETURN_IF_ERROR(CheckChain(row));
  switch (row.kind) {
    case RowKind::kGenesis:
      return CheckGenesis(row);
    case RowKind::kPopulation:
      return CheckPopulation(row);
    case RowKind::kOpen:
      return CheckOpen(row);
    case RowKind::kCharge:
      return CheckCharge(row);
    case RowKind::kClose:
      return CheckClose(row);
    case RowKind::kVoid:
    case RowKind::kOverlap:
      return CheckPublication(row);
    case RowKind::kPartition:
      return CheckPartition(row);
    case RowKind::kDataset:
      return CheckDataset(row);
  }
  return RuleBroken("The row is of no known kind.");
}

absl::Status LedgerBook::CheckChain(const LedgerRow& row) const {
  if (row.sequence != row_count_ + 1)
    return RuleBroken(
        absl::StrCat("Its number is ", row.sequence, ", so rows are missing."));
  if (row.previous_hash != head_)
    return RuleBroken("It does not follow from the row before it.");
  if (row.hash != HashOf(row))
    return RuleBroken("Its content does not match its hash.");
  if ((row.kind == RowKind::kGenesis) != (row_count_ == 0))
    return RuleBroken("The first row, and no other, must name the ledger.");
  return absl::OkStatus();
}

absl::Status LedgerBook::CheckGenesis(const LedgerRow& row) const {
  if (!IsHexId(row.detail) || HasRunFields(row) || !row.population.empty() ||
      row.cost != MuSquared()) {
    return RuleBroken("The first row is malformed.");
  }
  return absl::OkStatus();
}

absl::Status LedgerBook::CheckPopulation(const LedgerRow& row) const {
  const auto policy = ParsePolicy(row.population, row.detail);
  if (row.population.empty() || !policy.has_value() || HasRunFields(row))
    return RuleBroken("The policy is malformed.");
  if (FindPopulation(row.population) != nullptr)
    return RuleBroken("The population already has a policy.");
  if (!CapIsKept(*policy, row.cost))
    return RuleBroken("The cap is above the policy's epsilon.");
  return absl::OkStatus();
}

absl::Status LedgerBook::CheckOpen(const LedgerRow& row) const {
  const BookedPopulation* population = FindPopulation(row.population);
  if (population == nullptr) return PopulationUnknown(row.population);
  if (FindRun(row.run_id) != nullptr)
    return RuleBroken("The run was opened before.");
  if (row.identity.empty() || row.run_id.empty() || row.mechanism.empty() ||
      row.dataset.empty() || row.round == 0 || row.cost == MuSquared()) {
    return RuleBroken("The opening of the run is malformed.");
  }
  return CheckFits(*population, row);
}

absl::Status LedgerBook::CheckFits(const BookedPopulation& population,
                                   const LedgerRow& row) const {
  const PopulationPolicy& policy = population.policy;
  const std::optional<std::size_t> account = population.AccountOf(row.dataset);
  const Budget all = BudgetOf(population.cap, population.accounts, account);
  Budget own = {.cap = all.cap};  // of this identity, if it has a cap
  if (!row.detail.empty()) {
    const auto identity_cap = MuSquared::FromUnitsText(row.detail);
    if (!identity_cap.has_value())
      return RuleBroken("The identity's cap is malformed.");
    own.cap = *identity_cap;
    if (const auto found = population.identities.find(row.identity);
        found != population.identities.end()) {
      own = BudgetOf(*identity_cap, found->second.accounts, account);
    }
  }
  // The filter: charged + reserved + asked <= cap, in integers, in each account
  // that the run reads.
  const MuSquared room = std::min(RoomOf(all), RoomOf(own));
  if (row.cost <= room) return absl::OkStatus();
  std::string people = absl::StrCat("population `", row.population, "`");
  if (account.has_value()) {
    absl::StrAppend(&people, ", partition `", policy.partitions.names[*account],
                    "`");
  }
  const bool of_all = row.cost > RoomOf(all);
  return Refusal(
      absl::StatusCode::kResourceExhausted,
      of_all ? "budget-exhausted" : "identity-budget-exhausted",
      OverBudgetSentence(
          of_all ? people : absl::StrCat("`", row.identity, "` on ", people),
          row.cost, of_all ? all : own, room, policy.conversion, policy.delta,
          /*is_own_limit=*/!of_all));
}

absl::Status LedgerBook::CheckCharge(const LedgerRow& row) const {
  const BookedRun* run = FindRun(row.run_id);
  if (run == nullptr || run->opening.identity != row.identity)
    return RunUnknown();
  if (!NamesMatch(row, run->opening))
    return RuleBroken(
        "The charge names another run than the one it belongs to.");
  if (run->closed) return RunClosed();
  const std::size_t next = run->charges.size() + 1;
  if (row.round != next || next > run->opening.round) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, "round-out-of-order",
        next > run->opening.round
            ? absl::StrCat("All ", run->opening.round,
                           " rounds of the run are charged; start another run.")
            : absl::StrCat("The next round of the run is ", next,
                           "; ask for that one."));
  }
  if (row.cost == MuSquared())
    return RuleBroken("The cost of a charge must be above zero.");
  if (row.cost > run->left) {
    return Refusal(absl::StatusCode::kInternal, "charge-over-reservation",
                   "The round costs more than the run has reserved; this is a "
                   "fault of the curator, and nothing was charged.");
  }
  return absl::OkStatus();
}

absl::Status LedgerBook::CheckClose(const LedgerRow& row) const {
  const BookedRun* run = FindRun(row.run_id);
  if (run == nullptr || run->opening.identity != row.identity)
    return RunUnknown();
  if (run->closed) return RunClosed();
  if (!NamesMatch(row, run->opening) || row.round != 0 ||
      row.request_hash != Digest{}) {
    return RuleBroken("The closing of the run is malformed.");
  }
  if (row.cost != run->left)
    return RuleBroken(
        "The amount that is returned is not the amount that is left.");
  return absl::OkStatus();
}

namespace {

// Once a run was opened on a data set, its people and its partition are fixed:
// with others, earlier releases would be booked to the wrong people. Before
// that nothing was released, and the last such row counts.
absl::Status DatasetUsed(const LedgerRow& row) {
  return Refusal(
      absl::StatusCode::kFailedPrecondition, "dataset-used",
      absl::StrCat("The ledger has a run on a data set `", row.dataset,
                   "` of population `", row.population,
                   "`, and its releases are about the people of that data "
                   "set; give the new data set another name."));
}

}  // namespace

absl::Status LedgerBook::CheckPartition(const LedgerRow& row) const {
  const BookedPopulation* population = FindPopulation(row.population);
  if (population == nullptr) return PopulationUnknown(row.population);
  const PeoplePartitions& partitions = population->policy.partitions;
  if (!partitions.Find(row.detail).has_value()) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "partition-unknown",
        absl::StrCat("Population `", row.population, "` has no partition `",
                     row.detail, "`",
                     partitions.any()
                         ? absl::StrCat("; it has ",
                                        absl::StrJoin(partitions.names, ", "))
                         : std::string(),
                     ". Partitions are declared with the cap, by the first "
                     "import of the population."));
  }
  if (row.dataset.empty() || !row.identity.empty() || !row.run_id.empty() ||
      row.round != 0 || !row.mechanism.empty() ||
      row.request_hash == Digest{} || row.cost != MuSquared())
    return RuleBroken("The record of the partition is malformed.");
  if (population->datasets_with_runs.contains(row.dataset))
    return DatasetUsed(row);
  if (population->AssignedTo(row.dataset) ==
      AssignedPartition{row.detail, row.request_hash})
    return RuleBroken("The partition was recorded before.");
  return absl::OkStatus();
}

absl::Status LedgerBook::CheckDataset(const LedgerRow& row) const {
  const BookedPopulation* population = FindPopulation(row.population);
  if (population == nullptr) return PopulationUnknown(row.population);
  const std::optional<Digest> people = DigestOfHex(row.detail);
  if (row.dataset.empty() || !row.identity.empty() || !row.run_id.empty() ||
      row.round != 0 || !row.mechanism.empty() ||
      row.request_hash == Digest{} || !people.has_value() ||
      row.cost != MuSquared())
    return RuleBroken("The record of the data set is malformed.");
  const auto known = population->files_of.find(row.dataset);
  const bool is_known = known != population->files_of.end();
  if (population->datasets_with_runs.contains(row.dataset) &&
      (!is_known || known->second.files != row.request_hash))
    return DatasetUsed(row);
  if (is_known && known->second == DatasetDigests{row.request_hash, *people})
    return RuleBroken("The digests were recorded before.");
  return absl::OkStatus();
}

// Such a row says who let which table go, and when. It says nothing of what is
// in the table, and no row takes it back.
absl::Status LedgerBook::CheckPublication(const LedgerRow& row) const {
  const BookedPopulation* population = FindPopulation(row.population);
  if (population == nullptr) return PopulationUnknown(row.population);
  if (row.detail.empty() || row.detail.size() > kLongestApprover ||
      !IsPlainText(row.detail)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "approver-malformed",
                   absl::StrCat("The name of who approves must be plain text "
                                "of 1 to ",
                                kLongestApprover, " bytes."));
  }
  if (!row.identity.empty() || !row.run_id.empty() || row.round != 0 ||
      !row.mechanism.empty() || !row.dataset.empty() ||
      row.request_hash == Digest{} || row.cost != MuSquared()) {
    return RuleBroken("The record of the publication is malformed.");
  }
  if (population->publications.contains({row.kind, row.request_hash}))
    return RuleBroken("The publication was recorded before.");
  return absl::OkStatus();
}

void LedgerBook::Add(const LedgerRow& row) {
  switch (row.kind) {
    case RowKind::kGenesis:
      ledger_id_ = row.detail;
      break;
    case RowKind::kPopulation:
      AddPopulation(row);
      break;
    case RowKind::kOpen:
      AddOpen(row);
      break;
    case RowKind::kCharge:
      AddCharge(row);
      break;
    case RowKind::kClose:
      AddClose(row);
      break;
    case RowKind::kVoid:
    case RowKind::kOverlap:
      AddPublication(row);
      break;
    case RowKind::kPartition:
      AddPartition(row);
      break;
    case RowKind::kDataset:
      AddDataset(row);
      break;
  }
  row_count_ = row.sequence;
  head_ = row.hash;
}

void LedgerBook::AddPopulation(const LedgerRow& row) {
  BookedPopulation population;
  population.policy = *ParsePolicy(row.population, row.detail);
  population.cap = row.cost;
  population.accounts.resize(
      std::max<std::size_t>(1, population.policy.partitions.names.size()));
  populations_.emplace(row.population, std::move(population));
  declared_.push_back(row.population);
}

void LedgerBook::AddOpen(const LedgerRow& row) {
  BookedPopulation& population = populations_.at(row.population);
  BookedPopulation::Identity& identity = population.identities[row.identity];
  identity.accounts.resize(population.accounts.size());
  population.datasets_with_runs.insert(row.dataset);
  const std::optional<std::size_t> account = population.AccountOf(row.dataset);
  const auto reserve = [&](BookedAccount* booked) {
    booked->reserved = Plus(booked->reserved, row.cost);
  };
  ForEachAccount(&population.accounts, account, reserve);
  ForEachAccount(&identity.accounts, account, reserve);
  identity.reserved = Plus(identity.reserved, row.cost);
  ++identity.uncharged_runs;
  runs_.emplace(row.run_id,
                BookedRun{row, account, {}, row.cost, false, MuSquared()});
}

void LedgerBook::AddCharge(const LedgerRow& row) {
  BookedRun& run = runs_.at(row.run_id);
  BookedPopulation& population = populations_.at(row.population);
  BookedPopulation::Identity& identity = population.identities[row.identity];
  if (run.charges.empty()) --identity.uncharged_runs;
  run.left = Minus(run.left, row.cost);
  const auto charge = [&](BookedAccount* booked) {
    booked->reserved = Minus(booked->reserved, row.cost);
    booked->charged = Plus(booked->charged, row.cost);
  };
  ForEachAccount(&population.accounts, run.account, charge);
  ForEachAccount(&identity.accounts, run.account, charge);
  identity.reserved = Minus(identity.reserved, row.cost);
  identity.charged = Plus(identity.charged, row.cost);
  identity.charges.push_back(row.sequence);
  run.charges.push_back({row.sequence, row.request_hash, row.hash, row.cost});
}

void LedgerBook::AddClose(const LedgerRow& row) {
  BookedRun& run = runs_.at(row.run_id);
  BookedPopulation& population = populations_.at(row.population);
  BookedPopulation::Identity& identity = population.identities[row.identity];
  const auto give_back = [&](BookedAccount* booked) {
    booked->reserved = Minus(booked->reserved, run.left);
  };
  ForEachAccount(&population.accounts, run.account, give_back);
  ForEachAccount(&identity.accounts, run.account, give_back);
  identity.reserved = Minus(identity.reserved, run.left);
  run.returned = run.left;
  run.left = MuSquared();
  run.closed = true;
}

void LedgerBook::AddPublication(const LedgerRow& row) {
  BookedPopulation& population = populations_.at(row.population);
  population.publications.emplace(row.kind, row.request_hash);
  if (row.kind == RowKind::kVoid && !population.voided.has_value())
    population.voided = {row.sequence, row.unix_seconds};
}

void LedgerBook::AddPartition(const LedgerRow& row) {
  BookedPopulation& population = populations_.at(row.population);
  population.partition_of[row.dataset] = {
      *population.policy.partitions.Find(row.detail), row.request_hash};
}

void LedgerBook::AddDataset(const LedgerRow& row) {
  populations_.at(row.population).files_of[row.dataset] = {
      row.request_hash, DigestOfHex(row.detail).value_or(Digest{})};
}

const BookedRun* LedgerBook::FindRun(const std::string& run_id) const {
  const auto found = runs_.find(run_id);
  return found == runs_.end() ? nullptr : &found->second;
}

const BookedPopulation* LedgerBook::FindPopulation(
    const std::string& name) const {
  const auto found = populations_.find(name);
  return found == populations_.end() ? nullptr : &found->second;
}

Position PositionIn(const LedgerBook& book, const BookedPopulation& population,
                    std::optional<std::size_t> account) {
  const Budget budget = BudgetOf(population.cap, population.accounts, account);
  const std::vector<std::string>& names = population.policy.partitions.names;
  Position position;
  position.cap = budget.cap;
  position.charged = budget.charged;
  position.reserved = budget.reserved;
  position.left = RoomOf(budget);
  if (account.has_value()) position.partition = names[*account];
  for (std::size_t i = 0; i < names.size(); ++i) {
    const BookedAccount& own = population.accounts[i];
    const Budget one = {population.cap, own.charged, own.reserved};
    position.partitions.push_back(
        {names[i], one.charged, one.reserved, RoomOf(one)});
  }
  position.row_count = book.row_count();
  position.head = book.head();
  if (population.voided.has_value())
    position.void_since = population.voided->unix_seconds;
  return position;
}

}  // namespace dpnmf::curator
