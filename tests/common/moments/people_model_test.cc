#include "common/moments/people_model.h"

#include <cmath>
#include <limits>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "gtest/gtest.h"

namespace dpnmf::people_model {
namespace {

using Eigen::MatrixXd;

constexpr int kRows = 12, kParts = 3;

// G of columns W h of length 1, h exponential.
MatrixXd UnitMoment() {
  const MatrixXd w = RandomDictionary(kRows, kParts, 5);
  Draws draws(3);
  MatrixXd g = MatrixXd::Zero(kRows, kRows);
  constexpr int kPeople = 4000;
  for (int n = 0; n < kPeople; ++n) {
    Eigen::VectorXd h(kParts);
    for (double& weight : h) weight = draws.Exponential();
    const Eigen::VectorXd v = (w * h).normalized();
    g += v * v.transpose() / kPeople;
  }
  return (g + g.transpose()) / 2;
}

DenoisedMoments Exact(const MatrixXd& g) {
  return *DenoiseMoments(NoisedMoments{g, 0, 0});
}

MatrixXd MomentOf(const MatrixXd& columns) {
  return columns * columns.transpose() / static_cast<double>(columns.cols());
}

TEST(PeopleModel, ColumnsHaveTheSecondMoment) {
  const MatrixXd g = UnitMoment();
  for (const double scale : {1.0, 7.0}) {
    const ColumnBound bound =
        scale == 1
            ? ColumnBound{true, 1}
            : ColumnBound{false, std::numeric_limits<double>::infinity()};
    const auto law = FitPeopleLaw(Exact(scale * scale * g), bound);
    ASSERT_TRUE(law.ok()) << law.status();
    Draws draws(9);
    const MatrixXd people = DrawColumns(*law, 20'000, &draws);
    EXPECT_GE(people.minCoeff(), 0);
    // 20,000 people: the sampling error is near .01.
    EXPECT_LT((MomentOf(people) / (scale * scale) - g).norm() / g.norm(), 0.06);
  }
}

TEST(PeopleModel, ColumnsAreBounded) {
  const MatrixXd g = UnitMoment();
  Draws draws(9);
  const auto unit = FitPeopleLaw(Exact(g), {true, 1});
  const MatrixXd people = DrawColumns(*unit, 500, &draws);
  for (Eigen::Index n = 0; n < people.cols(); ++n)
    EXPECT_NEAR(people.col(n).norm(), 1, 1e-12);
  const auto bounded = FitPeopleLaw(Exact(g), {false, 0.8});
  EXPECT_LE(DrawColumns(*bounded, 500, &draws).colwise().norm().maxCoeff(),
            0.8 * (1 + 1e-12));
}

TEST(PeopleModel, IsAFunctionOfTheReleaseAndTheSeed) {
  const auto law = FitPeopleLaw(Exact(UnitMoment()), {true, 1});
  Draws first(4), again(4), other(5);
  const MatrixXd people = DrawColumns(*law, 50, &first);
  EXPECT_EQ(people, DrawColumns(*law, 50, &again));
  EXPECT_NE(people, DrawColumns(*law, 50, &other));
}

// A release that is only noise, too, gives finite people within the bound.
TEST(PeopleModel, AnyReleaseGivesPeople) {
  for (const double stddev : {1e-3, 1.0, 1e6}) {
    Draws draws(2);
    const MatrixXd g =
        UnitMoment() + SymmetricNoise(kRows, stddev, 2 * stddev, &draws);
    const auto denoised = DenoiseMoments(NoisedMoments{g, stddev, 2 * stddev});
    ASSERT_TRUE(denoised.ok()) << denoised.status();
    const auto law = FitPeopleLaw(*denoised, {true, 1});
    ASSERT_TRUE(law.ok()) << law.status();
    const MatrixXd people = DrawColumns(*law, 100, &draws);
    EXPECT_TRUE(people.allFinite());
    EXPECT_LE(people.colwise().norm().maxCoeff(), 1 + 1e-12);
  }
}

TEST(PeopleModel, StopsWhenItIsAsked) {
  const auto law =
      FitPeopleLaw(Exact(UnitMoment()), {true, 1}, [] { return true; });
  EXPECT_EQ(ReasonCode(law.status()), "cancelled");
}

}  // namespace
}  // namespace dpnmf::people_model
