// Columns that the model makes of declared features of items. Public.
#ifndef DPNMF_COMMON_RATINGS_ITEM_FEATURES_H_
#define DPNMF_COMMON_RATINGS_ITEM_FEATURES_H_

#include <vector>

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// Blocks of columns, D rows each; none if nothing tells the items apart.
//   Columns of two values make one block of 0 and 1 (1: the larger value).
//   Every other column makes a block of hat functions: piecewise linear, one
//   knot for each value, or 8 evenly spaced ones between the column's 1 % and
//   99 % quantiles, constant beyond, if it has more than 8 values.
// Rows of a block have length 1, or are 0. Columns of one value tell nothing
// and are left out. If that makes more than `most` columns, one block of the
// `most` leading principal components takes the place of all.
// declared: D x p, finite.
std::vector<Eigen::MatrixXd> FeatureBlocks(const Eigen::MatrixXd& declared,
                                           Eigen::Index most,
                                           const Stop& stop = {});

// Columns side by side; D x 0 for no blocks.
Eigen::MatrixXd SideBySide(const std::vector<Eigen::MatrixXd>& blocks,
                           Eigen::Index rows);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_ITEM_FEATURES_H_
