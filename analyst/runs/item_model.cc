#include "analyst/runs/item_model.h"

#include <algorithm>
#include <utility>

#include "analyst/runs/run_items.h"
#include "common/base/error.h"
#include "common/learning/mechanism.h"

namespace dpnmf::analyst {

absl::StatusOr<std::optional<NamedItemModel>> ItemModelOf(
    const std::string& run_id, RunStore* store,
    std::optional<bool> non_negative) {
  DPNMF_ASSIGN_OR_RETURN(const RunRecord record, store->Get(run_id));
  const v1::RunSpecification& specification = record.run.specification();
  const Mechanism* const mechanism =
      Mechanisms().Find(specification.parameters().mechanism());
  if (mechanism == nullptr || mechanism->item_model == nullptr)
    return std::optional<NamedItemModel>();
  DPNMF_ASSIGN_OR_RETURN(RunItems items,
                         StoredItems(run_id, specification, store));
  if (non_negative.has_value()) items.facts.non_negative = *non_negative;
  DPNMF_ASSIGN_OR_RETURN(const LearnerState state, store->ReadLearner(run_id));
  NamedItemModel named;
  DPNMF_ASSIGN_OR_RETURN(named.model,
                         mechanism->item_model(items.facts, state));
  named.items = std::move(items.items.ids);
  named.names = std::move(items.items.names);
  if (std::all_of(named.names.begin(), named.names.end(),
                  [](const std::string& name) { return name.empty(); }))
    named.names.clear();
  if (CheckItemModel(named).ok())
    return std::optional<NamedItemModel>(std::move(named));
  return Refusal(absl::StatusCode::kDataLoss, "state-damaged",
                 "The stored releases of the run give no model; restore the "
                 "state directory from a backup.");
}

}  // namespace dpnmf::analyst
