#include "curator/serve/run_observer.h"

#include <utility>

#include "common/base/error.h"
#include "common/log/log.h"
#include "curator/serve/budget_metrics.h"

namespace dpnmf::curator {

RunObserver::RunObserver(const Observers& observers, const Ledger& ledger,
                         std::string identity)
    : observers_(observers), ledger_(ledger), identity_(std::move(identity)) {}

absl::Status RunObserver::Asked() const {
  return WriteAudit(observers_.audit, "run-asked", {{"identity", identity_}});
}

absl::Status RunObserver::Opened(const std::string& run_id,
                                 const RunParameters& parameters,
                                 const OpenedSession& opened) {
  run_id_ = run_id;
  dataset_ = parameters.dataset;
  population_ = opened.facts.population;
  LogInfo("run {} of data set {} opened, next round {}", run_id_, dataset_,
          opened.next_round);
  CountConnected(1);
  ShowBudget(ledger_, population_, observers_.metrics);
  return Audit("run-opened",
               {{"dataset", dataset_},
                {"mechanism", parameters.mechanism},
                {"reserved_mu_squared", opened.plan.cost.UnitsText()},
                {"next_round", std::int64_t{opened.next_round}}});
}

absl::Status RunObserver::RoundAsked(std::uint32_t round) {
  round_ = Stopwatch();
  return Audit("round-asked", {{"round", std::int64_t{round}}});
}

absl::Status RunObserver::RoundReleased(const ReleasedRound& released) {
  LogInfo("run {} round {} {}", run_id_, released.round,
          released.lost ? "is lost" : "released");
  if (observers_.metrics != nullptr) {
    observers_.metrics->RoundEnded(
        dataset_, released.lost ? "lost" : "released", round_.Seconds());
  }
  ShowBudget(ledger_, population_, observers_.metrics);
  return Audit(released.lost ? "round-lost" : "round-released",
               {{"round", std::int64_t{released.round}},
                {"row", HexOf(released.row_hash)},
                {"mu_squared", released.cost.UnitsText()}},
               AuditSync::kDurable);
}

absl::Status RunObserver::Closed(MuSquared returned) {
  ShowBudget(ledger_, population_, observers_.metrics);
  DPNMF_RETURN_IF_ERROR(
      Audit("run-closed", {{"returned_mu_squared", returned.UnitsText()}}));
  LogInfo("run {} closed", run_id_);
  CountConnected(-1);
  return absl::OkStatus();
}

void RunObserver::Ended() {
  if (connected_) CountConnected(-1);
}

absl::Status RunObserver::Audit(std::string_view event, AuditFields more,
                                AuditSync sync) const {
  AuditFields fields = {{"identity", identity_}, {"run", run_id_}};
  for (auto& field : more) fields.push_back(std::move(field));
  return WriteAudit(observers_.audit, event, fields, sync);
}

void RunObserver::CountConnected(int change) {
  connected_ = change > 0;
  if (observers_.metrics != nullptr)
    observers_.metrics->AddRuns("connected", change);
}

}  // namespace dpnmf::curator
