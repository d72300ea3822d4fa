#include "tests/curator/factor/factor_fixtures.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "Eigen/SVD"

namespace dpnmf::curator {
namespace {

DatasetDescription Described(const Eigen::MatrixXf& v, bool sparse,
                             DatasetDescription description) {
  description.features = v.rows();
  if (description.adjacency == Adjacency::kReplaceOne)
    description.users = v.cols();
  description.sparse = sparse;
  return description;
}

double Outlier(double e, double lambda, double bound) {
  const double size = std::min(std::max(std::abs(e) - lambda, 0.0), bound);
  return e < 0 ? -size : size;
}

}  // namespace

std::unique_ptr<Dataset> DenseOf(const Eigen::MatrixXf& v,
                                 DatasetDescription description) {
  auto data =
      Dataset::FromDense(Described(v, false, std::move(description)),
                         std::vector<float>(v.data(), v.data() + v.size()));
  return *std::move(data);
}

std::unique_ptr<Dataset> SparseOf(const Eigen::MatrixXf& v,
                                  DatasetDescription description) {
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> rows;
  std::vector<float> values;
  for (Eigen::Index user = 0; user < v.cols(); ++user) {
    for (Eigen::Index row = 0; row < v.rows(); ++row) {
      if (v(row, user) == 0) continue;
      rows.push_back(static_cast<std::int32_t>(row));
      values.push_back(v(row, user));
    }
    indptr.push_back(static_cast<std::int64_t>(rows.size()));
  }
  auto data = Dataset::FromSparse(Described(v, true, std::move(description)),
                                  std::move(indptr), std::move(rows),
                                  std::move(values));
  return *std::move(data);
}

Eigen::MatrixXf RandomColumns(int features, int users, std::uint64_t seed,
                              double density) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Eigen::MatrixXd v(features, users);
  for (double& entry : v.reshaped()) {
    const double value = uniform(random);
    entry = uniform(random) < density ? value * value : 0;
  }
  for (int user = 0; user < users; ++user) {
    const double length = v.col(user).norm();
    if (length > 0) v.col(user) /= length;
  }
  return v.cast<float>();
}

Eigen::MatrixXd RandomW(int features, int rank, std::uint64_t seed) {
  return RandomColumns(features, rank, seed).cast<double>();
}

Eigen::VectorXd HOf(const Coefficients& h, std::uint64_t user) {
  return Eigen::Map<const Eigen::VectorXd>(h.Of(user),
                                           static_cast<Eigen::Index>(h.rank()));
}

Eigen::VectorXd OutliersOf(const Eigen::VectorXd& e, double lambda,
                           double bound) {
  return e.unaryExpr([&](double x) { return Outlier(x, lambda, bound); });
}

void NaiveSweep(const Eigen::MatrixXd& w, const Eigen::VectorXd& target,
                Eigen::VectorXd* h) {
  for (Eigen::Index k = 0; k < w.cols(); ++k) {
    const double curvature = w.col(k).squaredNorm();
    const double descent = w.col(k).dot(target - w * *h);
    (*h)(k) = curvature > 0 ? std::max(0.0, (*h)(k) + descent / curvature) : 0;
  }
}

NaiveStep NaiveHStep(const StatisticsRequest& request, const Eigen::VectorXd& v,
                     Eigen::VectorXd h) {
  const Eigen::MatrixXd& w = *request.w;
  const auto without_outliers = [&]() -> Eigen::VectorXd {
    if (!request.outliers) return v;
    return v - OutliersOf(v - w * h, request.lambda, request.outlier_bound);
  };
  for (int i = 0; i < request.inner_iterations; ++i) {
    NaiveSweep(w, without_outliers(), &h);
  }
  return {h, without_outliers()};
}

double RobustObjective(const StatisticsRequest& request,
                       const Eigen::VectorXd& v, const Eigen::VectorXd& h) {
  const Eigen::VectorXd e = v - *request.w * h;
  if (!request.outliers) return 0.5 * e.squaredNorm();
  const Eigen::VectorXd r =
      OutliersOf(e, request.lambda, request.outlier_bound);
  return 0.5 * (e - r).squaredNorm() + request.lambda * r.lpNorm<1>();
}

SingularVectors SingularVectorsOf(const Eigen::MatrixXf& x) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(
      x.cast<double>(), Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {svd.singularValues(), svd.matrixU(), svd.matrixV()};
}

}  // namespace dpnmf::curator
