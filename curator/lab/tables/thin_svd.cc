#include "curator/lab/tables/thin_svd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "Eigen/QR"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// R of A = Q R for rows >= columns, from blocks of rows one after another:
// R <- R of [R; block].
MatrixXd TriangleOf(const MatrixXd& a) {
  const Index columns = a.cols();
  const Index block = std::max<Index>(4 * columns, 1024);
  MatrixXd r = MatrixXd::Zero(columns, columns);
  MatrixXd stacked;
  for (Index first = 0; first < a.rows(); first += block) {
    const Index count = std::min(block, a.rows() - first);
    stacked.resize(columns + count, columns);
    stacked.topRows(columns) = r;
    stacked.bottomRows(count) = a.middleRows(first, count);
    const Eigen::HouseholderQR<Eigen::Ref<MatrixXd>> qr(stacked);
    r = stacked.topRows(columns).triangularView<Eigen::Upper>();
  }
  return r;
}

// Turns columns i and j of x in their plane until they are orthogonal; false if
// they are so already. squares holds the squared lengths of the columns; what
// is shorter than `least` has no direction.
bool MakeOrthogonal(Index i, Index j, double least, MatrixXd* x,
                    VectorXd* squares) {
  const double a = (*squares)[i], b = (*squares)[j];
  if (!(a > least && b > least)) return false;
  const double product = x->col(i).dot(x->col(j));
  const double orthogonal =
      kEpsilon * std::sqrt(static_cast<double>(x->rows())) * std::sqrt(a * b);
  if (!(std::abs(product) > orthogonal)) return false;
  const double cotangent = (b - a) / (2 * product);  // of twice the angle
  const double tangent =
      std::copysign(1, cotangent) /
      (std::abs(cotangent) + std::sqrt(1 + cotangent * cotangent));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  const double sine = cosine * tangent;
  double* p = x->col(i).data();
  double* q = x->col(j).data();
  for (Index k = 0; k < x->rows(); ++k) {
    const double old = p[k];
    p[k] = cosine * old - sine * q[k];
    q[k] = sine * old + cosine * q[k];
  }
  (*squares)[i] = a - tangent * product;
  (*squares)[j] = b + tangent * product;
  return true;
}

struct RightVectors {
  VectorXd s;  // all singular values, falling
  MatrixXd v;
};

// s and V of a square R, by one-sided Jacobi rotations (Drmac and Veselic
// 2008): R P = Q T with columns of falling length, T' J = W with orthogonal
// columns of lengths s, and V = P W / s. Of each row of pairs the longest
// column comes first (de Rijk 1989), so that s falls.
RightVectors RightVectorsOf(const MatrixXd& r) {
  constexpr int kMostSweeps = 60;  // 5 to 12 in practice
  const Eigen::ColPivHouseholderQR<MatrixXd> pivoted(r);
  MatrixXd x = pivoted.matrixR().triangularView<Eigen::Upper>().transpose();
  VectorXd squares;
  bool turned = true;
  for (int sweep = 0; turned && sweep < kMostSweeps; ++sweep) {
    turned = false;
    squares = x.colwise().squaredNorm().transpose();
    const double least = squares.maxCoeff() * std::pow(kEpsilon, 4);
    for (Index i = 0; i < x.cols(); ++i) {
      Index longest = 0;
      squares.tail(x.cols() - i).maxCoeff(&longest);
      if (longest > 0) {
        x.col(i).swap(x.col(i + longest));
        std::swap(squares[i], squares[i + longest]);
      }
      for (Index j = i + 1; j < x.cols(); ++j)
        turned |= MakeOrthogonal(i, j, least, &x, &squares);
    }
  }
  // Q of W is W / s, and completes it where s is 0.
  return {.s = squares.cwiseSqrt(),
          .v = pivoted.colsPermutation() * OrthonormalBasisOf(x)};
}

// s and v of A are those of R; U = A V / s.
ThinSvd OfTall(const MatrixXd& a, Index rank) {
  RightVectors of_r = RightVectorsOf(TriangleOf(a));
  ThinSvd svd;
  svd.s = of_r.s.head(rank);
  svd.v = std::move(of_r.v);
  for (Index j = 0; j < svd.v.cols(); ++j) {
    Index largest = 0;
    svd.v.col(j).cwiseAbs().maxCoeff(&largest);
    if (svd.v(largest, j) < 0) svd.v.col(j) *= -1;
  }
  svd.u.noalias() = a * svd.v.leftCols(rank);
  const double least = of_r.s[0] * static_cast<double>(a.rows()) * kEpsilon;
  for (Index j = 0; j < rank; ++j)
    svd.u.col(j) *= svd.s[j] > least ? 1 / svd.s[j] : 0;
  return svd;
}

}  // namespace

ThinSvd ThinSvdOf(const MatrixXd& a, Index rank) {
  if (a.rows() >= a.cols()) return OfTall(a, rank);
  // A' = V S U': all of its left vectors are wanted, signs by them.
  ThinSvd turned = OfTall(a.transpose(), a.rows());
  ThinSvd svd;
  svd.s = turned.s.head(rank);
  svd.u = turned.v.leftCols(rank);
  svd.v = std::move(turned.u);
  for (Index j = 0; j < svd.v.cols(); ++j) {
    Index largest = 0;
    svd.v.col(j).cwiseAbs().maxCoeff(&largest);
    if (svd.v(largest, j) >= 0) continue;
    svd.v.col(j) *= -1;
    if (j < rank) svd.u.col(j) *= -1;
  }
  return svd;
}

MatrixXd OrthonormalBasisOf(const MatrixXd& x) {
  MatrixXd factored = x;
  const Eigen::HouseholderQR<Eigen::Ref<MatrixXd>> qr(factored);
  return qr.householderQ() * MatrixXd::Identity(x.rows(), x.cols());
}

}  // namespace dpnmf::curator::lab
