#include "common/moments/moments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "common/base/error.h"
#include "common/moments/empirical_bayes.h"
#include "common/moments/moment_estimates.h"
#include "common/nmf/coordinate_descent.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

MatrixXd SymmetricNoise(int size, double stddev_off, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  MatrixXd noise(size, size);
  for (int j = 0; j < size; ++j) {
    for (int i = 0; i < j; ++i)
      noise(i, j) = noise(j, i) = stddev_off * normal(random);
    noise(j, j) = std::sqrt(2.0) * stddev_off * normal(random);
  }
  return noise;
}

NoisedMoments Noised(const MatrixXd& g, double stddev_off, std::uint64_t seed) {
  return {g + SymmetricNoise(static_cast<int>(g.rows()), stddev_off, seed),
          stddev_off, std::sqrt(2.0) * stddev_off};
}

// Users of a planted model: `rank` parts of disjoint support, each user a
// mixture of two; columns of length 1.
MatrixXd PlantedUsers(int features, int rank, int users, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  MatrixXd v = MatrixXd::Zero(features, users);
  VectorXd level(features);
  for (double& entry : level) entry = 0.5 + uniform(random);
  for (int n = 0; n < users; ++n) {
    for (int part = 0; part < 2; ++part) {
      const int k = static_cast<int>(random() % rank);
      const double weight = 0.2 + uniform(random);
      for (int i = k; i < features; i += rank) v(i, n) += weight * level(i);
    }
    v.col(n).normalize();
  }
  return v;
}

MatrixXd SecondMoment(const MatrixXd& v) {
  const MatrixXd g = v * v.transpose() / static_cast<double>(v.cols());
  return (g + g.transpose()) / 2;
}

double Objective(const MatrixXd& v, const MatrixXd& w) {
  MatrixXd h = MatrixXd::Zero(w.cols(), v.cols());
  SweepNonNegative(w.transpose() * w, w.transpose() * v, 500, 1, &h);
  return (v - w * h).squaredNorm() / (2.0 * static_cast<double>(v.cols()));
}

MatrixXd Fitted(const DenoisedMoments& moments, int rank,
                std::uint64_t seed = 1) {
  FitOptions options;
  options.rank = rank;
  options.seed = seed;
  return FitDictionary(moments, options).value();
}

MatrixXd FittedTo(const NoisedMoments& moments, int rank) {
  return Fitted(DenoiseMoments(moments).value(), rank);
}

std::string CodeOf(const NoisedMoments& moments) {
  return ReasonCode(DenoiseMoments(moments).status());
}

void ExpectUnitNonNegative(const MatrixXd& w) {
  ASSERT_TRUE(w.allFinite());
  EXPECT_GE(w.minCoeff(), 0);
  for (const auto column : w.colwise()) EXPECT_NEAR(column.norm(), 1, 1e-12);
}

TEST(DenoiseMoments, RefusesWhatIsNoSecondMoment) {
  const MatrixXd i = MatrixXd::Identity(3, 3);
  EXPECT_EQ(CodeOf({MatrixXd::Zero(2, 3), 0, 0}), "moments-shape-invalid");
  EXPECT_EQ(CodeOf({MatrixXd(), 0, 0}), "moments-shape-invalid");
  MatrixXd bad = i;
  bad(1, 1) = kNotANumber;
  EXPECT_EQ(CodeOf({bad, 0, 0}), "moments-not-finite");
  bad = i;
  bad(0, 1) = 1e-9;
  EXPECT_EQ(CodeOf({bad, 0, 0}), "moments-not-symmetric");
  EXPECT_EQ(CodeOf({i, kNotANumber, 1}), "moments-noise-out-of-range");
  EXPECT_EQ(CodeOf({i, -1, 1}), "moments-noise-out-of-range");
  EXPECT_EQ(CodeOf({i, 2, 1}), "moments-noise-out-of-range");
  EXPECT_EQ(CodeOf({i, 0, std::numeric_limits<double>::infinity()}),
            "moments-noise-out-of-range");
}

TEST(DenoiseMoments, RefusesNothingButAnExactZero) {
  EXPECT_EQ(CodeOf({MatrixXd::Zero(4, 4), 0, 0}), "moments-empty");
  EXPECT_EQ(CodeOf({-MatrixXd::Identity(1, 1), 0, 0}), "moments-empty");
  const DenoisedMoments noise =
      DenoiseMoments({-MatrixXd::Identity(4, 4), 0.1, 0.2}).value();
  EXPECT_EQ(noise.directions(), 0);
  // The edge over 4, and half of it is shared.
  EXPECT_EQ(noise.g, MatrixXd(MatrixXd::Constant(4, 4, 0.05) +
                              0.05 * MatrixXd::Identity(4, 4)));
  EXPECT_TRUE(DenoiseMoments({MatrixXd::Zero(4, 4), 0.1, 0.2}).ok());
}

TEST(DenoiseMoments, GivesAnExactMomentBack) {
  const MatrixXd g = SecondMoment(PlantedUsers(12, 3, 200, 1));
  const DenoisedMoments denoised = DenoiseMoments({g, 0, 0}).value();
  EXPECT_LE((denoised.g - g).norm(), 1e-12);
  EXPECT_NEAR(denoised.trace, 1, 1e-12);
  EXPECT_EQ(denoised.noise_edge, 0);
}

// The top eigenvalue of M x M noise is within edge (1 +- M^-2/3 x) with x of
// Tracy and Widom's law; a false alarm here (x > 8) is below 1e-9 a draw.
TEST(DenoiseMoments, PutsTheEdgeAndTheShrinkageWhereTheoryHasThem) {
  constexpr int kSize = 400;
  constexpr double kStddev = 0.005;  // s^2 M = 0.01, edge 0.2
  const VectorXd mean = VectorXd::Constant(kSize, 1 / std::sqrt(double{kSize}));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    // One direction of 0.2; it shows at 0.2 + 0.01 / 0.2 = 0.25.
    const DenoisedMoments d =
        DenoiseMoments(Noised(0.2 * mean * mean.transpose(), kStddev, seed))
            .value();
    EXPECT_NEAR(d.noise_edge, 0.2, 1e-12);
    // At most one eigenvalue of the noise strays past the edge.
    EXPECT_GE(d.directions(), 1);
    EXPECT_LE(d.directions(), 2);
    // l - s^2 M / l = 0.15; without the correction of y it would be 0.21. The
    // deviation is 0.005 sqrt(2) (1 + 1/4) / sqrt(1 - 1/4) = 0.010.
    EXPECT_NEAR(d.spikes(0), 0.15, 0.045);
  }
}

TEST(DenoiseMoments, CountsPlantedDirections) {
  constexpr int kSize = 120;
  constexpr double kStddev = 1e-3;  // edge 0.0219
  MatrixXd g = MatrixXd::Zero(kSize, kSize);
  for (int k = 0; k < 4; ++k) {  // four blocks of 30: eigenvalues 0.1 ... 0.4
    g.block(30 * k, 30 * k, 30, 30).setConstant(0.1 * (k + 1) / 30);
  }
  const DenoisedMoments d = DenoiseMoments(Noised(g, kStddev, 3)).value();
  EXPECT_GE(d.directions(), 4);
  EXPECT_LE(d.directions(), 5);
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(d.spikes(k), 0.4 - 0.1 * k, 0.02);
}

TEST(DenoiseMoments, ComesNearerToTheTruth) {
  const MatrixXd g = SecondMoment(PlantedUsers(60, 5, 3000, 2));
  const NoisedMoments moments = Noised(g, 2e-3, 4);
  const DenoisedMoments denoised = DenoiseMoments(moments).value();
  EXPECT_LE((denoised.g - g).norm(), 0.6 * (moments.g - g).norm());
  EXPECT_GE(denoised.g.minCoeff(), 0);
  EXPECT_EQ(denoised.g, MatrixXd(denoised.g.transpose()));
}

// A line of features: the strong directions tell who is whose neighbour, and
// neighbours share variance that no eigenvalue above the edge shows.
TEST(DenoiseMoments, FindsWhatLikeFeaturesShareBelowTheEdge) {
  constexpr int kSize = 100;
  MatrixXd strong(kSize, kSize), weak(kSize, kSize);
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      const double angle = 1.5 * (i - j) / kSize;
      strong(i, j) = 0.9 / kSize * std::cos(angle);
      weak(i, j) = 0.1 / kSize * std::exp(-std::abs(i - j) / 2.0);
    }
  }
  const NoisedMoments moments = Noised(strong + weak, 5e-4, 18);
  const DenoisedMoments d = DenoiseMoments(moments).value();
  double truth = 0, found = 0;
  for (int i = 0; i + 1 < kSize; ++i) {
    truth += weak(i, i + 1);
    found += d.g(i, i + 1) - strong(i, i + 1);
  }
  EXPECT_GE(found, 0.42 * truth);  // a quarter without the regression
}

TEST(MomentEstimates, FollowARenumberingOfFeatures) {
  const NoisedMoments moments =
      Noised(SecondMoment(PlantedUsers(30, 4, 500, 5)), 2e-3, 6);
  std::vector<int> order(30);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(8));
  const MatrixXd renumbered = moments.g(order, order);
  const double stddev = moments.stddev_off;
  EXPECT_LE((EstimateBySpectrum(renumbered, stddev).g -
             EstimateBySpectrum(moments.g, stddev).g(order, order))
                .norm(),
            1e-10);
  EXPECT_LE((EstimateByEntries(renumbered, stddev) -
             EstimateByEntries(moments.g, stddev)(order, order))
                .norm(),
            1e-10);
}

// Few shared directions in the one, a few large entries anywhere in the other:
// the mix is nearly as good as the better of the two, without being told which.
TEST(DenoiseMoments, TakesTheEstimateThatForetells) {
  constexpr int kSize = 120;
  constexpr double kStddev = 1e-3;
  const MatrixXd shared = SecondMoment(PlantedUsers(kSize, 3, 3000, 2));
  MatrixXd scattered = MatrixXd::Identity(kSize, kSize) / kSize;
  std::mt19937_64 random(21);
  for (int pair = 0; pair < 300; ++pair) {
    const auto i = static_cast<int>(random() % kSize),
               j = static_cast<int>(random() % kSize);
    scattered(i, j) = scattered(j, i) = 0.008;
  }
  for (const bool few_directions : {true, false}) {
    const MatrixXd& g = few_directions ? shared : scattered;
    const NoisedMoments moments = Noised(g, kStddev, 22);
    const double spectral =
        (EstimateBySpectrum(moments.g, kStddev).g - g).norm();
    const double entries = (EstimateByEntries(moments.g, kStddev) - g).norm();
    EXPECT_EQ(spectral < entries, few_directions);
    EXPECT_LE((DenoiseMoments(moments)->g - g).norm(),
              1.05 * std::min(spectral, entries))
        << spectral << " " << entries;
  }
}

TEST(DenoiseMoments, FollowsAChangeOfUnits) {
  const NoisedMoments moments =
      Noised(SecondMoment(PlantedUsers(30, 4, 500, 5)), 2e-3, 6);
  const NoisedMoments larger{1024 * moments.g, 1024 * moments.stddev_off,
                             1024 * moments.stddev_diagonal};
  EXPECT_LE(
      (DenoiseMoments(larger)->g / 1024 - DenoiseMoments(moments)->g).norm(),
      1e-10);
}

TEST(FitDictionary, RecoversSeparatePartsWithoutNoise) {
  const MatrixXd v = PlantedUsers(40, 5, 1000, 9);
  const MatrixXd w = FittedTo({SecondMoment(v), 0, 0}, 5);
  ExpectUnitNonNegative(w);
  EXPECT_LE(Objective(v, w), 1e-5);
}

// Users of overlapping parts, half of them of one part alone: the positive part
// of a normal law has another second moment, which the fit must mend.
TEST(FitDictionary, FitsTheMomentAndNotTheLawItStartsFrom) {
  std::mt19937_64 random(19);
  std::exponential_distribution<double> exponential;
  constexpr int kFeatures = 40, kParts = 8;
  const MatrixXd parts = MatrixXd::NullaryExpr(kFeatures, kParts, [&] {
    return random() % 4 == 0 ? exponential(random) : 0.0;
  });
  MatrixXd v(kFeatures, 2000);
  for (auto user : v.colwise()) {
    user = parts.col(random() % kParts);
    if (random() % 2 == 0) user += parts.col(random() % kParts);
    user.normalize();
  }
  const double fitted = Objective(v, FittedTo({SecondMoment(v), 0, 0}, kParts));
  EXPECT_LE(fitted, 0.003);  // 0.0012; 0.0068 without the matching
}

TEST(FitDictionary, BeatsTheSpectrumCutAtRankOneUnderNoise) {
  const MatrixXd v = PlantedUsers(60, 6, 3000, 10);
  const MatrixXd g = SecondMoment(v);
  const double rank_one = Objective(v, FittedTo({g, 0, 0}, 1));
  const double noised = Objective(v, FittedTo(Noised(g, 1e-3, 11), 6));
  const double exact = Objective(v, FittedTo({g, 0, 0}, 6));
  EXPECT_LE(noised, exact + 0.15 * (rank_one - exact));
}

TEST(FitDictionary, IsAFunctionOfItsArgumentsAlone) {
  const DenoisedMoments moments =
      DenoiseMoments(Noised(SecondMoment(PlantedUsers(30, 4, 500, 5)), 2e-3, 6))
          .value();
  const MatrixXd w = Fitted(moments, 6);
  EXPECT_EQ(w, Fitted(moments, 6));
  EXPECT_NE(w, Fitted(moments, 6, 2));
  FitOptions threads;
  threads.rank = 6;
  threads.threads = 3;
  EXPECT_EQ(w, FitDictionary(moments, threads).value());
}

// Above 256 rows the law is cut to 128 directions.
TEST(FitDictionary, IsNoWorseWhereTheLawIsCut) {
  const MatrixXd v = PlantedUsers(300, 6, 1500, 12);
  const MatrixXd g = SecondMoment(v);
  const DenoisedMoments moments = DenoiseMoments(Noised(g, 1e-4, 13)).value();
  FitOptions options;
  options.rank = 6;
  const MatrixXd w = FitDictionary(moments, options).value();
  ExpectUnitNonNegative(w);
  const double rank_one = Objective(v, Fitted(moments, 1));
  EXPECT_LE(Objective(v, w), 0.02 * rank_one);
  options.threads = 3;
  EXPECT_EQ(w, FitDictionary(moments, options).value());
  EXPECT_EQ(moments.g, DenoiseMoments(Noised(g, 1e-4, 13), {}, 3)->g);
}

TEST(FitDictionary, OrdersPartsByTheShareThatTheyExplain) {
  const MatrixXd v = PlantedUsers(40, 5, 1000, 9);
  const DenoisedMoments moments =
      DenoiseMoments({SecondMoment(v), 0, 0}).value();
  FitOptions options;
  std::vector<double> progress;
  options.progress = [&](double share) { progress.push_back(share); };
  for (const int rank : {3, 5}) {
    options.rank = rank;
    VectorXd explained;
    const MatrixXd w = FitDictionary(moments, options, &explained).value();
    ASSERT_EQ(explained.size(), rank);
    EXPECT_GE(explained.minCoeff(), 0);
    for (int k = 1; k < rank; ++k)
      EXPECT_LE(explained(k), explained(k - 1)) << k;
    // The share of the data that W explains; columns of v have length 1.
    EXPECT_NEAR(explained.sum(), 1 - 2 * Objective(v, w), 0.02);
    ASSERT_FALSE(progress.empty());
    EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
    EXPECT_GT(progress.front(), 0);
    EXPECT_EQ(progress.back(), 1);
    progress.clear();
  }
}

TEST(PartFactsOf, TellPartsFromNoise) {
  const MatrixXd g = SecondMoment(PlantedUsers(40, 5, 1000, 9));
  const NoisedMoments moments = Noised(g, 1e-3, 21);
  const DenoisedMoments denoised = DenoiseMoments(moments).value();
  FitOptions options;
  options.rank = 9;  // four more than there are
  const MatrixXd w = FitDictionary(denoised, options).value();
  const PartFacts facts = PartFactsOf(moments, denoised, w, options, 6).value();
  ASSERT_EQ(facts.reliability.size(), 9);
  ASSERT_EQ(facts.explained.size(), 9);
  EXPECT_GE(facts.reliability.minCoeff(), 0);
  EXPECT_LE(facts.reliability.maxCoeff(), 1);
  EXPECT_GE(facts.reliability.maxCoeff(), 0.95);
  EXPECT_LT(facts.reliability.minCoeff(), 0.9);
  EXPECT_GT(facts.explained.sum(), 0.8);
  EXPECT_LE(facts.explained.sum(), 1);
  // Without noise every part comes again.
  const NoisedMoments exact{g, 0, 0};
  const DenoisedMoments again = DenoiseMoments(exact).value();
  options.rank = 5;
  EXPECT_GE(PartFactsOf(exact, again, FitDictionary(again, options).value(),
                        options, 2)
                ->reliability.minCoeff(),
            0.999);
}

TEST(FitDictionary, HoldsForAwkwardShapes) {
  // One feature; more columns than features; all noise; one
  // direction; one feature that is ever used.
  ExpectUnitNonNegative(FittedTo({MatrixXd::Constant(1, 1, 0.3), 0, 0}, 1));
  ExpectUnitNonNegative(FittedTo({MatrixXd::Constant(1, 1, 0.3), 0.1, 0.2}, 3));
  ExpectUnitNonNegative(FittedTo({MatrixXd::Identity(3, 3), 0.01, 0.02}, 8));
  ExpectUnitNonNegative(
      FittedTo(Noised(MatrixXd::Identity(20, 20) * 1e-3, 0.1, 13), 4));
  ExpectUnitNonNegative(FittedTo({MatrixXd::Constant(25, 25, 0.04), 0, 0}, 4));
  MatrixXd one_entry = MatrixXd::Zero(10, 10);
  one_entry(4, 4) = 1;
  ExpectUnitNonNegative(FittedTo({one_entry, 0, 0}, 3));
}

TEST(FitDictionary, StopsWhenAsked) {
  const MatrixXd g = SecondMoment(PlantedUsers(12, 3, 100, 1));
  FitOptions options;
  options.rank = 3;
  int asked = 0;
  options.stop = [&] { return ++asked > 5; };
  const auto w = FitDictionary(DenoiseMoments({g, 0, 0}).value(), options);
  EXPECT_EQ(ReasonCode(w.status()), "cancelled");
  EXPECT_LT(asked, 12);  // not the hundreds of a whole fit
}

TEST(FitDictionary, RefusesBadOptions) {
  const DenoisedMoments moments =
      DenoiseMoments({MatrixXd::Identity(3, 3), 0, 0}).value();
  const auto code = [&](FitOptions options) {
    return ReasonCode(FitDictionary(moments, options).status());
  };
  EXPECT_EQ(code({0, 1, 1, {}}), "rank-out-of-range");
  EXPECT_EQ(code({4097, 1, 1, {}}), "rank-out-of-range");
  EXPECT_EQ(code({2, 1, 1, MatrixXd::Ones(3, 3)}), "dictionary-start-invalid");
  EXPECT_EQ(code({2, 1, 1, MatrixXd::Constant(3, 2, kNotANumber)}),
            "dictionary-start-invalid");
  EXPECT_EQ(code({2, 1, 1, MatrixXd::Constant(3, 2, -1)}),
            "dictionary-start-invalid");
}

TEST(DictionaryStandardErrors, ScaleWithTheNoiseAndVanishWithIt) {
  const MatrixXd g = SecondMoment(PlantedUsers(24, 4, 1000, 14));
  FitOptions options;
  options.rank = 4;
  const auto size = [&](double stddev) {
    const NoisedMoments moments = Noised(g, stddev, 15);
    const DenoisedMoments denoised = DenoiseMoments(moments).value();
    const MatrixXd w = Fitted(denoised, 4);
    return DictionaryStandardErrors(moments, denoised, w, options,
                                    {.replicates = 6})
        ->norm();
  };
  EXPECT_EQ(size(0), 0);
  const double small = size(2e-4), large = size(2e-3);
  EXPECT_GT(small, 0);
  EXPECT_GT(large, 3 * small);
}

TEST(DictionaryStandardErrors, AgreeWithTheSpreadOverReleases) {
  const MatrixXd g = SecondMoment(PlantedUsers(24, 4, 1000, 14));
  constexpr double kStddev = 5e-4;
  const NoisedMoments moments = Noised(g, kStddev, 16);
  const DenoisedMoments denoised = DenoiseMoments(moments).value();
  const MatrixXd w = Fitted(denoised, 4);
  FitOptions options;
  options.rank = 4;
  const double claimed = DictionaryStandardErrors(moments, denoised, w, options,
                                                  {.replicates = 12})
                             ->norm();
  constexpr int kReleases = 12;
  MatrixXd sum = MatrixXd::Zero(24, 4), squares = sum;
  options.start = w;
  for (int release = 0; release < kReleases; ++release) {
    const MatrixXd again =
        FitDictionary(DenoiseMoments(Noised(g, kStddev, 100 + release)).value(),
                      options)
            .value();
    sum += again;
    squares += again.cwiseAbs2();
  }
  const double seen = std::sqrt(
      (squares.sum() - sum.squaredNorm() / kReleases) / (kReleases - 1));
  EXPECT_GT(claimed, seen / 2);
  EXPECT_LT(claimed, 2 * seen);
}

TEST(DictionaryStandardErrors, RefuseFewerThanTwoReplicates) {
  const NoisedMoments moments{MatrixXd::Identity(3, 3), 0, 0};
  const DenoisedMoments denoised = DenoiseMoments(moments).value();
  FitOptions options;
  options.rank = 1;
  EXPECT_EQ(ReasonCode(DictionaryStandardErrors(moments, denoised,
                                                MatrixXd::Ones(3, 1), options,
                                                {.replicates = 1})
                           .status()),
            "bootstrap-out-of-range");
}

TEST(ChooseRows, TakesTheLargestInAscendingOrder) {
  VectorXd mean(6);
  mean << 0.1, 0.5, kNotANumber, 0.5, -1, 0.3;
  EXPECT_EQ(ChooseRows(mean, 0.01, 2), (std::vector<int>{1, 3}));
  EXPECT_EQ(ChooseRows(mean, 0.01, 1), (std::vector<int>{1}));
  EXPECT_EQ(ChooseRows(mean, 0.01, 5), (std::vector<int>{0, 1, 3, 4, 5}));
  EXPECT_EQ(ChooseRows(mean, 0.01, 0), std::vector<int>{});
  EXPECT_EQ(ChooseRows(mean, 0.01).size(), 6u);
}

TEST(ChooseRows, KeepsNoiseToAShare) {
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  VectorXd mean(5000);
  for (double& entry : mean) entry = normal(random);
  EXPECT_EQ(ChooseRows(mean, 1).size(), 200u);  // the floor
  for (int i = 0; i < 600; ++i) mean(7 * i) += 6;
  const std::vector<int> rows = ChooseRows(mean, 1);
  const auto planted = std::count_if(rows.begin(), rows.end(), [](int row) {
    return row % 7 == 0 && row < 4200;
  });
  EXPECT_GE(planted, 595);
  EXPECT_LE(rows.size() - planted, 260u);  // expected 200, deviation 13
  EXPECT_EQ(ChooseRows(mean, 0.001).size(), 1024u);  // the ceiling
}

TEST(LiftDictionary, ExplainsTheMeanOfTheOtherFeatures) {
  MatrixXd w(2, 2);
  w << 1, 0, 0, 1;
  VectorXd mean(5);
  mean << 0.4, 0.1, 0.2, -0.3, kNotANumber;
  mean(4) = 0.001;
  // a = (0.4, 0.2): on feature 1 both columns have 0.1 / 0.6 before scaling.
  const MatrixXd exact = LiftDictionary(w, {0, 2}, mean, 0);
  const double fill = 0.1 / 0.6, tiny = 0.001 / 0.6;
  const double length = std::sqrt(1 + fill * fill + tiny * tiny);
  EXPECT_NEAR(exact(1, 0), fill / length, 1e-9);
  EXPECT_NEAR(exact(1, 1), fill / length, 1e-9);
  EXPECT_NEAR(exact(0, 0), 1 / length, 1e-9);
  EXPECT_NEAR(exact(2, 1), 1 / length, 1e-9);
  EXPECT_EQ(exact.row(3).norm(), 0);
  // With noise the mean is replaced by its posterior mean.
  mean.tail(1).setZero();
  const VectorXd exact_means = PosteriorMeans(mean, 0.1);
  const VectorXd expected = exact_means / (exact_means(0) + exact_means(2));
  const MatrixXd noisy = LiftDictionary(w, {0, 2}, mean, 0.1);
  EXPECT_NEAR(noisy(1, 0) / noisy(0, 0), expected(1), 1e-9);
  EXPECT_NEAR(noisy(3, 1) / noisy(2, 1), expected(3), 1e-9);
}

TEST(PredictMoments, IsTheDeviationThatMuAsksFor) {
  const MomentsForecast forecast = PredictMoments(2000, 400, 0.04);
  // mu^2 = (sqrt(2)/N)^2 / (2 s^2) = 0.04.
  EXPECT_NEAR(forecast.stddev_off, 1 / (2000 * 0.2), 1e-15);
  EXPECT_NEAR(forecast.noise_edge, 0.1, 1e-12);
  EXPECT_EQ(forecast.most_directions, 20);
  EXPECT_EQ(forecast.typical_directions, 2);
  EXPECT_EQ(PredictMoments(1e9, 5, 1).most_directions, 5);
  EXPECT_EQ(PredictMoments(1, 5, 1e-6).most_directions, 0);
}

TEST(DefaultShareOfMean, GrowsWithTheNoiseWithinItsRange) {
  EXPECT_EQ(DefaultShareOfMean(1e6, 1), kLeastShareOfMean);
  EXPECT_EQ(DefaultShareOfMean(10, 1e-3), kLargestShareOfMean);
  // Edge 2 sqrt(200) / (1000 * 0.5) = 0.0566.
  EXPECT_NEAR(DefaultShareOfMean(1000, 0.25), 0.1697, 1e-4);
}

}  // namespace
}  // namespace dpnmf
