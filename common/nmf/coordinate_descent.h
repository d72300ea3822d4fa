// Non-negative least squares for many columns that share a Gram matrix.
#ifndef DPNMF_COMMON_NMF_COORDINATE_DESCENT_H_
#define DPNMF_COMMON_NMF_COORDINATE_DESCENT_H_

#include <algorithm>
#include <atomic>

#include "Eigen/Core"
#include "common/threads/parallel.h"
#include "common/threads/stop.h"

namespace dpnmf {

// `sweeps` sweeps of cyclic coordinate descent on 1/2 h'Gh - c'h, h >= 0, for
// every column of c and *h (K x n); gram: K x K, symmetric. Rows whose G_kk is
// 0 become 0. The objective never rises. The same bits for any thread count.
void SweepNonNegative(const Eigen::MatrixXd& gram, const Eigen::MatrixXd& c,
                      int sweeps, int threads, Eigen::MatrixXd* h,
                      const Stop& stop = {});
void SweepNonNegative(const Eigen::MatrixXf& gram, const Eigen::MatrixXf& c,
                      int sweeps, int threads, Eigen::MatrixXf* h,
                      const Stop& stop = {});

// Multiplications between two questions whether to stop: below 100 ms of one
// thread, also of a slow one.
inline constexpr double kWorkBetweenStops = 1 << 26;

// Calls work(index, stop) over [0, count), no more after `stop` said so. The
// `stop` of work may be asked by its thread; it asks the caller's on the
// caller's thread alone.
template <typename Work>
void ParallelForWithStop(std::size_t count, int threads, const Stop& stop,
                         const Work& work) {
  std::atomic<bool> over{false};
  ParallelFor(count, threads, [&](std::size_t index, int worker) {
    Stop ask;
    if (stop) {
      ask = [&over, &stop, worker] {
        if (worker == 0 && !over && stop()) over = true;
        return over.load();
      };
    }
    if (!Stopped(ask)) work(index, ask);
  });
}

// Columns of one task: fixed, so that results do not depend on the threads.
inline constexpr Eigen::Index kTaskColumns = 100;

// Calls work(first, count, stop) over [0, total) in tasks of kTaskColumns, with
// ParallelForWithStop.
template <typename Work>
void ForColumnTasks(Eigen::Index total, int threads, const Stop& stop,
                    const Work& work) {
  const Eigen::Index tasks = (total + kTaskColumns - 1) / kTaskColumns;
  ParallelForWithStop(static_cast<std::size_t>(tasks), threads, stop,
                      [&](std::size_t task, const Stop& ask) {
                        const Eigen::Index first =
                            static_cast<Eigen::Index>(task) * kTaskColumns;
                        work(first, std::min(kTaskColumns, total - first), ask);
                      });
}

template <typename Work>
void ForColumnTasks(Eigen::Index total, int threads, const Work& work) {
  ForColumnTasks(total, threads, Stop(),
                 [&](Eigen::Index first, Eigen::Index count, const Stop&) {
                   work(first, count);
                 });
}

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_COORDINATE_DESCENT_H_
