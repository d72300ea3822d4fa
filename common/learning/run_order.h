// The declared order of a run's features (common/moments/feature_order.h): it
// comes with the request, is kept with the run (LearnerState::order) and stays
// with this analyst: nothing of it is in what the curator is asked.
#ifndef DPNMF_COMMON_LEARNING_RUN_ORDER_H_
#define DPNMF_COMMON_LEARNING_RUN_ORDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/learning/mechanism.h"
#include "common/moments/feature_order.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// Returns the order as it was sent. INVALID_ARGUMENT "feature-order-unknown",
// those of CheckFeatureOrder.
absl::StatusOr<FeatureOrder> OrderOf(const v1::FeatureOrder& sent,
                                     std::uint64_t features);

// Makes the order of `specification`, if it has one, that of a run on
// state->w.rows() features, and puts a digest in the place of its edges. Errors
// of OrderOf.
absl::Status KeepOrder(v1::RunSpecification* specification,
                       LearnerState* state);

// The run's order, for `rows`; null if there is none.
std::shared_ptr<const OrderOnRows> OrderOn(const LearnerState& state,
                                           const std::vector<int>& rows);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_RUN_ORDER_H_
