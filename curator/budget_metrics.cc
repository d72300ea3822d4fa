#include "curator/budget_metrics.h"

#include <algorithm>

#include "common/privacy/accounting.h"

namespace dpnmf::curator {

void ShowBudget(const Ledger& ledger, const std::string& population,
                Metrics* metrics) {
  if (metrics == nullptr) return;
  const auto policy = ledger.Policy(population);
  const auto position = ledger.PositionOf(population);
  if (!policy.ok() || !position.ok()) return;
  const auto epsilon = [&](MuSquared cost) {
    return Epsilon(policy->conversion, cost, policy->delta).value_or(0);
  };
  const double cap = epsilon(position->cap);
  const MuSquared used = MuSquared::Add(position->charged, position->reserved)
                             .value_or(position->cap);
  metrics->SetBudget(population, cap, epsilon(position->charged),
                     std::max(0.0, cap - epsilon(used)));
}

void ShowBudgets(const Ledger& ledger, const Catalog& catalog,
                 Metrics* metrics) {
  for (const Dataset* dataset : catalog.All())
    ShowBudget(ledger, dataset->description().population, metrics);
}

}  // namespace dpnmf::curator
