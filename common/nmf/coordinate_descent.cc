#include "common/nmf/coordinate_descent.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr int kLanes = 20;  // columns side by side
static_assert(kTaskColumns % kLanes == 0);
using Lanes = Eigen::Array<double, kLanes, 1>;
using LaneMatrix = Eigen::Array<double, kLanes, Eigen::Dynamic>;  // kLanes x K

// h_k <- max(0, h_k + (c_k - G_k. h) / G_kk) for k ascending.
void SweepLanes(const MatrixXd& gram, const LaneMatrix& c, const Stop& stop,
                LaneMatrix* h) {
  const auto rows_between_stops = static_cast<Index>(std::max(
      1.0, kWorkBetweenStops / (kLanes * static_cast<double>(gram.rows()))));
  for (Index k = 0; k < gram.rows(); ++k) {
    if (k % rows_between_stops == 0 && Stopped(stop)) return;
    if (!(gram(k, k) > 1e-300)) {
      h->col(k).setZero();
      continue;
    }
    Lanes rest = c.col(k);
    for (Index j = 0; j < gram.rows(); ++j) rest -= gram(j, k) * h->col(j);
    h->col(k) = (h->col(k) + rest / gram(k, k)).max(0.0);
  }
}

}  // namespace

void SweepNonNegative(const MatrixXd& gram, const MatrixXd& c, int sweeps,
                      int threads, MatrixXd* h, const Stop& stop) {
  const Index rank = gram.rows();
  ForColumnTasks(
      c.cols(), threads, stop, [&](Index first, Index count, const Stop& ask) {
        LaneMatrix lanes(kLanes, rank), targets(kLanes, rank);
        for (Index at = first; at < first + count; at += kLanes) {
          const Index width = std::min<Index>(kLanes, first + count - at);
          lanes.setZero();
          targets.setZero();
          lanes.topRows(width) = h->middleCols(at, width).transpose().array();
          targets.topRows(width) = c.middleCols(at, width).transpose().array();
          for (int sweep = 0; sweep < sweeps; ++sweep) {
            SweepLanes(gram, targets, ask, &lanes);
          }
          h->middleCols(at, width) = lanes.topRows(width).matrix().transpose();
        }
      });
}

}  // namespace dpnmf
