// Priors of data with more features than a release has rows.
#include <algorithm>
#include <vector>

#include "common/moments/moments.h"
#include "common/moments/prior.h"
#include "common/nmf/draws.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kWords = 600, kTopics = 4;

// Topics of disjoint words, the first words of each the most frequent.
MatrixXd Topics() {
  MatrixXd w = MatrixXd::Zero(kWords, kTopics);
  for (Index i = 0; i < kWords; ++i)
    w(i, i % kTopics) = 1.0 / (1.0 + static_cast<double>(i / kTopics));
  for (auto column : w.colwise()) column.normalize();
  return w;
}

MatrixXd Documents(Index count, std::uint64_t seed) {
  Draws draws(seed);
  MatrixXd v = MatrixXd::Zero(kWords, count);
  for (auto column : v.colwise()) {
    column = Topics() * VectorXd::Unit(kTopics, draws.Index(kTopics));
    for (double& entry : column) entry *= draws.Exponential();
    column.normalize();
  }
  return v;
}

PublicPeople SparseOf(const MatrixXd& columns) {
  return columns.cast<float>().sparseView();
}

VectorXd NoisedMeanOf(const MatrixXd& v, double stddev) {
  Draws draws(3);
  return v.rowwise().mean() + stddev * draws.Normals(v.rows());
}

int FrequentAmong(const std::vector<int>& rows) {
  return static_cast<int>(std::count_if(rows.begin(), rows.end(),
                                        [](int row) { return row < 100; }));
}

TEST(PriorRows, FindsTheFrequentWordsThroughTheNoise) {
  constexpr double kStddev = 0.05;
  const VectorXd mean = NoisedMeanOf(Documents(500, 1), kStddev);
  const auto rows =
      ChooseRowsWith(SparseOf(Documents(200, 2)), mean, kStddev, 100);
  ASSERT_EQ(rows.size(), 100u);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_GT(FrequentAmong(rows),
            FrequentAmong(ChooseRows(mean, kStddev, 100)) + 20);
}

TEST(PriorRows, AreThoseOfTheMeanIfThePriorIsUselessOrNone) {
  constexpr double kStddev = 1e-3;
  const VectorXd mean = NoisedMeanOf(Documents(500, 1), kStddev);
  const MatrixXd turned = Documents(60, 2).colwise().reverse();
  const auto plain = ChooseRows(mean, kStddev, 100);
  EXPECT_EQ(ChooseRowsWith(SparseOf(turned), mean, kStddev, 100), plain);
  EXPECT_EQ(ChooseRowsWith(PublicPeople(), mean, kStddev, 100), plain);
}

// Mean cosine of the lifted columns to the topics.
double LiftedLikeness(const PublicPeople& people) {
  constexpr double kStddev = 1e-3;
  const VectorXd mean = NoisedMeanOf(Documents(2000, 1), kStddev);
  std::vector<int> rows(8);
  for (int i = 0; i < 8; ++i) rows[static_cast<std::size_t>(i)] = i;
  const MatrixXd w = Topics().topRows(8);
  const MatrixXd lifted = LiftDictionaryWith(people, w, rows, mean, kStddev, 2);
  EXPECT_EQ(lifted, LiftDictionaryWith(people, w, rows, mean, kStddev, 1));
  for (Index k = 0; k < kTopics; ++k) {
    EXPECT_NEAR(lifted.col(k).norm(), 1, 1e-12);
    EXPECT_GE(lifted.col(k).minCoeff(), 0);
    // On the rows W stays what it was.
    EXPECT_LT(
        (lifted.col(k).head(8).normalized() - w.col(k).normalized()).norm(),
        1e-9);
  }
  return lifted.cwiseProduct(Topics()).sum() / kTopics;
}

TEST(PriorRows, LiftPartsToTheWordsOfPublicPeople) {
  const double plain = LiftedLikeness(PublicPeople());
  const double right = LiftedLikeness(SparseOf(Documents(200, 2)));
  EXPECT_GT(right, plain + 0.03);
  // Words of other people by the same names: hardly worse than without.
  MatrixXd wrong = Documents(200, 2);
  wrong.bottomRows(kWords - 8) =
      wrong.bottomRows(kWords - 8).colwise().reverse().eval();
  EXPECT_GT(LiftedLikeness(SparseOf(wrong)), plain - 0.02);
}

}  // namespace
}  // namespace dpnmf
