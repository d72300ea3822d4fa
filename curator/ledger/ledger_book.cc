#include "curator/ledger/ledger_book.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/hex_id.h"
#include "common/base/utf8.h"
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

}  // namespace

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
  const Budget all = {population.cap, population.charged, population.reserved};
  Budget own = {.cap = all.cap};  // of this identity, if it has a cap
  if (!row.detail.empty()) {
    const auto identity_cap = MuSquared::FromUnitsText(row.detail);
    if (!identity_cap.has_value())
      return RuleBroken("The identity's cap is malformed.");
    own.cap = *identity_cap;
    if (const auto found = population.identities.find(row.identity);
        found != population.identities.end()) {
      own.charged = found->second.charged;
      own.reserved = found->second.reserved;
    }
  }
  // The filter: charged + reserved + asked <= cap, in integers.
  const MuSquared room = std::min(RoomOf(all), RoomOf(own));
  if (row.cost <= room) return absl::OkStatus();
  const std::string people = absl::StrCat("population `", row.population, "`");
  const bool of_all = row.cost > RoomOf(all);
  return Refusal(
      absl::StatusCode::kResourceExhausted,
      of_all ? "budget-exhausted" : "identity-budget-exhausted",
      OverBudgetSentence(
          of_all ? people : absl::StrCat("`", row.identity, "` on ", people),
          row.cost, of_all ? all : own, room, policy.conversion, policy.delta));
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
  }
  row_count_ = row.sequence;
  head_ = row.hash;
}

void LedgerBook::AddPopulation(const LedgerRow& row) {
  BookedPopulation population;
  population.policy = *ParsePolicy(row.population, row.detail);
  population.cap = row.cost;
  populations_.emplace(row.population, std::move(population));
  declared_.push_back(row.population);
}

void LedgerBook::AddOpen(const LedgerRow& row) {
  BookedPopulation& population = populations_.at(row.population);
  BookedPopulation::Identity& identity = population.identities[row.identity];
  population.reserved = Plus(population.reserved, row.cost);
  identity.reserved = Plus(identity.reserved, row.cost);
  ++identity.uncharged_runs;
  runs_.emplace(row.run_id, BookedRun{row, {}, row.cost, false, MuSquared()});
}

void LedgerBook::AddCharge(const LedgerRow& row) {
  BookedRun& run = runs_.at(row.run_id);
  BookedPopulation& population = populations_.at(row.population);
  BookedPopulation::Identity& identity = population.identities[row.identity];
  if (run.charges.empty()) --identity.uncharged_runs;
  run.left = Minus(run.left, row.cost);
  population.reserved = Minus(population.reserved, row.cost);
  identity.reserved = Minus(identity.reserved, row.cost);
  population.charged = Plus(population.charged, row.cost);
  identity.charged = Plus(identity.charged, row.cost);
  identity.charges.push_back(row.sequence);
  run.charges.push_back({row.sequence, row.request_hash, row.hash, row.cost});
}

void LedgerBook::AddClose(const LedgerRow& row) {
  BookedRun& run = runs_.at(row.run_id);
  BookedPopulation& population = populations_.at(row.population);
  BookedPopulation::Identity& identity = population.identities[row.identity];
  population.reserved = Minus(population.reserved, run.left);
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

const BookedRun* LedgerBook::FindRun(const std::string& run_id) const {
  const auto found = runs_.find(run_id);
  return found == runs_.end() ? nullptr : &found->second;
}

const BookedPopulation* LedgerBook::FindPopulation(
    const std::string& name) const {
  const auto found = populations_.find(name);
  return found == populations_.end() ? nullptr : &found->second;
}

}  // namespace dpnmf::curator
