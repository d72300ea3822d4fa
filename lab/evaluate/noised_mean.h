// Exact sums as noised means. Research only: see seeded_noise.h.
#ifndef DPNMF_LAB_EVALUATE_NOISED_MEAN_H_
#define DPNMF_LAB_EVALUATE_NOISED_MEAN_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "lab/evaluate/seeded_noise.h"

namespace dpnmf::curator::lab {

// sum * step / users + stddev * Z, the noise rounded to the sums' lattice as in
// a release. `stddev` is always that of the mean; 0 draws nothing.
class NoisedMean {
 public:
  // noise may be null if no stddev is above 0; else it must outlive this.
  NoisedMean(double users, SeededNoise* noise) : users_(users), noise_(noise) {}

  double Of(std::int64_t sum, double step, double stddev) const {
    const double noise =
        stddev > 0 ? std::nearbyint(stddev * users_ / step * noise_->Normal())
                   : 0;
    return (static_cast<double>(sum) + noise) * step / users_;
  }

  // sums: rows * columns, column-major.
  Eigen::MatrixXd Full(const std::vector<std::int64_t>& sums, Eigen::Index rows,
                       Eigen::Index columns, double step, double stddev) const {
    Eigen::MatrixXd mean(rows, columns);
    for (Eigen::Index i = 0; i < mean.size(); ++i) {
      mean(i) = Of(sums[static_cast<std::size_t>(i)], step, stddev);
    }
    return mean;
  }

  // sums: the upper triangle by columns; mirrored with its noise.
  Eigen::MatrixXd Symmetric(const std::vector<std::int64_t>& sums,
                            Eigen::Index rows, double step, double stddev,
                            double diagonal_stddev) const {
    Eigen::MatrixXd mean(rows, rows);
    std::size_t at = 0;
    for (Eigen::Index j = 0; j < rows; ++j) {
      for (Eigen::Index i = 0; i <= j; ++i) {
        mean(i, j) = mean(j, i) =
            Of(sums[at++], step, i == j ? diagonal_stddev : stddev);
      }
    }
    return mean;
  }

 private:
  double users_;
  SeededNoise* noise_;
};

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_NOISED_MEAN_H_
