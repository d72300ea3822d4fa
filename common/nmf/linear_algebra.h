// Products and decompositions of dense matrices, instantiated once: each of
// Eigen's costs the compiler seconds in every file that has one. Inner sizes of
// factors must agree. Thread-safe; no errors. Each asks `stop` every
// kWorkBetweenStops multiplications (coordinate_descent.h).
#ifndef DPNMF_COMMON_NMF_LINEAR_ALGEBRA_H_
#define DPNMF_COMMON_NMF_LINEAR_ALGEBRA_H_

#include "Eigen/Core"
#include "common/threads/stop.h"

namespace dpnmf {

// x y.
Eigen::MatrixXd Product(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y,
                        const Stop& stop = {});
Eigen::VectorXd Applied(const Eigen::MatrixXd& x, const Eigen::VectorXd& y);
// x' y.
Eigen::MatrixXd TransposeProduct(const Eigen::MatrixXd& x,
                                 const Eigen::MatrixXd& y,
                                 const Stop& stop = {});
// (scale x') y, rounded in this order.
Eigen::MatrixXd ScaledTransposeProduct(double scale, const Eigen::MatrixXd& x,
                                       const Eigen::MatrixXd& y,
                                       const Stop& stop = {});
// x y'.
Eigen::MatrixXd ProductTranspose(const Eigen::MatrixXd& x,
                                 const Eigen::MatrixXd& y,
                                 const Stop& stop = {});
// q diag(d) q'.
Eigen::MatrixXd Conjugated(const Eigen::MatrixXd& q, const Eigen::VectorXd& d,
                           const Stop& stop = {});

// *product = x y, and x y', by tasks of columns of the product. The same bits
// for any thread count. Single precision is for columns that are drawn, not for
// what was released.
void Multiply(const Eigen::MatrixXf& x, const Eigen::MatrixXf& y, int threads,
              Eigen::MatrixXf* product, const Stop& stop = {});
void MultiplyTransposed(const Eigen::MatrixXf& x, const Eigen::MatrixXf& y,
                        int threads, Eigen::MatrixXf* product,
                        const Stop& stop = {});

// Eigenvalues in rising order; the eigenvector of values(i), of length 1, is
// vectors.col(i).
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
};
// Only the lower triangle is read. The same bits with `stop` as without and for
// any thread count.
SymmetricEigen EigenOfSymmetric(const Eigen::MatrixXd& matrix,
                                const Stop& stop = {}, int threads = 1);

}  // namespace dpnmf

#endif  // DPNMF_COMMON_NMF_LINEAR_ALGEBRA_H_
