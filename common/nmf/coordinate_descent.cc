#include "common/nmf/coordinate_descent.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;

template <typename Scalar>
using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

// Columns side by side: whole vector registers.
template <typename Scalar>
inline constexpr int kLanes = 160 / sizeof(Scalar);
template <typename Scalar>
using Lanes = Eigen::Array<Scalar, kLanes<Scalar>, 1>;
template <typename Scalar>  // kLanes x K
using LaneMatrix = Eigen::Array<Scalar, kLanes<Scalar>, Eigen::Dynamic>;

// h_k <- max(0, h_k + (c_k - G_k. h) / G_kk) for k ascending.
template <typename Scalar>
void SweepLanes(const Dense<Scalar>& gram, const LaneMatrix<Scalar>& c,
                const Stop& stop, LaneMatrix<Scalar>* h) {
  constexpr Scalar kDead = sizeof(Scalar) == 8 ? 1e-300 : 1e-30;
  const auto rows_between_stops = static_cast<Index>(std::max(
      1.0,
      kWorkBetweenStops / (kLanes<Scalar> * static_cast<double>(gram.rows()))));
  for (Index k = 0; k < gram.rows(); ++k) {
    if (k % rows_between_stops == 0 && Stopped(stop)) return;
    if (!(gram(k, k) > kDead)) {
      h->col(k).setZero();
      continue;
    }
    Lanes<Scalar> rest = c.col(k);
    for (Index j = 0; j < gram.rows(); ++j) rest -= gram(j, k) * h->col(j);
    h->col(k) = (h->col(k) + rest / gram(k, k)).max(Scalar{0});
  }
}

template <typename Scalar>
void Sweep(const Dense<Scalar>& gram, const Dense<Scalar>& c, int sweeps,
           int threads, Dense<Scalar>* h, const Stop& stop) {
  const Index rank = gram.rows();
  ForColumnTasks(
      c.cols(), threads, stop, [&](Index first, Index count, const Stop& ask) {
        LaneMatrix<Scalar> lanes(kLanes<Scalar>, rank),
            targets(kLanes<Scalar>, rank);
        for (Index at = first; at < first + count; at += kLanes<Scalar>) {
          const Index width =
              std::min<Index>(kLanes<Scalar>, first + count - at);
          lanes.setZero();
          targets.setZero();
          lanes.topRows(width) = h->middleCols(at, width).transpose().array();
          targets.topRows(width) = c.middleCols(at, width).transpose().array();
          for (int sweep = 0; sweep < sweeps; ++sweep) {
            SweepLanes<Scalar>(gram, targets, ask, &lanes);
          }
          h->middleCols(at, width) = lanes.topRows(width).matrix().transpose();
        }
      });
}

}  // namespace

void SweepNonNegative(const MatrixXd& gram, const MatrixXd& c, int sweeps,
                      int threads, MatrixXd* h, const Stop& stop) {
  Sweep<double>(gram, c, sweeps, threads, h, stop);
}

void SweepNonNegative(const MatrixXf& gram, const MatrixXf& c, int sweeps,
                      int threads, MatrixXf* h, const Stop& stop) {
  Sweep<float>(gram, c, sweeps, threads, h, stop);
}

}  // namespace dpnmf
