// People drawn from a noised second moment: a law of columns whose second
// moment is the denoised one. A function of released values and public facts
// alone, hence free post-processing (docs/reference/privacy.md, theorem 7). Of
// releases with classes: common/moments/class_model.h.
//
// Everything is a function of its arguments alone; any thread may call.
#ifndef DPNMF_COMMON_MOMENTS_PEOPLE_MODEL_H_
#define DPNMF_COMMON_MOMENTS_PEOPLE_MODEL_H_

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "common/moments/moments.h"
#include "common/nmf/draws.h"
#include "common/threads/stop.h"

namespace dpnmf {

// Bound on a person's column, as the data set declares it.
struct ColumnBound {
  // Every column has length 1 (l2); else at most `length`.
  bool is_unit = false;
  double length = 1;
};

// A column is max(0, F c + e), bounded: c_1 = 1, the other entries of c normal
// with a common exponential factor (a multivariate Laplace law), e independent
// normal numbers.
struct PeopleLaw {
  Eigen::MatrixXd directions;  // F: M x k
  Eigen::VectorXd deviation;   // of e: M
  ColumnBound bound;
};

// Chooses F so that the second moment of the columns, positive and bounded as
// they are, comes near the estimate: from the eigenpairs of the estimate, a few
// steps F F' <- F F' + (G - X X'/n) over n = 2,000 columns that are drawn with
// one seed. e has the variance that the trace of the release has beyond G. All
// M features must be there if the bound is to hold of the whole column; on
// M < D chosen rows give no bound (a length of infinity). CANCELLED
// "cancelled".
absl::StatusOr<PeopleLaw> FitPeopleLaw(const DenoisedMoments& moments,
                                       const ColumnBound& bound,
                                       const Stop& stop = {});

// M x count, entries >= 0, one person a column.
Eigen::MatrixXd DrawColumns(const PeopleLaw& law, Eigen::Index count,
                            Draws* draws);

// max(0, .), then scaled to length 1, or down to the bound. A column of 0
// stays.
void BoundColumns(const ColumnBound& bound, Eigen::MatrixXd* columns);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_MOMENTS_PEOPLE_MODEL_H_
