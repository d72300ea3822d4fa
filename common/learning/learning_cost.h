// Cost of learning at the analyst, estimated before a run is started.
#ifndef DPNMF_COMMON_LEARNING_LEARNING_COST_H_
#define DPNMF_COMMON_LEARNING_LEARNING_COST_H_

#include <cstdint>

#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// From the shapes of the plan's releases and the mechanisms' own estimates
// (ReleaseKind::work). features: D of the data set. Pure.
v1::LearningEstimate EstimateLearning(const v1::RunSpecification& specification,
                                      const v1::RunPlan& plan,
                                      std::uint64_t features);

// D as far as the plan shows it: the rows of its largest part.
std::uint64_t FeaturesOf(const v1::RunPlan& plan);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_LEARNING_COST_H_
