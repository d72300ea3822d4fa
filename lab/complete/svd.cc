#include "lab/complete/svd.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/nmf/linear_algebra.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A = 1 mu' + E, E the ratings less their column's mean.
class ImputedMatrix {
 public:
  ImputedMatrix(const SparseRatings& ratings, const VectorXd& means)
      : ratings_(ratings), means_(means), excess_(ratings.size()) {
    for (std::size_t at = 0; at < excess_.size(); ++at)
      excess_[at] = ratings.values[at] - means[ratings.indices[at]];
  }

  VectorXd Times(const VectorXd& x) const {
    const double constant = means_.dot(x);
    VectorXd y(ratings_.rows());
    for (Index row = 0; row < ratings_.rows(); ++row) {
      // Four sums: one addition need not wait for the one before it.
      double sums[4] = {constant, 0, 0, 0};
      std::size_t at = ratings_.Begin(row);
      const std::size_t end = ratings_.Begin(row + 1);
      for (; at + 4 <= end; at += 4)
        for (std::size_t i = 0; i < 4; ++i)
          sums[i] += excess_[at + i] * x[ratings_.indices[at + i]];
      for (; at < end; ++at) sums[0] += excess_[at] * x[ratings_.indices[at]];
      y[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    return y;
  }

  VectorXd TransposeTimes(const VectorXd& y) const {
    VectorXd x = y.sum() * means_;
    for (Index row = 0; row < ratings_.rows(); ++row) {
      for (std::size_t at = ratings_.Begin(row); at < ratings_.Begin(row + 1);
           ++at)
        x[ratings_.indices[at]] += excess_[at] * y[row];
    }
    return x;
  }

 private:
  const SparseRatings& ratings_;
  const VectorXd& means_;
  std::vector<double> excess_;
};

// Removes from x what lies in the first `count` columns of the basis and gives
// x length 1. Returns the length that was left; x is 0 if that is nothing
// beside `size`. Where little is left, what rounding left in the basis is
// removed once more (Daniel, Gragg, Kaufman and Stewart 1976): "twice is
// enough".
double Orthonormalise(const MatrixXd& basis, Index count, double size,
                      VectorXd* x) {
  constexpr double kMuch = 0.7;
  double length = x->norm();
  for (int pass = 0; pass < 2 && count > 0; ++pass) {
    const double before = length;
    const VectorXd part = basis.leftCols(count).transpose() * *x;
    x->noalias() -= basis.leftCols(count) * part;
    length = x->norm();
    if (length > kMuch * before) break;
  }
  if (!(length > 1e-12 * size)) {
    x->setZero();
    return 0;
  }
  *x /= length;
  return length;
}

}  // namespace

absl::StatusOr<TruncatedSvd> MeanImputedSvd(const SparseRatings& ratings,
                                            const VectorXd& column_means,
                                            int rank) {
  const Index most = std::min(ratings.rows(), ratings.columns);
  if (rank < 1 || rank > most) {
    return Refusal(absl::StatusCode::kInvalidArgument, "complete-rank",
                   absl::StrCat("`--rank` must be from 1 to ", most,
                                ", the smaller number of people and items."));
  }
  const ImputedMatrix matrix(ratings, column_means);
  // On the transpose if it is narrower: after as many steps as M = A or A' has
  // columns, V_j is a basis of everything and B_j is M itself.
  const bool turned = ratings.rows() < ratings.columns;
  const auto times = [&](const VectorXd& x) {
    return turned ? matrix.TransposeTimes(x) : matrix.Times(x);
  };
  const auto transpose_times = [&](const VectorXd& x) {
    return turned ? matrix.Times(x) : matrix.TransposeTimes(x);
  };
  // M V_j = U_j B_j with B_j upper bidiagonal: alpha on, beta above the
  // diagonal; M' U_j = V_j B_j' + beta_j v_{j+1} e_j'.
  Index room = std::min<Index>(most, 2 * Index{rank} + 40);
  MatrixXd u(std::max(ratings.rows(), ratings.columns), room), v(most, room);
  std::vector<double> alpha, beta;
  std::mt19937_64 start(1);  // directions that nothing has reached yet
  const auto fresh = [&start, most] {
    return VectorXd::NullaryExpr(
               most,
               [&start] {
                 return std::ldexp(static_cast<double>(start() >> 11), -52) - 1;
               })
        .eval();
  };
  double size = 0;  // of A, as far as it is known
  VectorXd next = fresh();
  Orthonormalise(v, 0, size, &next);
  Index look = std::min<Index>(most, 2 * Index{rank} + 30);
  while (true) {
    const auto j = static_cast<Index>(alpha.size());
    if (j == room) {
      room = std::min(most, room + room / 2 + 1);
      u.conservativeResize(Eigen::NoChange, room);
      v.conservativeResize(Eigen::NoChange, room);
    }
    v.col(j) = next;
    VectorXd left = times(next);
    if (j > 0) left -= beta.back() * u.col(j - 1);
    // A direction that is used up is 0, and so is what follows from it.
    double length = Orthonormalise(u, j, size, &left);
    alpha.push_back(length);
    u.col(j) = left;
    size = std::max(size, length);
    next = transpose_times(left) - length * v.col(j);
    length = Orthonormalise(v, j + 1, size, &next);
    if (length == 0) {
      next = fresh();
      Orthonormalise(v, j + 1, size, &next);
    }
    beta.push_back(length);
    if (j + 1 < look) continue;
    // B'B is tridiagonal; its eigenvectors are the right ones of B.
    MatrixXd gram = MatrixXd::Zero(j + 1, j + 1);
    for (Index i = 0; i <= j; ++i) {
      const auto at = static_cast<std::size_t>(i);
      gram(i, i) =
          alpha[at] * alpha[at] + (i > 0 ? beta[at - 1] * beta[at - 1] : 0);
      if (i > 0) gram(i, i - 1) = alpha[at - 1] * beta[at - 1];
    }
    const SymmetricEigen eigen = EigenOfSymmetric(gram);
    TruncatedSvd svd;
    svd.s = eigen.values.tail(rank).reverse().cwiseMax(0).cwiseSqrt();
    const MatrixXd right = eigen.vectors.rightCols(rank).rowwise().reverse();
    MatrixXd left_small = MatrixXd::Zero(j + 1, rank);  // B right / s
    double worst = 0;  // residual beside the singular value
    for (Index r = 0; r < rank; ++r) {
      if (!(svd.s[r] > 1e-12 * svd.s[0])) continue;
      for (Index i = 0; i <= j; ++i) {
        const auto at = static_cast<std::size_t>(i);
        left_small(i, r) = (alpha[at] * right(i, r) +
                            (i < j ? beta[at] * right(i + 1, r) : 0)) /
                           svd.s[r];
      }
      worst =
          std::max(worst, std::abs(beta.back() * left_small(j, r)) / svd.s[r]);
    }
    if (worst > 1e-6 && j + 1 < most) {
      look = std::min<Index>(most, look + std::max<Index>(10, look / 5));
      continue;
    }
    svd.u = Product(u.leftCols(j + 1), left_small);
    svd.v = Product(v.leftCols(j + 1), right);
    return turned ? svd.Transposed() : svd;
  }
}

TruncatedSvd UpdatedByRows(const TruncatedSvd& svd, const MatrixXd& rows) {
  const Index rank = svd.s.size(), added = rows.rows();
  const MatrixXd p = Product(rows, svd.v);
  MatrixXd gram = MatrixXd::Zero(rank + added, rank + added);
  gram.topLeftCorner(rank, rank).diagonal() = svd.s.cwiseAbs2();
  gram.bottomLeftCorner(added, rank) = p * svd.s.asDiagonal();
  gram.bottomRightCorner(added, added) = ProductTranspose(rows, rows);
  const SymmetricEigen eigen = EigenOfSymmetric(gram);
  const MatrixXd left = eigen.vectors.rightCols(rank).rowwise().reverse();
  TruncatedSvd updated;
  updated.s = eigen.values.tail(rank).reverse().cwiseMax(0).cwiseSqrt();
  const VectorXd inverse =
      (updated.s.array() > 1e-12 * updated.s[0])
          .select(updated.s.array().max(1e-300).inverse(), 0)
          .matrix();
  updated.u.resize(svd.u.rows() + added, rank);
  updated.u.topRows(svd.u.rows()) = Product(svd.u, left.topRows(rank));
  updated.u.bottomRows(added) = left.bottomRows(added);
  // V = M' left / s.
  updated.v = (Product(svd.v, svd.s.asDiagonal() * left.topRows(rank)) +
               TransposeProduct(rows, left.bottomRows(added))) *
              inverse.asDiagonal();
  return updated;
}

CompletedRow SvdRow(const TruncatedSvd& svd) {
  const auto kept = std::make_shared<const TruncatedSvd>(svd);
  return [kept](Index row) -> VectorXd {
    return kept->v * kept->s.cwiseProduct(kept->u.row(row).transpose()).eval();
  };
}

MatrixXd Imputed(const SparseRatings& rows, const VectorXd& column_means) {
  MatrixXd full = column_means.transpose().replicate(rows.rows(), 1);
  for (Index row = 0; row < rows.rows(); ++row) {
    for (std::size_t at = rows.Begin(row); at < rows.Begin(row + 1); ++at)
      full(row, rows.indices[at]) = rows.values[at];
  }
  return full;
}

}  // namespace dpnmf::curator::lab
