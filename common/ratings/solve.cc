#include "common/ratings/solve.h"

#include "Eigen/Cholesky"

namespace dpnmf {

using Eigen::MatrixXd;

std::optional<MatrixXd> TrySolvePositive(const MatrixXd& matrix,
                                         const MatrixXd& right) {
  const Eigen::LLT<MatrixXd> factor(matrix);
  if (factor.info() != Eigen::Success) return std::nullopt;
  MatrixXd solution = factor.solve(right);
  if (!solution.allFinite()) return std::nullopt;
  return solution;
}

MatrixXd SolvePositive(const MatrixXd& matrix, const MatrixXd& right) {
  return Eigen::LLT<MatrixXd>(matrix).solve(right);
}

MatrixXd InverseOfPositive(const MatrixXd& matrix) {
  return SolvePositive(matrix,
                       MatrixXd::Identity(matrix.rows(), matrix.rows()));
}

MatrixXd UpperFactor(const MatrixXd& matrix) {
  // With J the exchange of order: J matrix J = L L', U = J L J.
  const MatrixXd lower = Eigen::LLT<MatrixXd>(matrix.reverse()).matrixL();
  return lower.reverse();
}

}  // namespace dpnmf
