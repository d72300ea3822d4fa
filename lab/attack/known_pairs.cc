#include "lab/attack/known_pairs.h"

#include <algorithm>
#include <cstddef>

#include "Eigen/Core"
#include "common/ratings/solve.h"

namespace dpnmf::curator::lab {

Eigen::MatrixXd SelectRows(const Eigen::MatrixXd& table,
                           const std::vector<int>& rows) {
  Eigen::MatrixXd chosen(static_cast<Eigen::Index>(rows.size()), table.cols());
  for (Eigen::Index c = 0; c < table.cols(); ++c)
    for (std::size_t r = 0; r < rows.size(); ++r)
      chosen(static_cast<Eigen::Index>(r), c) = table(rows[r], c);
  return chosen;
}

AffineMap FitPairs(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y,
                   const std::vector<int>& pairs) {
  Eigen::MatrixXd of_x = SelectRows(x, pairs), of_y = SelectRows(y, pairs);
  AffineMap map = {.from = of_x.colwise().mean(), .to = of_y.colwise().mean()};
  of_x.rowwise() -= map.from;
  of_y.rowwise() -= map.to;
  Eigen::MatrixXd gram = of_x.transpose() * of_x;
  const Eigen::Index columns = x.cols();
  const Eigen::Index count = of_x.rows();
  const bool many = count >= 2 * (columns + 1);
  const double mean_variance = gram.trace() / static_cast<double>(columns);
  // A table of constants has nothing to learn from: slopes 0.
  const double ridge =
      mean_variance > 0 ? (many ? 1e-6 : 1e-2) * mean_variance : 1;
  gram.diagonal().array() += ridge;
  map.slopes = SolvePositive(gram, of_x.transpose() * of_y);
  if (many) {
    map.residual_variances =
        (of_y - of_x * map.slopes).colwise().squaredNorm().transpose() /
        static_cast<double>(count - columns - 1);
  } else {
    // Residuals of as many coefficients as pairs say nothing.
    map.residual_variances =
        of_y.colwise().squaredNorm().transpose() /
        std::max<double>(1, static_cast<double>(count - 1));
  }
  return map;
}

}  // namespace dpnmf::curator::lab
