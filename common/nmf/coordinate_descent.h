// Non-negative least squares for many columns that share a Gram matrix.
#ifndef DPNMF_COMMON_NMF_COORDINATE_DESCENT_H_
#define DPNMF_COMMON_NMF_COORDINATE_DESCENT_H_

#include <algorithm>

#include "Eigen/Core"
#include "common/base/parallel.h"

namespace dpnmf {

// `sweeps` sweeps of cyclic coordinate descent on 1/2 h'Gh - c'h, h >= 0, for
// every column of c and *h (K x n); gram: K x K, symmetric. Rows whose G_kk is
// 0 become 0. The objective never rises. The same bits for any thread count.
void SweepNonNegative(const Eigen::MatrixXd& gram, const Eigen::MatrixXd& c,
                      int sweeps, int threads, Eigen::MatrixXd* h);

// Columns of one task: fixed, so that results do not depend on the threads.
inline constexpr Eigen::Index kTaskColumns = 100;

// Calls work(first, count) over [0, total) in tasks of kTaskColumns.
template <typename Work>
void ForColumnTasks(Eigen::Index total, int threads, const Work& work) {
  const Eigen::Index tasks = (total + kTaskColumns - 1) / kTaskColumns;
  ParallelFor(static_cast<std::size_t>(tasks), threads,
              [&](std::size_t task, int) {
                const Eigen::Index first =
                    static_cast<Eigen::Index>(task) * kTaskColumns;
                work(first, std::min(kTaskColumns, total - first));
              });
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_COORDINATE_DESCENT_H_
