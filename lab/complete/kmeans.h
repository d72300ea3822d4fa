// K-means of public or private features (Lloyd's algorithm). Without privacy.
#ifndef DPNMF_LAB_COMPLETE_KMEANS_H_
#define DPNMF_LAB_COMPLETE_KMEANS_H_

#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "lab/tables/draws.h"

namespace dpnmf::curator::lab {

struct Clusters {
  std::vector<int> labels;            // one a row
  Eigen::MatrixXd centroids;          // clusters x features
  std::vector<std::int64_t> members;  // of each cluster
  int reseeded = 0;  // times that an empty cluster got a row of another
};

// features: rows x p, finite; 1 <= clusters <= rows. Starts from rows that are
// drawn by k-means++ (Arthur and Vassilvitskii 2007); at most 100 rounds. A
// cluster that loses its last row gets the row that is farthest from its
// centroid, of clusters with several rows: so no cluster is empty.
Clusters KMeans(const Eigen::MatrixXd& features, int clusters, Draws* draws);

// The nearest centroid, the first one of several. `row`: p.
int NearestCentroid(const Eigen::MatrixXd& centroids,
                    const Eigen::VectorXd& row);

// Labels of new rows by the nearest centroid, row by row; each row moves its
// centroid to the mean of all members (a running mean).
std::vector<int> AddToClusters(const Eigen::MatrixXd& rows, Clusters* clusters);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_COMPLETE_KMEANS_H_
