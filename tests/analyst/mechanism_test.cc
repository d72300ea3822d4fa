#include "common/learning/mechanism.h"

#include <cmath>
#include <limits>
#include <random>

#include "common/base/error.h"
#include "common/nmf/dictionary.h"
#include "gtest/gtest.h"

namespace dpnmf::analyst {
namespace {

NoisedMatrix Part(const std::string& name, const Eigen::MatrixXd& sum) {
  NoisedMatrix part;
  part.name = name;
  part.rows = static_cast<std::uint64_t>(sum.rows());
  part.columns = static_cast<std::uint64_t>(sum.cols());
  part.is_lattice = false;
  part.reals.assign(sum.data(), sum.data() + sum.size());
  return part;
}

Eigen::MatrixXd Uniform(int rows, int columns, int seed) {
  return RandomDictionary(static_cast<std::uint64_t>(rows),
                          static_cast<std::uint64_t>(columns),
                          static_cast<std::uint64_t>(seed));
}

TEST(Mechanism, FindsByNameAlone) {
  EXPECT_NE(FindReleaseKind("statistics"), nullptr);
  EXPECT_NE(FindReleaseKind("gradient"), nullptr);
  EXPECT_EQ(FindReleaseKind("Statistics"), nullptr);
  EXPECT_EQ(FindReleaseKind(""), nullptr);
}

TEST(Mechanism, LatticeEntriesAreScaledByStepAndUsers) {
  NoisedMatrix part;
  part.name = "B";
  part.rows = 2;
  part.columns = 1;
  part.step_exponent = -3;
  part.lattice = {16, -8};
  const Eigen::MatrixXd mean = *MeanOfPart({part}, "B", 2, 1, 4);
  EXPECT_EQ(mean(0, 0), 0.5);
  EXPECT_EQ(mean(1, 0), -0.25);
}

TEST(Statistics, WeighsReleasesInProportionToTheirRound) {
  LearnerState state;
  state.w = Uniform(3, 2, 1);
  RoundFacts facts;
  facts.users = 1;
  Eigen::MatrixXd weighted = Eigen::MatrixXd::Zero(3, 2);
  double weights = 0;
  for (std::uint32_t t = 1; t <= 6; ++t) {
    facts.round = t;
    const Eigen::MatrixXd b = Uniform(3, 2, static_cast<int>(10 + t));
    ASSERT_TRUE(UpdateFromStatistics(
                    {Part("A", Eigen::MatrixXd::Identity(2, 2)), Part("B", b)},
                    facts, &state)
                    .ok());
    weighted += t * b;
    weights += t;
    EXPECT_LT((state.memory["B"] - weighted / weights).norm(), 1e-14);
  }
}

// With W = I-like exact statistics A, B = W* A the fixed point is W*.
TEST(Statistics, FindsTheDictionaryBehindExactStatistics) {
  const Eigen::MatrixXd truth = Uniform(8, 3, 3) * 0.9;
  const Eigen::MatrixXd h = Uniform(3, 50, 4);
  const Eigen::MatrixXd a = h * h.transpose();
  LearnerState state;
  state.w = Uniform(8, 3, 5);
  RoundFacts facts;
  facts.users = 50;
  facts.steps_per_round = 20'000;
  ASSERT_TRUE(
      UpdateFromStatistics({Part("A", a), Part("B", truth * a)}, facts, &state)
          .ok());
  EXPECT_LT((state.w - truth).norm(), 1e-6);
}

// Averaging pays: at the same noise the averaged learner ends nearer to the
// truth. A fixed seed, so the test cannot flicker.
TEST(Statistics, AveragingBringsANoisyRunNearerToTheTruth) {
  const Eigen::MatrixXd truth = Uniform(20, 3, 3) * 0.9;
  const Eigen::MatrixXd h = Uniform(3, 50, 4);
  const Eigen::MatrixXd a = h * h.transpose();
  const Eigen::MatrixXd b = truth * a;
  double distance[2];
  for (const bool average : {false, true}) {
    std::mt19937_64 generator(20250101);
    std::normal_distribution<double> normal(0, 2);
    LearnerState state;
    state.w = Uniform(20, 3, 5);
    RoundFacts facts;
    facts.users = 50;
    facts.steps_per_round = 200;
    facts.average = average;
    for (facts.round = 1; facts.round <= 50; ++facts.round) {
      const Eigen::MatrixXd noise =
          b.unaryExpr([&](double) { return normal(generator); });
      ASSERT_TRUE(UpdateFromStatistics({Part("A", a), Part("B", b + noise)},
                                       facts, &state)
                      .ok());
    }
    distance[average] = (state.w - truth).norm();
  }
  EXPECT_LT(distance[1], distance[0] / 2);
}

TEST(Mechanisms, KeepTheDictionaryFeasibleUnderAnyNoise) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal(0, 1e6);
  for (const char* name : {"statistics", "gradient"}) {
    LearnerState state;
    state.w = Uniform(5, 2, 1);
    RoundFacts facts;
    facts.steps_per_round = 10;
    for (facts.round = 1; facts.round <= 20; ++facts.round) {
      const auto noise = [&](int rows, int columns) -> Eigen::MatrixXd {
        return Eigen::MatrixXd::Zero(rows, columns)
            .eval()
            .unaryExpr([&](double) { return normal(generator); });
      };
      const Eigen::MatrixXd b = noise(5, 2);
      const Eigen::MatrixXd a = noise(2, 2);
      ASSERT_TRUE(
          FindReleaseKind(name)
              ->update({Part("A", a), Part("B", b), Part("gradient", b)}, facts,
                       &state)
              .ok());
      ASSERT_TRUE(CheckDictionary(state.w).ok());
      for (int k = 0; k < 2; ++k) ASSERT_LE(state.w.col(k).norm(), 1 + 1e-12);
    }
  }
}

TEST(Mechanisms, RefuseAReleaseThatDoesNotFitAndKeepTheState) {
  const Eigen::MatrixXd w = Uniform(5, 2, 1);
  NoisedMatrix poison = Part("B", Eigen::MatrixXd::Zero(5, 2));
  poison.reals[3] = std::numeric_limits<double>::quiet_NaN();
  const Eigen::MatrixXd a = Eigen::MatrixXd::Identity(2, 2);
  const std::vector<std::vector<NoisedMatrix>> releases = {
      {},
      {Part("A", a)},
      {Part("A", a), Part("B", Eigen::MatrixXd::Zero(2, 5))},
      {Part("A", Eigen::MatrixXd::Zero(3, 3)),
       Part("B", Eigen::MatrixXd::Zero(5, 2))},
      {Part("A", a), poison},
  };
  for (const char* name : {"statistics", "gradient"}) {
    for (const auto& release : releases) {
      LearnerState state;
      state.w = w;
      RoundFacts facts;
      EXPECT_EQ(
          ReasonCode(FindReleaseKind(name)->update(release, facts, &state)),
          "release-malformed");
      EXPECT_EQ(state.w, w);
      EXPECT_TRUE(state.memory.empty());
    }
  }
}

TEST(Moments, RefuseStoredRowsThatAreNoRowsOfW) {
  LearnerState state;
  state.w = Uniform(3, 2, 1);
  RoundFacts facts;
  facts.moment_rows = 2;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto column = [](double first, double second) {
    Eigen::MatrixXd stored(2, 1);
    stored << first, second;
    return stored;
  };
  for (const Eigen::MatrixXd& rows : std::vector<Eigen::MatrixXd>{
           column(0, 3), column(1, 1), column(0, 1e300), column(nan, 1),
           column(-1, 1), column(0.5, 1), Eigen::MatrixXd(0, 0),
           Eigen::MatrixXd::Zero(1, 2)}) {
    state.memory["rows"] = rows;
    EXPECT_EQ(ReasonCode(SendRows(facts, state).status()), "state-damaged")
        << rows;
    const Eigen::MatrixXd g = Eigen::MatrixXd::Identity(2, 2);
    EXPECT_EQ(ReasonCode(UpdateFromMoments({Part("G", g)}, facts, &state)),
              "state-damaged")
        << rows;
  }
  state.memory["rows"] = column(0, 2);
  EXPECT_EQ(SendRows(facts, state)->rows, (std::vector<std::uint32_t>{0, 2}));
}

// It was paid for: the release stays, and W is left to the caller.
TEST(Moments, AreKeptWhenLearningIsBrokenOff) {
  LearnerState state;
  state.w = Uniform(4, 2, 1);
  RoundFacts facts;
  facts.moment_rows = 4;
  facts.stopped = [] { return true; };
  const Eigen::MatrixXd g = Eigen::MatrixXd::Identity(4, 4);
  EXPECT_EQ(ReasonCode(UpdateFromMoments({Part("G", g)}, facts, &state)),
            "cancelled");
  EXPECT_EQ(state.memory.at("G"), g);
  facts.stopped = {};
  EXPECT_TRUE(UpdateFromMoments({Part("G", g)}, facts, &state).ok());
}

// A run that is ended between the charge and the update keeps both releases.
TEST(Aimed, IsKeptWhenLearningIsBrokenOff) {
  const ReleaseKind& aimed = *FindReleaseKind("aimed");
  LearnerState state;
  state.w = Uniform(4, 2, 1);
  const Eigen::MatrixXd g = Eigen::Vector4d(0.9, 0.2, 0.1, 0.1).asDiagonal();
  const Eigen::MatrixXd z = 0.5 * Eigen::MatrixXd::Identity(4, 4);
  state.memory["G"] = g;
  RoundFacts facts;
  facts.moment_rows = 4;
  facts.of_moments = {0.01, 0.015};
  facts.noise["Z"] = {0.01, 0.015};
  LearnerState learned = state;
  ASSERT_TRUE(aimed.update({Part("Z", z)}, facts, &learned).ok());
  facts.stopped = [] { return true; };
  EXPECT_EQ(ReasonCode(aimed.update({Part("Z", z)}, facts, &state)),
            "cancelled");
  EXPECT_EQ(state.memory.at("G"), g);
  ASSERT_TRUE(state.memory.contains("aimed"));
  EXPECT_EQ(state.memory.at("aimed"), z);
  // With what was asked for, as where learning went on: a fit adds its share.
  EXPECT_TRUE(learned.figures.explained.has_value());
  EXPECT_EQ(state.memory, learned.memory);
}

TEST(Statistics, AnAverageOfAnotherShapeBeginsAnew) {
  LearnerState state;
  state.w = Uniform(3, 2, 1);
  state.memory["A"] = Eigen::MatrixXd::Ones(5, 5);
  state.memory["B"] = Eigen::MatrixXd::Ones(1, 1);
  RoundFacts facts;
  facts.round = 2;
  const Eigen::MatrixXd a = Eigen::MatrixXd::Identity(2, 2);
  const Eigen::MatrixXd b = Uniform(3, 2, 7);
  ASSERT_TRUE(
      UpdateFromStatistics({Part("A", a), Part("B", b)}, facts, &state).ok());
  EXPECT_EQ(state.memory["A"], a);
  EXPECT_EQ(state.memory["B"], b);
}

}  // namespace
}  // namespace dpnmf::analyst
