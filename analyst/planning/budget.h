// The mirror against the ledger of record.
#ifndef DPNMF_ANALYST_PLANNING_BUDGET_H_
#define DPNMF_ANALYST_PLANNING_BUDGET_H_

#include <vector>

#include "absl/status/statusor.h"
#include "analyst/curators/curator_connection.h"
#include "analyst/store/run_store.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// The whole record of this analyst: the totals of the last page, the charges of
// all pages.
struct Record {
  v1::GetLedgerReply totals;
  std::vector<v1::LedgerCharge> charges;
};
absl::StatusOr<Record> ReadRecord(CuratorConnection* curator,
                                  const std::string& dataset);

// The round after the last stored one of a run of this analyst: it may be
// charged on the other side and not stored here. It is under way if the run has
// not ended; else its release was never fetched (the curator's operator closed
// the run, or it failed).
struct OpenRound {
  std::string run_id;
  std::uint32_t round = 0;
  bool ended = false;
};

// The charges of the record that the mirror lacks and that are such a round.
struct Unmirrored {
  std::vector<v1::LedgerCharge> under_way, never_fetched;
};
Unmirrored ExplainedCharges(const Record& record, const MirrorView& after,
                            const std::vector<OpenRound>& open_rounds);

// Returns the difference between the mirror and the record as one sentence;
// empty if there is none. `before` was read before the record and `after` after
// it, so that charges made meanwhile do not count as differences.
std::string Disagreement(const MirrorView& before, const Record& record,
                         const MirrorView& after,
                         const std::vector<OpenRound>& open_rounds);

// The reply to GetBudget, with the record asked of the curator now. Errors of
// the connection and of the store.
absl::StatusOr<v1::GetBudgetReply> ReadBudget(const std::string& dataset,
                                              CuratorConnection* curator,
                                              RunStore* store);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_PLANNING_BUDGET_H_
