#include "common/moments/rank_choice.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/nmf/draws.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using Eigen::MatrixXd;

// G of people who each mix two of `parts` parts of disjoint support.
MatrixXd MomentOfParts(int features, int parts) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform;
  MatrixXd v = MatrixXd::Zero(features, 2000);
  for (Eigen::Index n = 0; n < v.cols(); ++n) {
    for (int part = 0; part < 2; ++part) {
      const int k = static_cast<int>(random() % static_cast<unsigned>(parts));
      const double weight = 0.2 + uniform(random);
      for (int i = k; i < features; i += parts) v(i, n) += weight;
    }
    v.col(n).normalize();
  }
  const MatrixXd g = v * v.transpose() / 2000;
  return (g + g.transpose()) / 2;
}

NoisedMoments ReleaseOf(const MatrixXd& g, double stddev) {
  Draws draws(17);
  return {g + SymmetricNoise(g.rows(), stddev, std::sqrt(2.0) * stddev, &draws),
          stddev, std::sqrt(2.0) * stddev};
}

RankChoiceOptions OptionsOf(std::vector<int> ranks, int seeds = 3) {
  RankChoiceOptions options;
  options.ranks = std::move(ranks);
  options.seeds = seeds;
  return options;
}

TEST(ChooseRank, FindsThePartsThatThereAre) {
  for (const int parts : {3, 6}) {
    const NoisedMoments release = ReleaseOf(MomentOfParts(48, parts), 3e-4);
    const auto choice = ChooseRank(release, OptionsOf({2, 3, 4, 6, 7, 8}));
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->rank, parts);
    EXPECT_EQ(choice->sentence.find("We advise " + std::to_string(parts) +
                                    " parts. With more, stability falls to "),
              0u)
        << choice->sentence;
    for (const RankFacts& facts : choice->ranks) {
      EXPECT_GE(facts.stability, 0);
      EXPECT_LE(facts.stability, 1);
      EXPECT_LE(facts.stable_parts, facts.rank);
      EXPECT_GT(facts.explained, 0);
      EXPECT_LE(facts.explained, 1);
      // A rank below the number of parts predicts less.
      if (facts.rank < parts) {
        EXPECT_LT(facts.held_out, 0.97) << facts.rank;
      } else {
        EXPECT_GT(facts.held_out, 0.97) << facts.rank;
      }
    }
  }
}

TEST(ChooseRank, AdvisesNothingWhereAllIsNoise) {
  const MatrixXd g = MatrixXd::Identity(30, 30) / 30;
  const auto choice = ChooseRank(ReleaseOf(g, 0.05), OptionsOf({3, 6, 10}));
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->rank, 0) << choice->ranks[0].stability;
}

TEST(ChooseRank, IsAFunctionOfItsArgumentsAlone) {
  const NoisedMoments release = ReleaseOf(MomentOfParts(20, 4), 1e-3);
  RankChoiceOptions options = OptionsOf({2, 5}, 2);
  const auto one = ChooseRank(release, options);
  options.threads = 3;
  std::vector<double> progress;
  options.progress = [&](double share) { progress.push_back(share); };
  const auto many = ChooseRank(release, options);
  ASSERT_TRUE(one.ok() && many.ok());
  for (const std::size_t of : {std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(one->ranks[of].stability, many->ranks[of].stability);
    EXPECT_EQ(one->ranks[of].held_out, many->ranks[of].held_out);
    EXPECT_EQ(one->ranks[of].explained, many->ranks[of].explained);
  }
  EXPECT_EQ(progress, (std::vector<double>{0.5, 1}));
}

TEST(ChooseRank, StopsAndRefuses) {
  const NoisedMoments release = ReleaseOf(MomentOfParts(20, 4), 1e-3);
  const auto code = [&](const RankChoiceOptions& options) {
    return ReasonCode(ChooseRank(release, options).status());
  };
  RankChoiceOptions stopped = OptionsOf({2, 3});
  int asked = 0;
  stopped.stop = [&] { return ++asked > 20; };
  EXPECT_EQ(code(stopped), "cancelled");
  EXPECT_LE(asked, 40);
  EXPECT_EQ(code(OptionsOf({2, 2})), "ranks-out-of-range");
  EXPECT_EQ(code(OptionsOf({0, 2})), "ranks-out-of-range");
  EXPECT_EQ(code(OptionsOf({257})), "ranks-out-of-range");
  EXPECT_EQ(code(OptionsOf(std::vector<int>(65, 1))), "ranks-out-of-range");
  EXPECT_EQ(code(OptionsOf({2}, 1)), "seeds-out-of-range");
  EXPECT_EQ(code(OptionsOf({2}, 51)), "seeds-out-of-range");
}

TEST(ChooseAmong, TakesTheLargestRankWithoutParts) {
  const auto chosen = [](std::vector<RankFacts> ranks) {
    RankChoice choice;
    choice.ranks = std::move(ranks);
    ChooseAmong(&choice);
    return choice;
  };
  const auto facts = [](int rank, double stable, double held_out = 0.9,
                        double stability = 0.9) {
    RankFacts one;
    one.rank = rank;
    one.stability = stability;
    one.stable_parts = stable;
    one.held_out = held_out;
    one.held_out_error = 0.01;
    return one;
  };
  EXPECT_EQ(chosen({facts(4, 4), facts(5, 4.5), facts(6, 5.4)}).rank, 5);
  EXPECT_EQ(chosen({facts(20, 19), facts(22, 20.8)}).rank, 20);  // 5 %
  EXPECT_EQ(chosen({facts(4, 3)}).rank, 0);
  EXPECT_EQ(chosen({}).rank, 0);
  EXPECT_EQ(chosen({facts(4, 4, 0.015)}).rank, 0);  // predicts nothing
  // The sixth is a part that is split, most often in the same way.
  EXPECT_EQ(chosen({facts(5, 5, 0.9, 1), facts(6, 6, 0.9, 0.955)}).rank, 5);
  EXPECT_EQ(chosen({facts(5, 5, 0.9, 1), facts(6, 6, 0.9, 0.965)}).rank, 6);
  EXPECT_EQ(chosen({facts(1, 1), facts(3, 1)}).sentence,
            "We advise 1 part. With more, not all parts are stable.");
  EXPECT_EQ(chosen({facts(3, 3)}).sentence,
            "We advise 3 parts; compare larger ranks, too.");
  EXPECT_EQ(chosen({facts(5, 5, 0.9, 0.97), facts(7, 3, 0.9, 0.75),
                    facts(9, 3, 0.9, 0.8)})
                .sentence,
            "We advise 5 parts. With more, stability falls to 0.75 before it "
            "rises again.");
  EXPECT_EQ(chosen({facts(5, 5, 0.9, 0.97), facts(7, 3, 0.9, 0.75)}).sentence,
            "We advise 5 parts. With more, stability falls to 0.75.");
  // Parts that are reliable are not called noise.
  EXPECT_EQ(chosen({facts(4, 3)}).sentence.find("No rank is advised"), 0u);
  EXPECT_EQ(chosen({facts(4, 0.4)}).sentence.find("No part comes again"), 0u);
}

TEST(RanksToCompare, FollowTheDirections) {
  DenoisedMoments denoised;
  denoised.g = MatrixXd::Identity(100, 100);
  EXPECT_EQ(RanksToCompare(denoised).back(), 8);
  denoised.spikes = Eigen::VectorXd::Ones(7);
  EXPECT_EQ(RanksToCompare(denoised).front(), 2);
  EXPECT_EQ(RanksToCompare(denoised).back(), 21);
  denoised.spikes = Eigen::VectorXd::Ones(90);
  EXPECT_EQ(RanksToCompare(denoised).size(), 39u);
  denoised.g = MatrixXd::Identity(1, 1);
  EXPECT_EQ(RanksToCompare(denoised), std::vector<int>{1});
}

}  // namespace
}  // namespace dpnmf
