// V (D x N) as a factor of matrix products, and what is computed from it
// exactly. Private inputs, private outputs: for the operator's terminal alone.
#ifndef DPNMF_LAB_EVALUATE_DATA_VIEW_H_
#define DPNMF_LAB_EVALUATE_DATA_VIEW_H_

#include <cstdint>
#include <functional>

#include "Eigen/Core"
#include "curator/data/dataset.h"

namespace dpnmf::curator::lab {

// Refers to `data`, which must outlive it. Any thread may read it.
class DataView {
 public:
  explicit DataView(const Dataset* data);

  const Dataset& data() const { return *data_; }
  Eigen::Index features() const { return features_; }
  Eigen::Index users() const { return users_; }
  double squared_norm() const { return squared_norm_; }  // |V|^2

  // W'V (K x N) for w: D x K.
  Eigen::MatrixXd Correlate(const Eigen::MatrixXd& w, int threads) const;
  // V X (D x L) for x: N x L.
  Eigen::MatrixXd Times(const Eigen::MatrixXd& x) const;

  // work(row, value) for every entry of the user that is not zero.
  void ForNonzeros(
      Eigen::Index user,
      const std::function<void(Eigen::Index row, double value)>& work) const;

 private:
  const Dataset* data_;
  Eigen::Index features_, users_;
  double squared_norm_ = 0;
};

// 1/(2N) |V - W H|^2 with the best H >= 0: sweeps of coordinate descent until
// twenty of them gain less than a relative 1e-6, 600 at most. *h (K x N) is
// where they begin and becomes H; an empty one begins at 0.
double Objective(const DataView& v, const Eigen::MatrixXd& w, int threads,
                 Eigen::MatrixXd* h);

// W_0 (D x K) by NNDSVD of V, columns of length 1 (Boutsidis and Gallopoulos
// 2008): of each pair of singular vectors the sign part of larger product. The
// vectors by subspace iteration (Halko, Martinsson and Tropp 2011). A function
// of V without any noise: for public data alone. K <= min(D, N).
Eigen::MatrixXd NndsvdDictionary(const DataView& v, Eigen::Index rank,
                                 int threads);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_DATA_VIEW_H_
