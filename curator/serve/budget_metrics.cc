#include "curator/serve/budget_metrics.h"

#include "common/privacy/budget.h"

namespace dpnmf::curator {

namespace {

// Shows no readings if they cannot be computed.
void ShowReadings(const Budget& budget, const PopulationPolicy& policy,
                  const std::string& name, Metrics* metrics) {
  const auto spent = Spent(budget, policy.conversion, policy.delta);
  const auto largest =
      LargestRun(RoomOf(budget), policy.conversion, policy.delta);
  if (!spent.ok() || !largest.ok()) return;
  metrics->SetBudget(name, policy.epsilon, *spent, *largest);
}

}  // namespace

void ShowBudget(const Ledger& ledger, const std::string& population,
                Metrics* metrics) {
  if (metrics == nullptr) return;
  const auto position = ledger.PositionOf(population);
  if (!position.ok()) return;
  metrics->SetVoidSince(population, position->void_since.value_or(0));
  const auto policy = ledger.Policy(population);
  if (!policy.ok()) return;
  ShowReadings(position->budget(), *policy, population, metrics);
  // Names contain no slash, so POPULATION/PARTITION cannot be another name.
  for (const PartitionPosition& one : position->partitions) {
    ShowReadings({position->cap, one.charged, one.reserved}, *policy,
                 population + "/" + one.name, metrics);
  }
}

void ShowBudgets(const Ledger& ledger, const Catalog& catalog,
                 Metrics* metrics) {
  for (const Dataset* dataset : catalog.All())
    ShowBudget(ledger, dataset->description().population, metrics);
}

}  // namespace dpnmf::curator
