#include "lab/tables/thin_svd.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "Eigen/QR"
#include "Eigen/SVD"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

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

// s and v of A are those of R; U = A V / s.
ThinSvd OfTall(const MatrixXd& a, Index rank) {
  const Eigen::BDCSVD<MatrixXd> of_r(TriangleOf(a), Eigen::ComputeFullV);
  ThinSvd svd;
  svd.s = of_r.singularValues().head(rank);
  svd.v = of_r.matrixV();
  for (Index j = 0; j < svd.v.cols(); ++j) {
    Index largest = 0;
    svd.v.col(j).cwiseAbs().maxCoeff(&largest);
    if (svd.v(largest, j) < 0) svd.v.col(j) *= -1;
  }
  svd.u.noalias() = a * svd.v.leftCols(rank);
  const double least = of_r.singularValues()[0] *
                       static_cast<double>(a.rows()) *
                       std::numeric_limits<double>::epsilon();
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
