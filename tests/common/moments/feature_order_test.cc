#include "common/moments/feature_order.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/moments/moments.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kOrderFeatures = 96, kOrderRank = 6;

FeatureOrder OrderKind(FeatureOrder::Kind kind, std::uint64_t width = 0) {
  FeatureOrder order;
  order.kind = kind;
  order.width = width;
  return order;
}

std::vector<int> AllRows(int features) {
  std::vector<int> rows(static_cast<std::size_t>(features));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

std::shared_ptr<const OrderOnRows> OnAll(FeatureOrder order) {
  return std::make_shared<const OrderOnRows>(
      OrderOnRows{std::move(order), kOrderFeatures, AllRows(kOrderFeatures)});
}

// People of smooth parts on a line.
MatrixXd SmoothPeople(Index count) {
  Draws draws(5);
  MatrixXd people = MatrixXd::Zero(kOrderFeatures, count);
  for (Index n = 0; n < count; ++n) {
    for (int part = 0; part < 3; ++part) {
      const double centre = 8 + 16 * static_cast<double>(draws.Index(6)),
                   size = draws.Exponential();
      for (Index i = 0; i < kOrderFeatures; ++i) {
        const double apart = (static_cast<double>(i) - centre) / 5;
        people(i, n) += size * std::exp(-apart * apart / 2);
      }
    }
    people.col(n).normalize();
  }
  return people;
}

NoisedMoments OrderedRelease(const MatrixXd& people, double stddev,
                             std::uint64_t seed,  // not of a split's: 1 to 4
                             std::shared_ptr<const OrderOnRows> order) {
  Draws draws(seed);
  NoisedMoments release;
  release.g = people * people.transpose() / static_cast<double>(people.cols());
  release.stddev_off = stddev;
  release.stddev_diagonal = std::sqrt(2.0) * stddev;
  release.g +=
      SymmetricNoise(release.g.rows(), stddev, release.stddev_diagonal, &draws);
  release.g = ((release.g + release.g.transpose()) / 2).eval();
  release.largest_trace = 1;
  release.order = std::move(order);
  return release;
}

double ErrorOf(const NoisedMoments& release, const MatrixXd& people) {
  MatrixXd rest =
      DenoiseMoments(release)->g -
      people * people.transpose() / static_cast<double>(people.cols());
  rest.diagonal().setZero();
  return rest.norm();
}

TEST(FeatureOrder, IsCheckedAgainstTheNumberOfFeatures) {
  const auto code = [](const FeatureOrder& order, std::uint64_t features) {
    return ReasonCode(CheckFeatureOrder(order, features));
  };
  EXPECT_EQ(code(OrderKind(FeatureOrder::Kind::kGrid, 8), 64), "");
  EXPECT_EQ(code(OrderKind(FeatureOrder::Kind::kGrid, 64), 64), "");
  for (const std::uint64_t width : {0, 7, 65, 128}) {
    EXPECT_EQ(code(OrderKind(FeatureOrder::Kind::kGrid, width), 64),
              "image-width-invalid")
        << width;
  }
  EXPECT_EQ(code(OrderKind(FeatureOrder::Kind::kLinear), 7), "");
  FeatureOrder graph = OrderKind(FeatureOrder::Kind::kGraph);
  EXPECT_EQ(code(graph, 4), "feature-graph-invalid");
  graph.edges = {{0, 3}};
  EXPECT_EQ(code(graph, 4), "");
  EXPECT_EQ(code(graph, 3), "feature-graph-invalid");
  graph.edges.resize(kMostFeatureEdges + 1);
  EXPECT_EQ(code(graph, 4), "feature-graph-invalid");
}

TEST(FeatureOrder, MeasuresDistances) {
  const auto distances = [](FeatureOrder order, std::uint64_t features,
                            std::vector<int> rows) {
    return NearnessOf({std::move(order), features, std::move(rows)}).distances;
  };
  // Rows of 4: 1 is (0, 1), 6 is (1, 2), 11 is (2, 3).
  const MatrixXd grid =
      distances(OrderKind(FeatureOrder::Kind::kGrid, 4), 12, {1, 6, 11});
  EXPECT_NEAR(grid(0, 1), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(grid(0, 2), std::sqrt(8.0), 1e-12);
  EXPECT_EQ(grid(2, 2), 0);
  EXPECT_EQ(
      distances(OrderKind(FeatureOrder::Kind::kLinear), 12, {0, 11})(0, 1), 11);
  EXPECT_EQ(
      distances(OrderKind(FeatureOrder::Kind::kCircular), 12, {0, 11})(0, 1),
      1);
  FeatureOrder graph = OrderKind(FeatureOrder::Kind::kGraph);
  graph.edges = {{0, 2}, {2, 5}, {5, 5}, {1, 3}};
  const MatrixXd steps = distances(graph, 6, {0, 1, 3, 5});
  EXPECT_EQ(steps(0, 3), 2);
  EXPECT_EQ(steps(1, 2), 1);
  EXPECT_EQ(steps, steps.transpose());
  EXPECT_GT(steps(0, 1), 2 * 2);  // no way
}

TEST(FeatureOrder, PatternsAreOrthonormalFromSmoothToRough) {
  const FeatureNearness nearness =
      NearnessOf(*OnAll(OrderKind(FeatureOrder::Kind::kLinear)));
  const MatrixXd& u = nearness.patterns;
  EXPECT_LT(
      (u.transpose() * u - MatrixXd::Identity(kOrderFeatures, kOrderFeatures))
          .norm(),
      1e-10);
  const auto roughness = [&](Index pattern) {
    return (u.col(pattern).tail(kOrderFeatures - 1) -
            u.col(pattern).head(kOrderFeatures - 1))
        .squaredNorm();
  };
  for (Index pattern = 1; pattern < kOrderFeatures; ++pattern)
    EXPECT_GT(roughness(pattern), roughness(pattern - 1)) << pattern;
}

TEST(FeatureOrder, BringsTheEstimateNearerWhereItIsTrue) {
  const MatrixXd people = SmoothPeople(400);
  const auto linear = OnAll(OrderKind(FeatureOrder::Kind::kLinear));
  for (const double stddev : {3e-3, 1e-3}) {
    for (const std::uint64_t seed : {101, 102, 103}) {
      EXPECT_LT(
          ErrorOf(OrderedRelease(people, stddev, seed, linear), people),
          0.8 * ErrorOf(OrderedRelease(people, stddev, seed, nullptr), people))
          << stddev;
    }
  }
}

// A wrong order is seen to be wrong: features that are dealt out.
TEST(FeatureOrder, DoesNotHurtWhereItIsWrong) {
  const MatrixXd people = SmoothPeople(400);
  MatrixXd dealt(people.rows(), people.cols());
  std::vector<int> dealt_to = AllRows(kOrderFeatures);
  Draws draws(17);
  for (Index i = people.rows() - 1; i > 0; --i)
    std::swap(dealt_to[static_cast<std::size_t>(i)],
              dealt_to[static_cast<std::size_t>(draws.Index(i + 1))]);
  for (Index i = 0; i < people.rows(); ++i)
    dealt.row(i) = people.row(dealt_to[static_cast<std::size_t>(i)]);
  const auto linear = OnAll(OrderKind(FeatureOrder::Kind::kLinear));
  for (const double stddev : {3e-2, 1e-2, 3e-3, 1e-3}) {
    for (const std::uint64_t seed : {101, 102, 103}) {
      EXPECT_LE(
          ErrorOf(OrderedRelease(dealt, stddev, seed, linear), dealt),
          1.02 * ErrorOf(OrderedRelease(dealt, stddev, seed, nullptr), dealt))
          << stddev;
    }
  }
}

TEST(FeatureOrder, GivesTheSameBitsForAnyNumberOfThreads) {
  const MatrixXd people = SmoothPeople(200);
  const NoisedMoments release = OrderedRelease(
      people, 5e-3, 3, OnAll(OrderKind(FeatureOrder::Kind::kGrid, 12)));
  EXPECT_EQ(DenoiseMoments(release, {}, 1)->g,
            DenoiseMoments(release, {}, 3)->g);
}

TEST(FeatureOrder, ChangesNothingWithoutNoise) {
  const MatrixXd people = SmoothPeople(100);
  const auto linear = OnAll(OrderKind(FeatureOrder::Kind::kLinear));
  EXPECT_EQ(DenoiseMoments(OrderedRelease(people, 0, 1, linear))->g,
            DenoiseMoments(OrderedRelease(people, 0, 1, nullptr))->g);
}

}  // namespace
}  // namespace dpnmf
