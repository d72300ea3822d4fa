// The parts of two dictionaries in pairs.
#ifndef DPNMF_ANALYST_CLIENT_MATCHED_PARTS_H_
#define DPNMF_ANALYST_CLIENT_MATCHED_PARTS_H_

#include "Eigen/Core"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {

// Pairs by descending cosine, each part once: the best pair of all parts, then
// the best of what is left. Both have the same number of rows, and at least one
// column. The names of the runs are not set.
v1::CompareReport MatchedParts(const Eigen::MatrixXd& first,
                               const Eigen::MatrixXd& second);

}  // namespace dpnmf::cli

#endif  // DPNMF_ANALYST_CLIENT_MATCHED_PARTS_H_
