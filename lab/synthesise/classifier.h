// Utility of synthetic people: a support vector machine (RBF kernel) that
// learns from one table and is tested on another.
#ifndef DPNMF_LAB_SYNTHESISE_CLASSIFIER_H_
#define DPNMF_LAB_SYNTHESISE_CLASSIFIER_H_

#include "absl/status/statusor.h"
#include "lab/tables/table.h"

namespace dpnmf::curator::lab {

// Share of the people of `test` whose class is found, with kernel
// exp(-gamma |x - y|^2) and C = 1. INVALID_ARGUMENT "attack-mismatch" unless
// both have classes and the same columns, "classes-one" if `train` has one
// class alone.
absl::StatusOr<double> TrainedAccuracy(const Table& train, const Table& test,
                                       double gamma);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_SYNTHESISE_CLASSIFIER_H_
