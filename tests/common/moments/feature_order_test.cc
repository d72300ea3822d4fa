#include "common/moments/feature_order.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/moments/aim.h"
#include "common/moments/moment_estimates.h"
#include "common/moments/moments.h"
#include "common/moments/people_model.h"
#include "common/nmf/coordinate_descent.h"
#include "common/nmf/draws.h"
#include "common/nmf/linear_algebra.h"
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

// People of smooth parts anywhere on a line: about twenty directions.
MatrixXd SmoothPeople(Index count) {
  Draws draws(5);
  MatrixXd people = MatrixXd::Zero(kOrderFeatures, count);
  for (Index n = 0; n < count; ++n) {
    for (int part = 0; part < 3; ++part) {
      const double centre = static_cast<double>(draws.Index(kOrderFeatures)),
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

// Patterns are the eigenvectors of exp(-distance / r): the kernel of the
// distances that are written here must be diagonal in them.
void ExpectPatternsOf(const FeatureOrder& order, std::uint64_t features,
                      const std::vector<int>& rows, const MatrixXd& distances,
                      double largest) {
  const MatrixXd u = PatternsOf({order, features, rows}).columns;
  ASSERT_EQ(u.cols(), distances.cols());
  const MatrixXd kernel = (-distances.array() / (largest / 2)).exp();
  MatrixXd inner = u.transpose() * kernel * u;
  inner.diagonal().setZero();
  EXPECT_LT(inner.norm(), 1e-12);
}

TEST(FeatureOrder, MeasuresDistances) {
  // Rows of 4: 1 is (0, 1), 6 is (1, 2), 11 is (2, 3).
  const double one = std::sqrt(2.0), two = std::sqrt(8.0);
  ExpectPatternsOf(OrderKind(FeatureOrder::Kind::kGrid, 4), 12, {1, 6, 11},
                   MatrixXd{{0, one, two}, {one, 0, one}, {two, one, 0}}, two);
  ExpectPatternsOf(OrderKind(FeatureOrder::Kind::kLinear), 12, {0, 2, 11},
                   MatrixXd{{0, 2, 11}, {2, 0, 9}, {11, 9, 0}}, 11);
  ExpectPatternsOf(OrderKind(FeatureOrder::Kind::kCircular), 12, {0, 2, 11},
                   MatrixXd{{0, 2, 1}, {2, 0, 3}, {1, 3, 0}}, 3);
  FeatureOrder graph = OrderKind(FeatureOrder::Kind::kGraph);
  graph.edges = {{0, 2}, {2, 5}, {5, 5}, {5, 1}};
  ExpectPatternsOf(graph, 6, {0, 1, 5},
                   MatrixXd{{0, 3, 2}, {3, 0, 1}, {2, 1, 0}}, 3);
}

// Parts of a graph without a way between them have no common roughness.
TEST(FeatureOrder, HasNoPatternsOnAGraphInParts) {
  FeatureOrder graph = OrderKind(FeatureOrder::Kind::kGraph);
  for (std::uint32_t i = 1; i + 1 < kOrderFeatures; ++i)
    graph.edges.push_back({i - 1, i});  // the last feature is isolated
  EXPECT_EQ(PatternsOf(*OnAll(graph)).columns.cols(), 0);
  const MatrixXd people = SmoothPeople(400);
  EXPECT_EQ(DenoiseMoments(OrderedRelease(people, 3e-3, 101, OnAll(graph)))->g,
            DenoiseMoments(OrderedRelease(people, 3e-3, 101, nullptr))->g);
  graph.edges.push_back({kOrderFeatures - 2, kOrderFeatures - 1});
  EXPECT_EQ(PatternsOf(*OnAll(graph)).columns.cols(), kOrderFeatures);
}

TEST(FeatureOrder, PatternsAreOrthonormalFromSmoothToRough) {
  FeatureOrder chain = OrderKind(FeatureOrder::Kind::kGraph);
  for (std::uint32_t i = 1; i < kOrderFeatures; ++i)
    chain.edges.push_back({i - 1, i});
  for (const FeatureOrder& order :
       {OrderKind(FeatureOrder::Kind::kLinear),
        OrderKind(FeatureOrder::Kind::kCircular),
        OrderKind(FeatureOrder::Kind::kGrid, 12), chain}) {
    const MatrixXd u = PatternsOf(*OnAll(order)).columns;
    EXPECT_LT(
        (u.transpose() * u - MatrixXd::Identity(kOrderFeatures, kOrderFeatures))
            .norm(),
        1e-10);
  }
  for (const FeatureOrder& order :
       {OrderKind(FeatureOrder::Kind::kLinear), chain}) {
    const MatrixXd u = PatternsOf(*OnAll(order)).columns;
    const auto roughness = [&](Index pattern) {
      return (u.col(pattern).tail(kOrderFeatures - 1) -
              u.col(pattern).head(kOrderFeatures - 1))
          .squaredNorm();
    };
    for (Index pattern = 1; pattern < kOrderFeatures; ++pattern)
      EXPECT_GT(roughness(pattern), roughness(pattern - 1)) << pattern;
  }
}

// Waves of a circle come in pairs, those of fewer turns first, even or odd.
TEST(FeatureOrder, PatternsOfACircleArePairsOfWaves) {
  FeatureOrder ring = OrderKind(FeatureOrder::Kind::kGraph);
  for (std::uint32_t i = 0; i < kOrderFeatures; ++i)
    ring.edges.push_back({i, (i + 1) % kOrderFeatures});
  for (const FeatureOrder& order :
       {OrderKind(FeatureOrder::Kind::kCircular), ring}) {
    const MatrixXd u = PatternsOf(*OnAll(order)).columns;
    for (Index pattern = 0; pattern < kOrderFeatures; ++pattern) {
      double squares =
          std::pow(u(0, pattern) - u(kOrderFeatures - 1, pattern), 2);
      for (Index i = 1; i < kOrderFeatures; ++i)
        squares += std::pow(u(i, pattern) - u(i - 1, pattern), 2);
      const auto turns = static_cast<double>((pattern + 1) / 2);
      EXPECT_NEAR(
          squares,
          2 - 2 * std::cos(2 * std::numbers::pi * turns / kOrderFeatures), 1e-9)
          << pattern;
    }
  }
}

// No pattern of a picture has a larger eigenvalue than those before it, and
// pixels that touch differ less in the first quarter than in any other pattern
// on average.
TEST(FeatureOrder, PatternsOfAPictureGoFromSmoothToRough) {
  constexpr Index kWidth = 12;
  const MatrixXd u =
      PatternsOf(*OnAll(OrderKind(FeatureOrder::Kind::kGrid, kWidth))).columns;
  MatrixXd kernel(kOrderFeatures, kOrderFeatures);
  VectorXd squares = VectorXd::Zero(kOrderFeatures);
  for (Index i = 0; i < kOrderFeatures; ++i) {
    for (Index j = 0; j < kOrderFeatures; ++j) {
      const auto apart =
          std::hypot(static_cast<double>(i % kWidth - j % kWidth),
                     static_cast<double>(i / kWidth - j / kWidth));
      kernel(i, j) = std::exp(-apart / (std::hypot(11, 7) / 2));
      if (apart == 1)
        squares += (u.row(i) - u.row(j)).cwiseAbs2().transpose() / 2;
    }
  }
  const VectorXd values = (u.transpose() * kernel * u).diagonal();
  for (Index i = 1; i < kOrderFeatures; ++i)
    EXPECT_LE(values(i), values(i - 1) + 1e-9) << i;
  EXPECT_LT(squares.head(24).maxCoeff(), squares.tail(72).mean());
}

// The two waves of one number of turns are both taken or both left.
TEST(FeatureOrder, CutsNoPairOfACircle) {
  MatrixXd people = SmoothPeople(400);
  NoisedMoments release = OrderedRelease(
      people, 3e-3, 101, OnAll(OrderKind(FeatureOrder::Kind::kCircular)));
  const DenoisedMoments denoised = DenoiseMoments(release).value();
  ASSERT_EQ(denoised.direction.size(), 0);  // in patterns
  const double patterns =
      std::pow(denoised.noise_edge / (2 * release.stddev_off), 2);
  EXPECT_EQ(std::lround(patterns) % 2, 1) << patterns;
}

// The halves of a choice of the rank, with seeds from 0, and the splits within
// each half must not draw the same noise.
TEST(SeedOfStream, KeepsPurposesApart) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t index = 0; index < 100; ++index) {
    seeds.insert({index, SeedOfStream("splits for patterns", index),
                  SeedOfStream("halves of a choice", index)});
  }
  EXPECT_EQ(seeds.size(), 300u);
}

// With the features themselves as patterns the estimate is that of features.
TEST(EstimateInPatterns, OfAllFeaturesIsTheEstimateBySpectrum) {
  const NoisedMoments release =
      OrderedRelease(SmoothPeople(400), 3e-3, 101, nullptr);
  const SpectralEstimate direct = EstimateBySpectrum(release.g, 3e-3),
                         in_patterns = EstimateInPatterns(
                             release.g,
                             MatrixXd::Identity(kOrderFeatures, kOrderFeatures),
                             3e-3);
  EXPECT_EQ(in_patterns.g, direct.g);
  EXPECT_EQ(in_patterns.spikes, direct.spikes);
}

// A moment that lies in the patterns comes back as it was, from them and to
// them.
TEST(EstimateInPatterns, GoesToThePatternsAndBack) {
  const MatrixXd u = PatternsOf(*OnAll(OrderKind(FeatureOrder::Kind::kLinear)))
                         .columns.leftCols(24);
  Draws draws(9);
  MatrixXd inner = SymmetricNoise(24, 1, 1, &draws);
  inner = inner * inner.transpose();
  const MatrixXd g = OnFeatures(u, inner);
  EXPECT_EQ(g, g.transpose());
  EXPECT_LT((u.transpose() * g * u - inner).norm(), 1e-10 * inner.norm());
  EXPECT_LT((g - u * (u.transpose() * g)).norm(), 1e-10 * g.norm());
  // Little noise: the estimate is what is there, and no eigenvalue is below 0
  // by more than the noise.
  const MatrixXd estimate =
      OnFeatures(u, EstimateInPatterns(g, u, 1e-6 * g.norm()).g);
  EXPECT_LT((estimate - g).norm(), 1e-4 * g.norm());
  EXPECT_GT(EigenOfSymmetric(estimate).values.minCoeff(), -1e-5 * g.norm());
}

// The variance of the estimate is in the patterns, none is a feature's own.
TEST(FeatureOrder, GivesTheDiagonalAndTheTraceOfTheEstimate) {
  const auto linear = OnAll(OrderKind(FeatureOrder::Kind::kLinear));
  NoisedMoments release = OrderedRelease(SmoothPeople(400), 3e-3, 101, linear);
  release.largest_trace = 2;
  const DenoisedMoments denoised = DenoiseMoments(release).value();
  EXPECT_EQ(denoised.g, denoised.g.transpose());
  EXPECT_GE(denoised.g.minCoeff(), 0);
  EXPECT_EQ(denoised.diagonal, denoised.g.diagonal());
  EXPECT_NEAR(denoised.trace, denoised.g.trace(), 1e-12);
  EXPECT_LT(denoised.noise_edge, NoiseEdge(release.g, 3e-3) / 1.4);
  release.largest_trace = denoised.trace / 2;
  EXPECT_EQ(DenoiseMoments(release)->trace, release.largest_trace);
}

// The noise is larger along the directions that the second release of `aimed`
// leaves out.
NoisedMoments AimedRelease(const MatrixXd& people, double stddev,
                           std::uint64_t seed) {
  const NoisedMoments first = OrderedRelease(people, stddev, seed, nullptr);
  const Aim aim = AimOf(first, 1, 8).value();
  const MatrixXd left =
      aim.scale *
      (people - aim.directions * (aim.directions.transpose() * people));
  const NoisedMoments second =
      OrderedRelease(left, stddev / 3, seed + 50, nullptr);
  return WithAimed(first, aim, second.g, stddev / 3).value();
}

TEST(FeatureOrder, KnowsTheDeviationOfTheNoiseThatIsWider) {
  const NoisedMoments release = AimedRelease(SmoothPeople(400), 3e-3, 101);
  ASSERT_GT(release.wider->cross.maxCoeff(), 1.5);
  const MatrixXd& q = release.wider->directions;
  Draws draws(35);
  for (const MatrixXd& a : {MatrixXd(q * q.transpose()),
                            SymmetricNoise(kOrderFeatures, 1, 1, &draws)}) {
    double squares = 0;
    constexpr int kDrawn = 400;
    for (int i = 0; i < kDrawn; ++i)
      squares += std::pow(a.cwiseProduct(DrawNoise(release, &draws)).sum(), 2);
    EXPECT_NEAR(std::sqrt(squares / kDrawn) / DeviationOf(release, a), 1, 0.1);
  }
}

// Splits must have the wider noise of some directions, or more patterns than
// are true seem to predict well.
TEST(FeatureOrder, CountsTheNoiseThatIsWider) {
  const MatrixXd people = SmoothPeople(400);
  NoisedMoments release = OrderedRelease(people, 0, 1, nullptr);
  const MatrixXd g = release.g;
  release.stddev_off = 3e-4;
  release.stddev_diagonal = std::sqrt(2.0) * release.stddev_off;
  WiderNoise wider;
  wider.directions = EigenOfSymmetric(g).vectors.rightCols(3);
  wider.cross = VectorXd::Constant(3, 12);
  wider.inner = MatrixXd::Constant(3, 3, 80);
  release.wider = std::make_shared<const WiderNoise>(std::move(wider));
  release.order = OnAll(OrderKind(FeatureOrder::Kind::kLinear));
  Draws draws(101);
  release.g = g + DrawNoise(release, &draws);
  const double all = 2 * release.stddev_off * std::sqrt(kOrderFeatures);
  // A quarter of the patterns at most.
  EXPECT_LE(DenoiseMoments(release)->noise_edge, all / 2 + 1e-12);
}

TEST(FeatureOrder, HelpsAfterAnAimedRelease) {
  const MatrixXd people = SmoothPeople(400);
  for (const std::uint64_t seed : {101, 102}) {
    NoisedMoments release = AimedRelease(people, 3e-3, seed);
    const double without = ErrorOf(release, people);
    release.order = OnAll(OrderKind(FeatureOrder::Kind::kLinear));
    EXPECT_LT(ErrorOf(release, people), 0.95 * without);
  }
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

// People with a smooth background and narrow peaks at a few features: an
// estimate in patterns has the first and not the second.
TEST(FeatureOrder, DoesNotHurtPeaksOnASmoothBackground) {
  Draws draws(31);
  MatrixXd people = MatrixXd::Zero(kOrderFeatures, 400);
  for (auto person : people.colwise()) {
    for (int part = 0; part < 8; ++part) {
      const double size = draws.Exponential();
      for (Index i = 0; i < kOrderFeatures; ++i) {
        const double apart = static_cast<double>(i - 12 * part - 6) / 6;
        person(i) += size * std::exp(-apart * apart / 2);
      }
    }
    for (int peak = 0; peak < 6; ++peak)
      person(7 + 15 * peak) += 2 * draws.Exponential();
    person.normalize();
  }
  const auto linear = OnAll(OrderKind(FeatureOrder::Kind::kLinear));
  for (const double stddev : {1e-2, 3e-3, 1e-3, 3e-4, 1e-4}) {
    for (const std::uint64_t seed : {101, 102, 103}) {
      EXPECT_LE(
          ErrorOf(OrderedRelease(people, stddev, seed, linear), people),
          1.01 * ErrorOf(OrderedRelease(people, stddev, seed, nullptr), people))
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

// Generated people have what single features have beside the patterns.
TEST(FeatureOrder, KeepsTheVarianceOfFeaturesForPeople) {
  MatrixXd people = SmoothPeople(2000);
  Draws draws(33);
  for (double& entry : people.reshaped())
    entry = std::max(0.0, entry + 0.05 * draws.Normal());
  NoisedMoments release = OrderedRelease(
      people, 1e-3, 101, OnAll(OrderKind(FeatureOrder::Kind::kLinear)));
  release.largest_trace = 2;
  const DenoisedMoments denoised = DenoiseMoments(release).value();
  ASSERT_EQ(denoised.direction.size(), 0);  // in patterns
  const double trace = release.g.trace();
  EXPECT_LT(denoised.trace, 0.97 * trace);
  EXPECT_NEAR(denoised.trace + denoised.beside.sum(), trace, 1e-9);
  const PeopleLaw law = FitPeopleLaw(denoised, {false, 1e9}).value();
  EXPECT_NEAR(law.deviation.squaredNorm(), denoised.beside.sum(), 1e-9);
}

TEST(FeatureOrder, TakesPatternsThatAreKnown) {
  NoisedMoments release =
      OrderedRelease(SmoothPeople(200), 3e-3, 101,
                     OnAll(OrderKind(FeatureOrder::Kind::kLinear)));
  const MatrixXd made = DenoiseMoments(release)->g;
  release.patterns =
      std::make_shared<const Patterns>(PatternsOf(*release.order));
  EXPECT_EQ(DenoiseMoments(release)->g, made);
  // It does not make them again.
  release.order = OnAll(OrderKind(FeatureOrder::Kind::kCircular));
  EXPECT_EQ(DenoiseMoments(release)->g, made);
}

TEST(FeatureOrder, HasItsMemory) {
  const double with = WorkOfFit(1024, 10, true).entries,
               without = WorkOfFit(1024, 10, false).entries;
  EXPECT_GE(with - without, 20.0 * 1024 * 1024);
}

TEST(FeatureOrder, GivesTheSameBitsForAnyNumberOfThreads) {
  const NoisedMoments release =
      OrderedRelease(SmoothPeople(200), 3e-3, 101,
                     OnAll(OrderKind(FeatureOrder::Kind::kLinear)));
  const DenoisedMoments one = DenoiseMoments(release, {}, 1).value();
  ASSERT_EQ(one.direction.size(), 0);  // in patterns
  EXPECT_EQ(one.g, DenoiseMoments(release, {}, 1)->g);
  EXPECT_EQ(one.g, DenoiseMoments(release, {}, 3)->g);
}

TEST(FeatureOrder, ChangesNothingWithoutNoise) {
  const MatrixXd people = SmoothPeople(100);
  const auto linear = OnAll(OrderKind(FeatureOrder::Kind::kLinear));
  EXPECT_EQ(DenoiseMoments(OrderedRelease(people, 0, 1, linear))->g,
            DenoiseMoments(OrderedRelease(people, 0, 1, nullptr))->g);
}

}  // namespace
}  // namespace dpnmf
