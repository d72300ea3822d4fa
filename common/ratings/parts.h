// A variant of an item model that people can read: what items have in common is
// made of parts that nothing takes away from. Post-processing.
#ifndef DPNMF_COMMON_RATINGS_PARTS_H_
#define DPNMF_COMMON_RATINGS_PARTS_H_

#include "common/ratings/item_model.h"
#include "common/threads/stop.h"

namespace dpnmf {

// The model with loadings W >= 0 after the bias and ItemModel::level > 0.
//
// With L the loadings of `model`, bias included, opinions of items i and j have
// the covariance (L L')_ij over people. W (D x K) and the bias b minimise
//   sum_ij c_i c_j ((L L')_ij - b^2 - (W W')_ij)^2   over W >= 0, b >= b_0,
// with counts c: non-negative factorisation of a symmetric matrix (Ding, He and
// Simon, SDM 2005) on the 4,096 most counted items, by descent along one column
// at a time; the rows of the others are least squares with W as it is. What is
// negative in the covariance beyond the smallest bias is lost; what W and b
// lack of the items' variance, on average, adds to the residual's. K: the
// loadings after the bias, 20 at most; the columns are ordered by their weight.
// The same bits on every machine.
ItemModel NonNegativeModel(const ItemModel& model, const Stop& stop = {});

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_PARTS_H_
