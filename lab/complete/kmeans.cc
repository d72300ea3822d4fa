#include "lab/complete/kmeans.h"

#include <algorithm>
#include <limits>

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kMostRounds = 100;

double SquaredDistance(const MatrixXd& features, Index row,
                       const MatrixXd& centroids, Index cluster) {
  double sum = 0;
  for (Index j = 0; j < features.cols(); ++j) {
    const double apart = features(row, j) - centroids(cluster, j);
    sum += apart * apart;
  }
  return sum;
}

// Each start is a row drawn in proportion to the squared distance from the
// nearest start so far; any row where all are at a start.
MatrixXd Starts(const MatrixXd& features, int clusters, Draws* draws) {
  const Index rows = features.rows();
  MatrixXd starts(clusters, features.cols());
  VectorXd nearest =
      VectorXd::Constant(rows, std::numeric_limits<double>::infinity());
  auto chosen =
      static_cast<Index>(draws->Below(static_cast<std::size_t>(rows)));
  for (int c = 0; c < clusters; ++c) {
    for (Index j = 0; j < features.cols(); ++j)
      starts(c, j) = features(chosen, j);
    if (c + 1 == clusters) break;
    double sum = 0;
    for (Index i = 0; i < rows; ++i) {
      nearest[i] =
          std::min(nearest[i], SquaredDistance(features, i, starts, c));
      sum += nearest[i];
    }
    double left = draws->Uniform() * sum;
    chosen = static_cast<Index>(draws->Below(static_cast<std::size_t>(rows)));
    for (Index i = 0; sum > 0 && i < rows; ++i) {
      if (nearest[i] > 0) chosen = i;
      left -= nearest[i];
      if (left < 0) break;
    }
  }
  return starts;
}

// Labels, and members of each cluster; none is empty.
void Assign(const MatrixXd& features, Clusters* clusters) {
  const Index rows = features.rows(), k = clusters->centroids.rows();
  VectorXd distance(rows);
  clusters->labels.resize(static_cast<std::size_t>(rows));
  clusters->members.assign(static_cast<std::size_t>(k), 0);
  for (Index i = 0; i < rows; ++i) {
    int label = 0;
    distance[i] = std::numeric_limits<double>::infinity();
    for (Index c = 0; c < k; ++c) {
      const double apart = SquaredDistance(features, i, clusters->centroids, c);
      if (apart < distance[i]) {
        distance[i] = apart;
        label = static_cast<int>(c);
      }
    }
    clusters->labels[static_cast<std::size_t>(i)] = label;
    ++clusters->members[static_cast<std::size_t>(label)];
  }
  for (std::size_t c = 0; c < clusters->members.size(); ++c) {
    if (clusters->members[c] > 0) continue;
    Index farthest = -1;
    for (Index i = 0; i < rows; ++i) {
      const int label = clusters->labels[static_cast<std::size_t>(i)];
      if (clusters->members[static_cast<std::size_t>(label)] > 1 &&
          (farthest < 0 || distance[i] > distance[farthest]))
        farthest = i;
    }
    int& label = clusters->labels[static_cast<std::size_t>(farthest)];
    --clusters->members[static_cast<std::size_t>(label)];
    label = static_cast<int>(c);
    clusters->members[c] = 1;
    distance[farthest] = 0;
    ++clusters->reseeded;
  }
}

void Centre(const MatrixXd& features, Clusters* clusters) {
  clusters->centroids.setZero();
  for (Index i = 0; i < features.rows(); ++i) {
    const int label = clusters->labels[static_cast<std::size_t>(i)];
    for (Index j = 0; j < features.cols(); ++j)
      clusters->centroids(label, j) += features(i, j);
  }
  for (Index c = 0; c < clusters->centroids.rows(); ++c) {
    for (Index j = 0; j < features.cols(); ++j) {
      clusters->centroids(c, j) /=
          static_cast<double>(clusters->members[static_cast<std::size_t>(c)]);
    }
  }
}

}  // namespace

Clusters KMeans(const MatrixXd& features, int count, Draws* draws) {
  Clusters clusters;
  clusters.centroids = Starts(features, count, draws);
  std::vector<int> before;
  for (int round = 0; round < kMostRounds; ++round) {
    const int reseeded = clusters.reseeded;
    Assign(features, &clusters);
    // The same rows may be moved in every round; that counts once.
    if (clusters.labels == before) {
      clusters.reseeded = reseeded;
      break;
    }
    before = clusters.labels;
    Centre(features, &clusters);
  }
  return clusters;
}

int NearestCentroid(const MatrixXd& centroids, const VectorXd& row) {
  Index nearest = 0;
  (centroids.rowwise() - row.transpose())
      .rowwise()
      .squaredNorm()
      .minCoeff(&nearest);
  return static_cast<int>(nearest);
}

std::vector<int> AddToClusters(const MatrixXd& rows, Clusters* clusters) {
  std::vector<int> labels;
  for (Index i = 0; i < rows.rows(); ++i) {
    const VectorXd row = rows.row(i).transpose();
    const int label = NearestCentroid(clusters->centroids, row);
    const auto members = static_cast<double>(
        ++clusters->members[static_cast<std::size_t>(label)]);
    clusters->centroids.row(label) +=
        (row.transpose() - clusters->centroids.row(label)) / members;
    labels.push_back(label);
    clusters->labels.push_back(label);
  }
  return labels;
}

}  // namespace dpnmf::curator::lab
