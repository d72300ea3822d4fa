// The budget of every population, as metrics.
#ifndef DPNMF_CURATOR_SERVE_BUDGET_METRICS_H_
#define DPNMF_CURATOR_SERVE_BUDGET_METRICS_H_

#include <string>

#include "common/server/metrics.h"
#include "curator/ledger/ledger.h"
#include "curator/session/catalog.h"

namespace dpnmf::curator {

// Epsilon of the cap, spent and largest run (common/privacy/budget.h), as the
// ledger has them now. `metrics` may be null.
void ShowBudget(const Ledger& ledger, const std::string& population,
                Metrics* metrics);
void ShowBudgets(const Ledger& ledger, const Catalog& catalog,
                 Metrics* metrics);

}  // namespace dpnmf::curator

#endif  // DPNMF_CURATOR_SERVE_BUDGET_METRICS_H_
