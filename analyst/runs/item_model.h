// The item model of a run on ratings, from what is stored of it.
#ifndef DPNMF_ANALYST_RUNS_ITEM_MODEL_H_
#define DPNMF_ANALYST_RUNS_ITEM_MODEL_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "analyst/store/run_store.h"
#include "common/ratings/model_file.h"

namespace dpnmf::analyst {

// Returns no value for a run of a mechanism that learns no item model.
// non_negative: sign of the model (RatingsFacts); without it, as the run was
// started. The model passes CheckItemModel. FAILED_PRECONDITION
// "model-not-ready" before the first release; DATA_LOSS "state-damaged" if what
// is stored makes no model.
absl::StatusOr<std::optional<NamedItemModel>> ItemModelOf(
    const std::string& run_id, RunStore* store,
    std::optional<bool> non_negative = std::nullopt);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_RUNS_ITEM_MODEL_H_
