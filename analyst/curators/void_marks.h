// Void guarantees in the curator's replies, written down as the replies come.
#ifndef DPNMF_ANALYST_CURATORS_VOID_MARKS_H_
#define DPNMF_ANALYST_CURATORS_VOID_MARKS_H_

#include <memory>

#include "analyst/curators/curator_connection.h"
#include "analyst/store/run_store.h"

namespace dpnmf {
class Metrics;
}  // namespace dpnmf

namespace dpnmf::analyst {

// The same connection. Before a reply about data sets or the ledger is handed
// on, all runs of the populations that it calls void are marked, their receipts
// too (GetLedger), and the metrics say it: also of runs that ended before. A
// reply that cannot be written down is an error of the call: errors of the
// store. Takes the connection; the store and the metrics (may be null) must
// outlive it. Thread-safe.
std::unique_ptr<CuratorConnection> RememberVoidGuarantees(
    std::unique_ptr<CuratorConnection> curator, RunStore* store,
    Metrics* metrics);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_CURATORS_VOID_MARKS_H_
