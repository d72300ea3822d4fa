#include "tests/attacks/budget_model.h"

#include <algorithm>

namespace dpnmf::curator {
namespace {

Verdict Refused(const std::string& code) {
  Verdict verdict;
  verdict.code = code;
  return verdict;
}

}  // namespace

std::string UnitsText(Units units) {
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(units % 10)));
    units /= 10;
  } while (units != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

Units BudgetModel::Run::Charged() const {
  Units sum = 0;
  for (const Charge& charge : charges) sum += charge.attempt.cost;
  return sum;
}

void BudgetModel::Declare(const std::string& population, Units cap) {
  if (caps_.emplace(population, cap).second) ++rows_;
}

const BudgetModel::Run* BudgetModel::FindRun(const std::string& run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

const BudgetModel::Run* BudgetModel::RunOf(const std::string& identity,
                                           const std::string& run) const {
  const Run* known = FindRun(run);
  return known != nullptr && known->opening.identity == identity ? known
                                                                 : nullptr;
}

BudgetModel::Totals BudgetModel::TotalsOf(const std::string& population,
                                          const std::string& identity) const {
  Totals totals;
  for (const auto& [id, run] : runs_) {
    if (run.opening.population != population) continue;
    if (!identity.empty() && run.opening.identity != identity) continue;
    totals.charged += run.Charged();
    totals.reserved += run.Left();
    totals.charges += run.charges.size();
  }
  return totals;
}

Verdict BudgetModel::Open(const OpenAttempt& attempt) const {
  if (const Run* run = FindRun(attempt.run); run != nullptr) {
    const OpenAttempt& first = run->opening;
    if (first.identity != attempt.identity ||
        first.population != attempt.population ||
        first.request != attempt.request) {
      return Refused("run-differs");
    }
    if (run->closed) return Refused("run-closed");
    Verdict verdict;
    verdict.next_round = static_cast<std::uint32_t>(run->charges.size()) + 1;
    return verdict;
  }
  const auto cap = caps_.find(attempt.population);
  if (cap == caps_.end()) return Refused("population-unknown");
  const Totals all = TotalsOf(attempt.population);
  if (all.charged + all.reserved + attempt.cost > cap->second)
    return Refused("budget-exhausted");
  const Totals own = TotalsOf(attempt.population, attempt.identity);
  if (attempt.identity_cap.has_value() &&
      own.charged + own.reserved + attempt.cost > *attempt.identity_cap) {
    return Refused("identity-budget-exhausted");
  }
  Verdict verdict;
  verdict.appends = true;
  verdict.next_round = 1;
  return verdict;
}

Verdict BudgetModel::Ask(const RoundAttempt& attempt) const {
  Verdict verdict = Find(attempt);
  if (!verdict.code.empty() || verdict.row != 0) return verdict;
  if (attempt.cost > FindRun(attempt.run)->Left())
    return Refused("charge-over-reservation");
  verdict.appends = true;
  verdict.row = rows_ + 1;
  return verdict;
}

Verdict BudgetModel::Find(const RoundAttempt& attempt) const {
  const Run* run = RunOf(attempt.identity, attempt.run);
  if (run == nullptr) return Refused("run-unknown");
  if (attempt.round >= 1 && attempt.round <= run->charges.size()) {
    const Charge& made = run->charges[attempt.round - 1];
    if (made.attempt.request != attempt.request)
      return Refused("round-differs");
    Verdict verdict;
    verdict.row = made.row;
    return verdict;
  }
  if (run->closed) return Refused("run-closed");
  if (attempt.round != run->charges.size() + 1 ||
      attempt.round > run->opening.rounds) {
    return Refused("round-out-of-order");
  }
  return Verdict();
}

Verdict BudgetModel::Close(const std::string& identity,
                           const std::string& run_id) const {
  const Run* run = RunOf(identity, run_id);
  if (run == nullptr) return Refused("run-unknown");
  Verdict verdict;
  verdict.appends = !run->closed;
  verdict.returned = run->opening.cost - run->Charged();
  return verdict;
}

Verdict BudgetModel::DoOpen(const OpenAttempt& attempt) {
  const Verdict verdict = Open(attempt);
  if (verdict.appends) {
    ++rows_;
    runs_[attempt.run] = Run{attempt, {}, false};
  }
  return verdict;
}

Verdict BudgetModel::DoAsk(const RoundAttempt& attempt) {
  const Verdict verdict = Ask(attempt);
  if (verdict.appends) {
    ++rows_;
    ++charges_;
    runs_.at(attempt.run).charges.push_back({attempt, rows_});
  }
  return verdict;
}

Verdict BudgetModel::DoClose(const std::string& identity,
                             const std::string& run) {
  const Verdict verdict = Close(identity, run);
  if (verdict.appends) {
    ++rows_;
    runs_.at(run).closed = true;
  }
  return verdict;
}

}  // namespace dpnmf::curator
