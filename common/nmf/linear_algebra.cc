#include "common/nmf/linear_algebra.h"

#include "Eigen/Eigenvalues"
#include "common/nmf/coordinate_descent.h"

namespace dpnmf {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd Product(const MatrixXd& x, const MatrixXd& y) { return x * y; }

VectorXd Applied(const MatrixXd& x, const VectorXd& y) { return x * y; }

MatrixXd TransposeProduct(const MatrixXd& x, const MatrixXd& y) {
  return x.transpose() * y;
}

MatrixXd ScaledTransposeProduct(double scale, const MatrixXd& x,
                                const MatrixXd& y) {
  return scale * x.transpose() * y;
}

MatrixXd ProductTranspose(const MatrixXd& x, const MatrixXd& y) {
  return x * y.transpose();
}

MatrixXd Conjugated(const MatrixXd& q, const VectorXd& d) {
  return q * d.asDiagonal() * q.transpose();
}

void Multiply(const MatrixXd& x, const MatrixXd& y, int threads,
              MatrixXd* product) {
  product->resize(x.rows(), y.cols());
  ForColumnTasks(y.cols(), threads,
                 [&](Eigen::Index first, Eigen::Index count) {
                   product->middleCols(first, count).noalias() =
                       x * y.middleCols(first, count);
                 });
}

void MultiplyTransposed(const MatrixXd& x, const MatrixXd& y, int threads,
                        MatrixXd* product) {
  product->resize(x.rows(), y.rows());
  ForColumnTasks(y.rows(), threads,
                 [&](Eigen::Index first, Eigen::Index count) {
                   product->middleCols(first, count).noalias() =
                       x * y.middleRows(first, count).transpose();
                 });
}

SymmetricEigen EigenOfSymmetric(const MatrixXd& matrix) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(matrix);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

}  // namespace dpnmf
