// The budget of every population, as metrics.
#ifndef DPNMF_CURATOR_BUDGET_METRICS_H_
#define DPNMF_CURATOR_BUDGET_METRICS_H_

#include <string>

#include "common/rpc/metrics.h"
#include "curator/catalog.h"
#include "curator/release/ledger.h"

namespace dpnmf::curator {

// Epsilon of the cap, of what is charged, and what is left beside open
// reservations, as the ledger has it now. `metrics` may be null.
void ShowBudget(const Ledger& ledger, const std::string& population,
                Metrics* metrics);
void ShowBudgets(const Ledger& ledger, const Catalog& catalog,
                 Metrics* metrics);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_BUDGET_METRICS_H_
