// Small symmetric positive definite systems, instantiated once
// (common/nmf/linear_algebra.h). Only lower triangles are read. Thread-safe.
#ifndef DPNMF_COMMON_RATINGS_SOLVE_H_
#define DPNMF_COMMON_RATINGS_SOLVE_H_

#include <optional>

#include "Eigen/Core"

namespace dpnmf {

// matrix^-1 right. `matrix` k x k, positive definite; right k x n.
Eigen::MatrixXd SolvePositive(const Eigen::MatrixXd& matrix,
                              const Eigen::MatrixXd& right);
Eigen::MatrixXd InverseOfPositive(const Eigen::MatrixXd& matrix);
// Solves as SolvePositive; no value if the matrix is not positive definite in
// double precision or the solution overflows.
std::optional<Eigen::MatrixXd> TrySolvePositive(const Eigen::MatrixXd& matrix,
                                                const Eigen::MatrixXd& right);

// U, upper triangular, with U U' = matrix.
Eigen::MatrixXd UpperFactor(const Eigen::MatrixXd& matrix);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_RATINGS_SOLVE_H_
