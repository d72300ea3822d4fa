#include "lab/evaluate/data_view.h"

#include <algorithm>
#include <cmath>

#include "common/nmf/coordinate_descent.h"
#include "lab/evaluate/seeded_noise.h"
#include "lab/tables/thin_svd.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::MatrixXf;
using Eigen::VectorXd;

// Users [first, first + count) of a dense data set as doubles.
MatrixXd DenseBlock(const Dataset& data, Index first, Index count) {
  const auto features = static_cast<Index>(data.features());
  MatrixXd block(features, count);
  for (Index n = 0; n < count; ++n) {
    const std::span<const float> column =
        data.DenseColumn(static_cast<std::uint64_t>(first + n));
    block.col(n) = Eigen::Map<const Eigen::VectorXf>(column.data(), features)
                       .cast<double>();
  }
  return block;
}

// The better of the positive parts of (x, y) and of (-x, -y): x's part, of
// length 1.
VectorXd BetterPart(const VectorXd& x, const VectorXd& y) {
  const VectorXd x_up = x.cwiseMax(0), x_down = (-x).cwiseMax(0);
  const double up = x_up.norm() * y.cwiseMax(0).norm();
  const double down = x_down.norm() * (-y).cwiseMax(0).norm();
  const VectorXd& part = up >= down ? x_up : x_down;
  const double length = part.norm();
  return length > 0 ? VectorXd(part / length) : part;
}

}  // namespace

DataView::DataView(const Dataset* data)
    : data_(data),
      features_(static_cast<Index>(data->features())),
      users_(static_cast<Index>(data->private_user_count())) {
  for (Index n = 0; n < users_; ++n) {
    ForNonzeros(
        n, [this](Index, double value) { squared_norm_ += value * value; });
  }
}

void DataView::ForNonzeros(
    Index user, const std::function<void(Index, double)>& work) const {
  const auto n = static_cast<std::uint64_t>(user);
  if (data_->sparse()) {
    const SparseColumn column = data_->SparseColumnOf(n);
    for (std::size_t i = 0; i < column.rows.size(); ++i) {
      if (column.values[i] != 0) work(column.rows[i], column.values[i]);
    }
    return;
  }
  const std::span<const float> column = data_->DenseColumn(n);
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (column[i] != 0) work(static_cast<Index>(i), column[i]);
  }
}

MatrixXd DataView::Correlate(const MatrixXd& w, int threads) const {
  const MatrixXd wt = w.transpose();
  MatrixXd c = MatrixXd::Zero(w.cols(), users_);
  ForColumnTasks(users_, threads, [&](Index first, Index count) {
    if (!data_->sparse()) {
      c.middleCols(first, count).noalias() =
          wt * DenseBlock(*data_, first, count);
      return;
    }
    for (Index n = first; n < first + count; ++n) {
      ForNonzeros(
          n, [&](Index row, double value) { c.col(n) += value * wt.col(row); });
    }
  });
  return c;
}

MatrixXd DataView::Times(const MatrixXd& x) const {
  MatrixXd transposed = MatrixXd::Zero(x.cols(), features_);
  const MatrixXd xt = x.transpose();
  if (data_->sparse()) {
    for (Index n = 0; n < users_; ++n) {
      ForNonzeros(n, [&](Index row, double value) {
        transposed.col(row) += value * xt.col(n);
      });
    }
    return transposed.transpose();
  }
  MatrixXd product = MatrixXd::Zero(features_, x.cols());
  for (Index first = 0; first < users_; first += kTaskColumns) {
    const Index count = std::min(kTaskColumns, users_ - first);
    product.noalias() +=
        DenseBlock(*data_, first, count) * x.middleRows(first, count);
  }
  return product;
}

double Objective(const DataView& v, const MatrixXd& w, int threads,
                 MatrixXd* h) {
  constexpr int kSweepsAtOnce = 20, kMostSweeps = 600;
  constexpr double kSmallestGain = 1e-6;
  const MatrixXd gram = w.transpose() * w;
  const MatrixXd c = v.Correlate(w, threads);
  if (h->rows() != c.rows() || h->cols() != c.cols()) {
    *h = MatrixXd::Zero(c.rows(), c.cols());
  }
  double objective = v.squared_norm();
  for (int sweeps = 0; sweeps < kMostSweeps; sweeps += kSweepsAtOnce) {
    SweepNonNegative(gram, c, kSweepsAtOnce, threads, h);
    const double before = objective;
    objective = v.squared_norm() - 2 * c.cwiseProduct(*h).sum() +
                h->cwiseProduct(gram * *h).sum();
    if (sweeps > 0 && !(before - objective > kSmallestGain * objective)) break;
  }
  return std::max(0.0, objective) / (2 * static_cast<double>(v.users()));
}

MatrixXd NndsvdDictionary(const DataView& v, Index rank, int threads) {
  constexpr int kMoreColumns = 10, kIterations = 12;
  const Index columns =
      std::min({rank + kMoreColumns, v.features(), v.users()});
  SeededNoise random(SeedFor(1, "nndsvd"));
  MatrixXd basis(v.features(), columns);  // of the left singular vectors
  for (double& entry : basis.reshaped()) entry = random.Normal();
  for (int i = 0; i < kIterations; ++i) {
    basis = OrthonormalBasisOf(
        v.Times(v.Correlate(OrthonormalBasisOf(basis), threads).transpose()));
  }
  // V ~ Q (Q'V); the SVD of Q'V (columns x N) through that of its transpose.
  const MatrixXd projected = v.Correlate(basis, threads).transpose();
  const ThinSvd svd = ThinSvdOf(projected, columns);
  const MatrixXd left = basis * svd.v;  // D x columns
  MatrixXd w(v.features(), rank);
  for (Index k = 0; k < rank; ++k) {
    w.col(k) = k == 0 ? VectorXd(left.col(0).cwiseAbs().normalized())
                      : BetterPart(left.col(k), svd.u.col(k));
  }
  return w;
}

}  // namespace dpnmf::curator::lab
