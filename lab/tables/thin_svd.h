// The singular value decomposition of a table.
#ifndef DPNMF_LAB_TABLES_THIN_SVD_H_
#define DPNMF_LAB_TABLES_THIN_SVD_H_

#include "Eigen/Core"

namespace dpnmf::curator::lab {

// The first `rank` singular triplets. The signs of singular vectors have no
// meaning; here the largest entry of each column of v is positive.
struct ThinSvd {
  Eigen::MatrixXd u;  // people x rank; a column is 0 where s is (to rounding)
  Eigen::VectorXd s;  // rank, falling
  // columns x min(people, columns): all right singular vectors.
  Eigen::MatrixXd v;
};

// rank in 1 .. min(people, columns). Memory: one matrix of people x rank beside
// A; as much as A where there are fewer people than columns.
ThinSvd ThinSvdOf(const Eigen::MatrixXd& a, Eigen::Index rank);

// Q of x = Q R, for rows >= columns.
Eigen::MatrixXd OrthonormalBasisOf(const Eigen::MatrixXd& x);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_TABLES_THIN_SVD_H_
