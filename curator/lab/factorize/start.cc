#include "curator/lab/factorize/start.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "common/nmf/linear_algebra.h"

namespace dpnmf::curator::lab {
namespace {

using Rows =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowsMap = Eigen::Map<const Rows, 0, Eigen::OuterStride<>>;

RowsMap MapOf(const RowMatrix& m) {
  return RowsMap(m.values.data(), m.rows, m.columns,
                 Eigen::OuterStride<>(m.stride));
}

// w x, in the layout of w.
RowMatrix Times(const RowMatrix& w, const Eigen::MatrixXd& x) {
  RowMatrix product(w.rows, static_cast<int>(x.cols()));
  Eigen::Map<Rows, 0, Eigen::OuterStride<>>(
      product.values.data(), product.rows, product.columns,
      Eigen::OuterStride<>(product.stride))
      .noalias() = MapOf(w) * x;
  return product;
}

// An orthonormal basis of w's columns by the eigenvectors of W'W; directions
// that are lost to rounding become zero.
RowMatrix Orthonormal(const FactorizePasses& passes, const RowMatrix& w) {
  const SymmetricEigen solver = EigenOfSymmetric(passes.Gram(w));
  const Eigen::VectorXd& values = solver.values;
  const double least = values.maxCoeff() * 1e-14;
  Eigen::VectorXd scales(values.size());
  for (Eigen::Index i = 0; i < values.size(); ++i)
    scales[i] = values[i] > least ? 1 / std::sqrt(values[i]) : 0;
  return Times(w, solver.vectors * scales.asDiagonal());
}

// One user's column to column k, times `weight`.
void AddColumn(const Dataset& data, std::uint64_t user, double weight, int k,
               RowMatrix* w) {
  if (data.sparse()) {
    const SparseColumn column = data.SparseColumnOf(user);
    for (std::size_t i = 0; i < column.rows.size(); ++i)
      w->Row(column.rows[i])[k] += weight * column.values[i];
    return;
  }
  const auto column = data.DenseColumn(user);
  for (int feature = 0; feature < w->rows; ++feature)
    w->Row(feature)[k] += weight * column[feature];
}

// Column k becomes the positive part of it times `sign`, of length 1.
void KeepPart(double sign, int k, RowMatrix* w) {
  double squares = 0;
  for (int row = 0; row < w->rows; ++row) {
    double& x = w->Row(row)[k];
    x = std::max(0.0, sign * x);
    squares += x * x;
  }
  if (!(squares > 0)) return;
  const double scale = 1 / std::sqrt(squares);
  for (int row = 0; row < w->rows; ++row) w->Row(row)[k] *= scale;
}

}  // namespace

RowMatrix StartFromColumns(const Dataset& data, int rank, std::uint64_t seed) {
  constexpr int kColumns = 5;
  RowMatrix w(static_cast<int>(data.features()), rank);
  std::mt19937_64 random(seed);
  for (int k = 0; k < rank; ++k) {
    for (int i = 0; i < kColumns; ++i) {
      AddColumn(data, random() % data.private_user_count(), 1.0 / kColumns, k,
                &w);
    }
  }
  return w;
}

RowMatrix StartFromSingularVectors(FactorizePasses* passes, int features,
                                   std::uint64_t users, int rank,
                                   std::uint64_t seed) {
  constexpr int kPowers = 5;
  const int columns = static_cast<int>(
      std::min<std::uint64_t>({2 * static_cast<std::uint64_t>(rank) + 10,
                               static_cast<std::uint64_t>(features), users}));
  RowMatrix basis(features, columns);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (int row = 0; row < features; ++row) {
    for (int k = 0; k < columns; ++k) basis.Row(row)[k] = normal(random);
  }
  for (int power = 0; power < kPowers; ++power) {
    passes->Project(basis, nullptr);
    basis = Orthonormal(*passes, passes->b());  // of V V' basis
  }
  // Rayleigh and Ritz: the left singular vectors within the basis, the largest
  // first.
  passes->Project(basis, nullptr);
  const SymmetricEigen solver = EigenOfSymmetric(passes->a());
  RowMatrix w = Times(basis, solver.vectors.rowwise().reverse().leftCols(rank));
  // |u+| |v+| against |u-| |v-|, v = V'u up to a factor.
  std::vector<double> of_users;
  passes->Project(w, &of_users);
  for (int k = 0; k < rank; ++k) {
    double positive = 0, negative = 0;
    for (int row = 0; row < features; ++row) {
      const double x = w.Row(row)[k];
      (x > 0 ? positive : negative) += x * x;
    }
    KeepPart(
        positive * of_users[2 * k] >= negative * of_users[2 * k + 1] ? 1 : -1,
        k, &w);
  }
  return w;
}

}  // namespace dpnmf::curator::lab
