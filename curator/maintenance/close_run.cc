#include "curator/maintenance/close_run.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::curator {
namespace {

// The open run of that id, as the rows tell it.
absl::StatusOr<AbandonedRun> FindOpenRun(const std::vector<LedgerRow>& rows,
                                         const std::string& run_id) {
  std::optional<AbandonedRun> run;
  for (const LedgerRow& row : rows) {
    if (row.run_id != run_id) continue;
    if (row.kind == RowKind::kOpen)
      run = AbandonedRun{row.identity, row.population, 0, MuSquared()};
    if (row.kind == RowKind::kCharge) ++run->charged_rounds;
    if (row.kind != RowKind::kClose) continue;
    return Refusal(absl::StatusCode::kFailedPrecondition, "run-closed",
                   absl::StrCat("the run ", run_id, " is closed already."));
  }
  if (run.has_value()) return *std::move(run);
  return Refusal(absl::StatusCode::kNotFound, "run-unknown",
                 absl::StrCat("the ledger knows no run ", run_id,
                              ": give its whole id, as `dpnmf-curator ledger "
                              "show --format json` prints it."));
}

}  // namespace

absl::StatusOr<AbandonedRun> CloseAbandonedRun(const Ledger::Options& places,
                                               const std::string& run_id,
                                               const std::string& by,
                                               AuditLog* log) {
  // Open would make a ledger where there is none.
  DPNMF_RETURN_IF_ERROR(Ledger::Audit(places).status());
  DPNMF_ASSIGN_OR_RETURN(const auto ledger, Ledger::Open(places));
  DPNMF_ASSIGN_OR_RETURN(const std::vector<LedgerRow> rows,
                         Ledger::ReadRows(places));
  DPNMF_ASSIGN_OR_RETURN(AbandonedRun run, FindOpenRun(rows, run_id));
  AuditFields fields = {
      {"run", run_id}, {"identity", run.identity}, {"by", by}};
  DPNMF_RETURN_IF_ERROR(
      log->Write("run-close-asked", fields, AuditSync::kDurable));
  DPNMF_ASSIGN_OR_RETURN(run.returned, ledger->CloseRun(run.identity, run_id));
  fields.emplace_back("returned_mu_squared", run.returned.UnitsText());
  DPNMF_RETURN_IF_ERROR(
      log->Write("run-closed-by-operator", fields, AuditSync::kDurable));
  return run;
}

}  // namespace dpnmf::curator
