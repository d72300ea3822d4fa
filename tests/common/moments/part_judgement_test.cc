#include "common/moments/part_judgement.h"

#include <cmath>
#include <random>
#include <vector>

#include "common/moments/moments.h"
#include "common/nmf/draws.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST(PartJudgement, HasTwoBounds) {
  EXPECT_EQ(JudgePart(1), PartJudgement::kReliable);
  EXPECT_EQ(JudgePart(0.8), PartJudgement::kReliable);
  EXPECT_EQ(JudgePart(0.79), PartJudgement::kUncertain);
  EXPECT_EQ(JudgePart(0.6), PartJudgement::kUncertain);
  EXPECT_EQ(JudgePart(0.59), PartJudgement::kNoise);
  EXPECT_EQ(JudgePart(NAN), PartJudgement::kNoise);
}

// People of some parts, of which a share of the features is used by each.
struct Generated {
  int features, parts;
  double density, floor;
};

MatrixXd MomentOf(const Generated& data, unsigned seed, MatrixXd* w) {
  constexpr int kPeople = 1500;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::exponential_distribution<double> exponential;
  w->setZero(data.features, data.parts);
  for (double& entry : w->reshaped())
    entry = data.floor * uniform(random) +
            (uniform(random) < data.density ? exponential(random) + 0.2 : 0);
  w->colwise().normalize();
  MatrixXd v(data.features, kPeople);
  for (auto person : v.colwise()) {
    VectorXd h(data.parts);
    for (int k = 0; k < data.parts; ++k)
      h(k) =
          uniform(random) < 0.35 ? exponential(random) * (1 + 0.15 * k) : 0.02;
    person = (*w * h).normalized();
  }
  const MatrixXd g = v * v.transpose() / kPeople;
  return (g + g.transpose()) / 2;
}

// `noise` in units of a part's share of the trace over the noise's edge.
NoisedMoments WithNoise(const MatrixXd& g, int parts, double noise) {
  const double stddev =
      noise / (4 * parts * std::sqrt(static_cast<double>(g.rows())));
  Draws draws(1);
  const double diagonal = std::sqrt(2.0) * stddev;
  return {g + SymmetricNoise(g.rows(), stddev, diagonal, &draws), stddev,
          diagonal};
}

// Counts of parts that were judged, and of those the ones at the truth.
struct Tally {
  int judged = 0, true_ones = 0;
  double share() const { return static_cast<double>(true_ones) / judged; }
};

// The truth of a part is the part that the fit of the same rank finds without
// noise; where the rank is right, also the part that the people were made of.
TEST(PartJudgement, AgreesWithTheTruthOfGeneratedData) {
  Tally reliable, noise, planted;
  for (const Generated& data :
       {Generated{30, 5, 0.3, 0}, Generated{60, 8, 0.15, 0.1},
        Generated{60, 6, 0.5, 0.3}}) {
    MatrixXd made;
    const MatrixXd g =
        MomentOf(data, 7 + static_cast<unsigned>(data.features), &made);
    for (const double level : {0.25, 0.5, 1.0}) {
      for (const int more : {0, 4}) {
        const NoisedMoments moments = WithNoise(g, data.parts, level);
        const DenoisedMoments denoised = DenoiseMoments(moments).value();
        FitOptions options;
        options.rank = data.parts + more;
        options.seed = 1;
        const MatrixXd w = FitDictionary(denoised, options).value();
        const VectorXd reliability =
            PartFactsOf(moments, denoised, w, options, 8).value().reliability;
        const MatrixXd exact =
            FitDictionary(DenoiseMoments({g, 0, 0}).value(), options).value();
        for (Eigen::Index k = 0; k < w.cols(); ++k) {
          const bool is_true =
              (exact.transpose() * w.col(k)).maxCoeff() >= kReliablePart;
          const PartJudgement judged = JudgePart(reliability(k));
          if (judged == PartJudgement::kUncertain) continue;
          Tally& to = judged == PartJudgement::kReliable ? reliable : noise;
          ++to.judged;
          to.true_ones += is_true ? 1 : 0;
          if (judged != PartJudgement::kReliable || more > 0) continue;
          ++planted.judged;
          planted.true_ones +=
              (made.transpose() * w.col(k)).maxCoeff() >= kReliablePart ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GE(reliable.judged, 70);
  EXPECT_GE(reliable.share(), 0.9);
  EXPECT_GE(noise.judged, 8);
  EXPECT_LE(noise.share(), 0.1);
  EXPECT_GE(planted.share(), 0.9);
}

}  // namespace
}  // namespace dpnmf
