#include "curator/maintenance/close_run.h"

#include <iterator>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace dpnmf::curator {
namespace {

// A shorter one is a slip of the hand, and a closed run stays closed.
constexpr std::size_t kLeastRunDigits = 4;

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
                   absl::StrCat("The run ", run_id, " is already closed."));
  }
  if (run.has_value()) return *std::move(run);
  return Refusal(absl::StatusCode::kNotFound, "run-unknown",
                 absl::StrCat("The ledger has no run ", run_id,
                              "; `dpnmf-curator ledger show` lists them."));
}

}  // namespace

absl::StatusOr<std::string> WholeRunId(const std::vector<LedgerRow>& rows,
                                       const std::string& digits) {
  if (digits.size() < kLeastRunDigits) {
    return Refusal(absl::StatusCode::kInvalidArgument, "run-id-malformed",
                   absl::StrCat("'", digits, "' is too short for a run: give ",
                                kLeastRunDigits, " or more digits of its id."));
  }
  std::set<std::string> found;
  const std::string lower = absl::AsciiStrToLower(digits);
  for (const LedgerRow& row : rows)
    if (row.run_id.starts_with(lower)) found.insert(row.run_id);
  if (found.size() == 1) return *found.begin();
  if (found.empty()) {
    return Refusal(absl::StatusCode::kNotFound, "run-unknown",
                   absl::StrCat("No run in the ledger begins with '", digits,
                                "'; `dpnmf-curator ledger show` lists them."));
  }
  return Refusal(
      absl::StatusCode::kInvalidArgument, "run-id-ambiguous",
      absl::StrCat("More than one run begins with '", digits,
                   "': ", *found.begin(), ", ", *std::next(found.begin()),
                   found.size() > 2 ? ", ..." : "", "; give more digits."));
}

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
