#include "common/ratings/person.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Cholesky"

namespace dpnmf {

// With X the rows of the own items and y = rating - base:
//   covariance = (X'X / s^2 + I)^-1,  mean = covariance X'y / s^2.
Profile SolveProfile(const ItemModel& model,
                     std::span<const std::int32_t> items,
                     std::span<const double> ratings) {
  const Eigen::Index q = model.loadings.cols();
  const auto n = static_cast<Eigen::Index>(items.size());
  Eigen::MatrixXd x(q, n);
  Eigen::VectorXd y(n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const std::int32_t item = items[static_cast<std::size_t>(j)];
    x.col(j) = model.loadings.row(item).transpose();
    y(j) = ratings[static_cast<std::size_t>(j)] - model.base(item);
  }
  x /= model.residual_stddev;
  y /= model.residual_stddev;
  Eigen::MatrixXd information = Eigen::MatrixXd::Identity(q, q);
  information.noalias() += x * x.transpose();
  const Eigen::LLT<Eigen::MatrixXd> factor(information);
  Profile profile;
  profile.covariance = factor.solve(Eigen::MatrixXd::Identity(q, q));
  profile.mean = profile.covariance * (x * y);
  return profile;
}

Prediction Predict(const ItemModel& model, const Profile& profile,
                   std::int32_t item) {
  const Eigen::VectorXd x = model.loadings.row(item).transpose();
  const double s = model.residual_stddev, error = model.base_stddev(item);
  Prediction prediction;
  prediction.rating =
      std::clamp(model.base(item) + x.dot(profile.mean), model.low, model.high);
  prediction.stddev =
      std::sqrt(x.dot(profile.covariance * x) + s * s + error * error);
  return prediction;
}

Eigen::VectorXd RankingScores(const ItemModel& model, const Profile& profile,
                              std::span<const std::int32_t> items,
                              std::span<const double> ratings) {
  static_cast<void>(ratings);
  if (items.empty()) return model.popularity;
  if (model.ranking.cols() == 0)
    return model.base + model.loadings * profile.mean;
  Eigen::VectorXd taste = Eigen::VectorXd::Zero(model.ranking.cols());
  for (const std::int32_t item : items)
    taste += model.ranking.row(item).transpose();
  return model.ranking * taste;
}

}  // namespace dpnmf
