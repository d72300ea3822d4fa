// Knowledge that an attacker gains from people whose published rows he knows.
#ifndef DPNMF_LAB_ATTACK_KNOWN_PAIRS_H_
#define DPNMF_LAB_ATTACK_KNOWN_PAIRS_H_

#include <vector>

#include "Eigen/Core"

namespace dpnmf::curator::lab {

// y ~ offset + x slopes, by least squares with a ridge: 1e-6 of the mean
// variance of x where there are at least twice as many pairs as coefficients
// of a column, else 1e-2.
struct AffineMap {
  Eigen::RowVectorXd from, to;  // means of x and y over the pairs
  Eigen::MatrixXd slopes = {};  // columns of x by columns of y
  Eigen::VectorXd residual_variances =
      {};  // of y, over the pairs; not negative

  // Rows of x: y of each.
  Eigen::MatrixXd operator()(const Eigen::MatrixXd& x) const {
    return ((x.rowwise() - from) * slopes).rowwise() + to;
  }
};
AffineMap FitPairs(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y,
                   const std::vector<int>& pairs);

// The rows named.
Eigen::MatrixXd SelectRows(const Eigen::MatrixXd& table,
                           const std::vector<int>& rows);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_ATTACK_KNOWN_PAIRS_H_
