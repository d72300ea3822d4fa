// Public knowledge for `dpnmf-lab evaluate --prior`, and what it is worth by
// itself.
#ifndef DPNMF_LAB_EVALUATE_PRIOR_FILES_H_
#define DPNMF_LAB_EVALUATE_PRIOR_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/moments/feature_order.h"
#include "common/moments/moments.h"
#include "common/moments/prior.h"

namespace dpnmf::curator::lab {

// One prior a text, on all D features: "FILE" (columns of public people, which
// are scaled to length 1 as those of V are), "dictionary:FILE" (D x L) or
// "moment:FILE" (D x D). Any format that can be imported; people of the first
// kind lie as those of V do. Errors of LoadTable and CheckPriors.
absl::StatusOr<std::vector<Prior>> LoadPriors(
    const std::vector<std::string>& texts, bool users_are_rows,
    std::uint64_t features);

// "linear", "circular" or "graph:FILE" (ReadFeatureGraph), or with a width
// above 0 the grid of pictures that features fill row by row or `by_columns`;
// null: none of them. INVALID_ARGUMENT "feature-order-unknown", those of
// ReadFeatureGraph and CheckFeatureOrder.
absl::StatusOr<std::shared_ptr<const FeatureOrder>> LoadOrder(
    const std::string& text, int image_width, bool by_columns,
    std::uint64_t features);

// W without any release: the public columns factorised, the best of six starts;
// else the dictionary as it is; else what is fitted to the public second
// moment. Of the first prior of the first of these kinds. options.rank is not
// read of a dictionary. Errors of FitDictionary.
absl::StatusOr<Eigen::MatrixXd> PartsOfPriors(const std::vector<Prior>& priors,
                                              const FitOptions& options);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_PRIOR_FILES_H_
