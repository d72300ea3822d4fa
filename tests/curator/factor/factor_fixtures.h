// Data, requests and slow but plain references for the tests of curator/factor.
#ifndef DPNMF_TESTS_CURATOR_FACTOR_FACTOR_FIXTURES_H_
#define DPNMF_TESTS_CURATOR_FACTOR_FACTOR_FIXTURES_H_

#include <cstdint>
#include <memory>

#include "Eigen/Core"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"

namespace dpnmf::curator {

// V: D x N, all N of them users; the description's shape is set here, but N0
// under add or remove one.
std::unique_ptr<Dataset> DenseOf(const Eigen::MatrixXf& v,
                                 DatasetDescription description = {});
std::unique_ptr<Dataset> SparseOf(const Eigen::MatrixXf& v,
                                  DatasetDescription description = {});

// Columns of length 1, about `density` of the entries not zero.
Eigen::MatrixXf RandomColumns(int features, int users, std::uint64_t seed,
                              double density = 1);
Eigen::MatrixXd RandomW(int features, int rank, std::uint64_t seed);

Eigen::VectorXd HOf(const Coefficients& h, std::uint64_t user);

// S_{lambda,M}(e) as the paper writes it.
Eigen::VectorXd OutliersOf(const Eigen::VectorXd& e, double lambda,
                           double bound);

// One sweep of cyclic coordinate descent on 1/2 |v - r - W h|^2, from the
// residual, as a textbook has it (Hsieh and Dhillon 2011, one coordinate).
void NaiveSweep(const Eigen::MatrixXd& w, const Eigen::VectorXd& target,
                Eigen::VectorXd* h);

struct NaiveStep {
  Eigen::VectorXd h, u;
};
// From the residual, as a textbook has it.
NaiveStep NaiveHStep(const StatisticsRequest& request, const Eigen::VectorXd& v,
                     Eigen::VectorXd h);

// 1/2 |v - W h - r|^2 + lambda |r|_1 at the best r.
double RobustObjective(const StatisticsRequest& request,
                       const Eigen::VectorXd& v, const Eigen::VectorXd& h);

// x = u diag(values) v', values falling, by Jacobi's method.
struct SingularVectors {
  Eigen::VectorXd values;
  Eigen::MatrixXd u, v;
};
SingularVectors SingularVectorsOf(const Eigen::MatrixXf& x);

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_FACTOR_FACTOR_FIXTURES_H_
