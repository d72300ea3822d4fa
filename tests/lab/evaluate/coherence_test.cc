#include "lab/evaluate/coherence.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;

// Documents as columns: word 0 in 4 of 8, word 1 in 2, both in 2; word 2 in 1
// document without them; word 3 in all.
Eigen::MatrixXf Documents() {
  Eigen::MatrixXf v = Eigen::MatrixXf::Zero(4, 8);
  v.row(0).head(4).setOnes();
  v.row(1).head(2).setConstant(0.5f);
  v(2, 7) = 3;
  v.row(3).setOnes();
  return v;
}

Topic TopicOf(const Eigen::Vector4d& column, bool sparse = false) {
  const auto data = sparse ? SparseOf(Documents()) : DenseOf(Documents());
  return TopicsOf(DataView(data.get()), column, 2)[0];
}

TEST(Coherence, OfWordsTogether) {
  for (const bool sparse : {false, true}) {
    const Topic topic = TopicOf({0.9, 0.1, 0, 0}, sparse);
    EXPECT_THAT(topic.words, ElementsAre(0, 1));
    // p_01 = 1/4, p_0 = 1/2, p_1 = 1/4: log 2 / log 4.
    EXPECT_NEAR(topic.npmi, 0.5, 1e-12);
    // (2 + 1) / D_0 = 3/4.
    EXPECT_NEAR(topic.umass, std::log(0.75), 1e-12);
  }
}

// UMass counts the larger word's documents, whichever comes first in the list.
TEST(Coherence, UMassDividesByTheLargerWord) {
  EXPECT_NEAR(TopicOf({0.1, 0.9, 0, 0}).umass, std::log(3.0 / 2), 1e-12);
}

TEST(Coherence, OfWordsApartAndOfWordsEverywhere) {
  EXPECT_EQ(TopicOf({0.9, 0, 0.1, 0}).npmi, -1);
  // 0 and 3: p_03 = p_0, p_3 = 1: independent.
  EXPECT_NEAR(TopicOf({0.9, 0, 0, 0.1}).npmi, 0, 1e-12);
}

TEST(Coherence, LeavesOutWordsOfNoWeight) {
  EXPECT_THAT(TopicOf({0, 0, 0.1, 0}).words, ElementsAre(2));
  EXPECT_EQ(TopicOf({0, 0, 0.1, 0}).npmi, 0);
}

}  // namespace
}  // namespace dpnmf::curator::lab
