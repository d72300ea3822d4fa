#include "common/moments/aim.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"
#include "common/privacy/aim.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Set once, on faces, mutation counts and digits (docs/research/utility.md).
// What of a direction stays in z.
constexpr double kStaying = 0.3;
constexpr Index kAimDirections = 3;
// Bound on the length of z, relative to its mean: short z are cut less.
constexpr double kBoundOfMean = 0.8;
constexpr double kMostMadeUp = 2.5;

// Number of the leading directions that the release knows at least by half.
// With an eigenvalue l of the truth and noise whose edge is e, the squared
// cosine of the release's eigenvector to the true one is 1 - (e / 2l)^2
// (Benaych-Georges and Nadakuditi 2011), and the shrunk eigenvalue is l times
// this square. The square is 1/2 at l = e / sqrt(2).
Index DirectionsKnown(const DenoisedMoments& denoised) {
  const double least = denoised.noise_edge / std::sqrt(8.0);
  Index known = 0;
  while (known < denoised.spikes.size() && denoised.spikes(known) >= least)
    ++known;
  return known;
}

}  // namespace

absl::StatusOr<Aim> AimOf(const NoisedMoments& first, double column_bound,
                          int most, const Stop& stop, int threads) {
  DPNMF_ASSIGN_OR_RETURN(const DenoisedMoments denoised,
                         DenoiseMoments(first, stop, threads));
  const SymmetricEigen eigen = EigenOfSymmetric(denoised.g, stop, threads);
  DPNMF_RETURN_IF_ERROR(CheckNotStopped(stop));
  const Index size = first.g.rows();
  const double bound = column_bound * column_bound;
  // Columns are most often of full length: then the trace is known better than
  // its noise lets it be seen.
  const double of_trace =
      first.stddev_diagonal * std::sqrt(static_cast<double>(size));
  const double energy =
      denoised.trace > bound - 2 * of_trace ? bound : denoised.trace;
  const Index count =
      std::min({std::max<Index>(1, most), DirectionsKnown(denoised),
                kAimDirections, size});
  Aim aim;
  // Asks for v itself again if no direction is known; both are one release.
  if (count == 0) {
    aim.directions = MatrixXd::Zero(size, 1);
    return aim;
  }
  aim.directions.resize(size, count);
  aim.rest = energy;
  double left = energy;
  for (Index k = 0; k < count; ++k) {
    const double value = std::max(0.0, eigen.values(size - 1 - k));
    left -= (1 - kStaying * kStaying) * value;
    aim.rest -= value;
    aim.directions.col(k) =
        std::sqrt(1 - kStaying) * eigen.vectors.col(size - 1 - k);
  }
  left = std::max(left, 0.02 * bound);
  aim.rest = std::max(aim.rest, 0.0);
  aim.scale = std::clamp(column_bound / (kBoundOfMean * std::sqrt(left)),
                         kLeastAimScale, kLargestAimScale);
  return aim;
}

absl::StatusOr<NoisedMoments> WithAimed(const NoisedMoments& first,
                                        const Aim& aim, const MatrixXd& z,
                                        double second_stddev) {
  const Index size = first.g.rows(), count = aim.directions.cols();
  if (z.rows() != size || z.cols() != size || aim.directions.rows() != size ||
      count < 1 || !z.allFinite() || !aim.directions.allFinite() ||
      !(aim.scale > 0)) {
    return Refusal(absl::StatusCode::kInvalidArgument, "moments-shape-invalid",
                   "The second release must have the size of the first.");
  }
  const double s2 = aim.scale * aim.scale;
  // b_k = 1 - |u_k|^2, q_k = u_k / |u_k|.
  VectorXd b(count);
  MatrixXd q = aim.directions;
  for (Index k = 0; k < count; ++k) {
    b(k) = std::max(1e-3, 1 - q.col(k).squaredNorm());
    if (q.col(k).norm() > 0) q.col(k).normalize();
  }
  // (I - P)^-1 = I + sum (1/b_k - 1) q_k q_k'.
  const auto undone = [&](const MatrixXd& x) {
    return MatrixXd(x +
                    q * (b.cwiseInverse().array() - 1).matrix().asDiagonal() *
                        (q.transpose() * x));
  };
  MatrixXd second = undone(undone(z).transpose()).transpose() / s2;
  const auto rest_of = [&](const MatrixXd& x) {
    const MatrixXd qx = q.transpose() * x;
    const MatrixXd half = x - q * qx;
    return MatrixXd(half - (half * q) * q.transpose());
  };
  const double trace = rest_of(second).trace();
  const double made_up = aim.rest > 0 && trace > 0
                             ? std::clamp(aim.rest / trace, 1.0, kMostMadeUp)
                             : 1.0;
  second *= made_up;
  // Variances: of the first, of the second where no q is; elsewhere the second
  // has 1 / (b_i^2 b_j^2) times as much.
  const double v1 = first.stddev_off * first.stddev_off;
  const double v2 = std::pow(second_stddev * made_up / s2, 2);
  const auto share = [&](double b_i, double b_j) {  // of the second
    const double of_second = v2 / (b_i * b_i * b_j * b_j);
    return v1 + of_second > 0 ? v1 / (v1 + of_second) : 1.0;
  };
  const MatrixXd difference = second - first.g;
  // In the basis: D_qq = q'Dq, D_qr = q'D(I - qq'), D_rr the rest.
  const MatrixXd qd = q.transpose() * difference;
  const MatrixXd inner = qd * q;
  const MatrixXd cross = qd - inner * q.transpose();
  const double w_rest = share(1, 1);
  MatrixXd w_inner(count, count);
  VectorXd w_cross(count);
  for (Index i = 0; i < count; ++i) {
    w_cross(i) = share(b(i), 1);
    for (Index j = 0; j < count; ++j) w_inner(i, j) = share(b(i), b(j));
  }
  const MatrixXd moved = q * (w_cross.asDiagonal() * cross);
  const MatrixXd rest = rest_of(difference);
  MatrixXd g = first.g + w_rest * rest + moved + moved.transpose() +
               q * inner.cwiseProduct(w_inner) * q.transpose();
  NoisedMoments result = first;
  result.g = (g + g.transpose()) / 2;
  result.stddev_off = std::sqrt(v1 * v2 / std::max(v1 + v2, 1e-300));
  result.stddev_diagonal = std::sqrt(2.0) * result.stddev_off;
  // A mean with inverse variances, the share w of it the second's, has variance
  // (1 - w) v1.
  const auto wider_by = [&](double w) {
    return w_rest < 1 ? std::sqrt((1 - w) / (1 - w_rest)) : 1.0;
  };
  WiderNoise wider = {q, w_cross.unaryExpr(wider_by),
                      w_inner.unaryExpr(wider_by)};
  result.wider = std::make_shared<const WiderNoise>(std::move(wider));
  return result;
}

}  // namespace dpnmf
