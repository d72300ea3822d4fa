#include "lab/complete/kmeans.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

void ExpectMeans(const MatrixXd& features, const std::vector<int>& labels,
                 const Clusters& clusters) {
  for (Index c = 0; c < clusters.centroids.rows(); ++c) {
    Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(features.cols());
    std::int64_t members = 0;
    for (Index i = 0; i < features.rows(); ++i) {
      if (labels[static_cast<std::size_t>(i)] != c) continue;
      sum += features.row(i);
      ++members;
    }
    ASSERT_GT(members, 0);
    EXPECT_EQ(clusters.members[static_cast<std::size_t>(c)], members);
    EXPECT_LT((clusters.centroids.row(c) - sum / static_cast<double>(members))
                  .cwiseAbs()
                  .maxCoeff(),
              1e-12);
  }
}

TEST(KMeans, FindsGroupsThatAreFarApart) {
  MatrixXd features(60, 2);
  Draws noise(1);
  for (Index i = 0; i < 60; ++i) {
    features(i, 0) = 100.0 * static_cast<double>(i % 3) + noise.Uniform();
    features(i, 1) = noise.Uniform();
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws(seed);
    const Clusters clusters = KMeans(features, 3, &draws);
    for (std::size_t i = 3; i < 60; ++i)
      EXPECT_EQ(clusters.labels[i], clusters.labels[i % 3]);
    EXPECT_EQ((std::set<int>{clusters.labels[0], clusters.labels[1],
                             clusters.labels[2]})
                  .size(),
              3u);
    ExpectMeans(features, clusters.labels, clusters);
    EXPECT_EQ(clusters.reseeded, 0);
  }
}

// Two different rows and five clusters: three would be empty.
TEST(KMeans, EmptyClustersAreReseeded) {
  MatrixXd features = MatrixXd::Zero(20, 2);
  features.topRows(7).setOnes();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws(seed);
    const Clusters clusters = KMeans(features, 5, &draws);
    EXPECT_GE(clusters.reseeded, 3);
    for (const std::int64_t members : clusters.members) EXPECT_GT(members, 0);
    ExpectMeans(features, clusters.labels, clusters);
  }
  Draws draws(1);
  const Clusters each = KMeans(features, 20, &draws);
  EXPECT_EQ(*std::max_element(each.members.begin(), each.members.end()), 1);
}

TEST(KMeans, NewRowsMoveTheirCentroidToTheMeanOfAll) {
  MatrixXd features(50, 3);
  Draws draws(2);
  for (Index i = 0; i < features.size(); ++i)
    features.data()[i] = draws.Uniform();
  Clusters clusters = KMeans(features.topRows(30), 4, &draws);
  const MatrixXd before = clusters.centroids;
  const std::vector<int> added =
      AddToClusters(features.bottomRows(20), &clusters);
  // The first row goes to the centroid that was nearest.
  const Eigen::VectorXd row = features.row(30).transpose();
  for (Index c = 0; c < 4; ++c) {
    EXPECT_LE((before.row(added[0]).transpose() - row).norm(),
              (before.row(c).transpose() - row).norm());
  }
  ASSERT_EQ(clusters.labels.size(), 50u);
  EXPECT_TRUE(
      std::equal(added.begin(), added.end(), clusters.labels.begin() + 30));
  ExpectMeans(features, clusters.labels, clusters);
}

}  // namespace
}  // namespace dpnmf::curator::lab
