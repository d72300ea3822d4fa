#include "common/ratings/learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/ratings/person.h"
#include "gtest/gtest.h"
#include "tests/common/ratings/generated_ratings.h"
#include "tests/common/ratings/simulated_run.h"

namespace dpnmf {
namespace {

using Eigen::VectorXd;
using testing::FactsOf;
using testing::Generate;
using testing::Generated;
using testing::GeneratedOptions;
using testing::SimulatedOptions;
using testing::SimulatedRun;

// The learner counts on little noise, and there is none.
constexpr double kPrecise = 500;
const std::vector<double> kAllStages = {0.3, 0.25, 0.1, 0.15, 0.2};

RatingsFacts AllStages(const Generated& data, double epsilon,
                       bool features = true) {
  RatingsFacts facts = FactsOf(data, epsilon, features);
  facts.parameters.shares = kAllStages;
  return facts;
}

struct HeldOut {
  double rmse = 0, coverage = 0;  // of the intervals of 90 %
};

HeldOut Score(const ItemModel& model, const Generated& data) {
  double squares = 0, count = 0, covered = 0;
  for (std::size_t u = 0; u < data.people.size(); ++u) {
    const Profile profile =
        SolveProfile(model, data.people[u].items, data.people[u].ratings);
    for (std::size_t j = 0; j < data.held_out[u].items.size(); ++j) {
      const Prediction prediction =
          Predict(model, profile, data.held_out[u].items[j]);
      const double error = prediction.rating - data.held_out[u].ratings[j];
      squares += error * error;
      covered += std::abs(error) <= 1.645 * prediction.stddev ? 1 : 0;
      ++count;
    }
  }
  return {std::sqrt(squares / count), covered / count};
}

double Correlation(const VectorXd& x, const VectorXd& y) {
  const VectorXd a = x.array() - x.mean(), b = y.array() - y.mean();
  return a.dot(b) / (a.norm() * b.norm());
}

SimulatedOptions Exactly() {
  SimulatedOptions options;
  options.noise = false;
  return options;
}
SimulatedOptions Seeded(std::uint64_t seed) {
  SimulatedOptions options;
  options.seed = seed;
  return options;
}
SimulatedOptions Without(std::set<std::uint32_t> rounds) {
  SimulatedOptions options;
  options.lost = std::move(rounds);
  return options;
}

void ExpectWhole(const ItemModel& model, const RatingsFacts& facts) {
  const auto size = static_cast<Eigen::Index>(facts.dataset.features);
  EXPECT_EQ(model.base.size(), size);
  EXPECT_EQ(model.loadings.rows(), size);
  EXPECT_GE(model.loadings.cols(), 1);
  EXPECT_EQ(model.ranking.rows(), size);
  EXPECT_TRUE(model.base.allFinite() && model.base_stddev.allFinite() &&
              model.loadings.allFinite() && model.ranking.allFinite() &&
              model.popularity.allFinite() && model.counts_stddev.allFinite());
  EXPECT_GE(model.base_stddev.minCoeff(), 0);
  EXPECT_GE(model.popularity.minCoeff(), 0);
  EXPECT_GT(model.residual_stddev, 0);
}

// 150 items; of standard normal numbers a mean square beyond these bounds has a
// chance of less than 1e-9.
TEST(RatingsLearnerTest, CountsAreThoseOfTheReleaseWithTheNoiseThatIsStated) {
  const Generated data = Generate();
  SimulatedRun run(AllStages(data, 1), data.people);
  const ItemModel model = run.Model();
  VectorXd counts = VectorXd::Zero(model.base.size());
  for (const auto& person : data.people)
    for (const std::int32_t item : person.items)
      counts(item) += 1 / std::sqrt(double(person.items.size()));
  const VectorXd errors =
      (model.counts - counts).cwiseQuotient(model.counts_stddev);
  const double size = double(errors.size());
  EXPECT_GT(errors.squaredNorm(), size - 7 * std::sqrt(2 * size));
  EXPECT_LT(errors.squaredNorm(), size + 9 * std::sqrt(2 * size));
  EXPECT_FALSE(model.counts == model.popularity);
}

TEST(RatingsLearnerTest, RecoversEffectsAndCountsWhereThereIsNoNoise) {
  const Generated data = Generate();
  SimulatedRun run(AllStages(data, kPrecise), data.people, Exactly());
  const ItemModel model = run.Model();
  ExpectWhole(model, run.facts());
  VectorXd counts = VectorXd::Zero(model.base.size());
  for (const auto& person : data.people)
    for (const std::int32_t item : person.items)
      counts(item) += 1 / std::sqrt(double(person.items.size()));
  EXPECT_LT((model.counts - counts).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_GT(Correlation(model.popularity, counts), 0.95);
  // Rare items lean on their features.
  VectorXd seen(0), truth(0);
  for (Eigen::Index i = 0; i < counts.size(); ++i) {
    if (counts(i) < 20) continue;
    seen.conservativeResize(seen.size() + 1);
    truth.conservativeResize(truth.size() + 1);
    seen(seen.size() - 1) = model.base(i);
    truth(truth.size() - 1) = data.effects(i);
  }
  ASSERT_GT(seen.size(), 60);
  EXPECT_GT(Correlation(seen, truth), 0.9);
}

TEST(RatingsLearnerTest, HiddenFactorsAreFoundWhereThereIsNoNoise) {
  const Generated data = Generate({.people = 1500, .factor = 0.5});
  RatingsFacts facts = FactsOf(data, kPrecise);
  facts.parameters.shares = {1, 0, 0, 0, 0};
  const double items_alone =
      Score(SimulatedRun(facts, data.people, Exactly()).Model(), data).rmse;
  for (const std::vector<double>& shares :
       {std::vector<double>{.4, .4, .1, 0, .1},
        {.4, 0, .1, .4, .1},
        {.3, .2, .1, .2, .2}}) {
    facts.parameters.shares = shares;
    facts.parameters.rank = facts.parameters.moment_rows = 0;
    const double rmse =
        Score(SimulatedRun(facts, data.people, Exactly()).Model(), data).rmse;
    // The deviation of a rating about the truth is 0.7, here a little less.
    EXPECT_LT(rmse, items_alone - 0.05);
    EXPECT_LT(rmse, 0.71);
  }
}

TEST(RatingsLearnerTest, ErrorBarsHoldWhatTheyPromise) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Generated data = Generate({.seed = seed});
    for (const double epsilon : {1.0, 8.0}) {
      for (const bool features : {false, true}) {
        SimulatedRun run(FactsOf(data, epsilon, features), data.people,
                         Seeded(seed));
        const HeldOut score = Score(run.Model(), data);
        EXPECT_GT(score.coverage, 0.8) << seed << " " << epsilon;
        EXPECT_LT(score.coverage, 0.97) << seed << " " << epsilon;
      }
    }
  }
}

TEST(RatingsLearnerTest, AModelIsTheSameBitsOnAnyThreadAndInAnyRun) {
  const Generated data = Generate();
  const RatingsFacts facts = AllStages(data, 4);
  const RatingsMemory first = SimulatedRun(facts, data.people).Run();
  std::vector<RatingsMemory> others(3);
  std::vector<std::thread> threads;
  for (RatingsMemory& other : others) {
    threads.emplace_back(
        [&] { other = SimulatedRun(facts, data.people).Run(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const RatingsMemory& other : others) EXPECT_TRUE(first == other);
}

TEST(RatingsLearnerTest, AnyRoundMayBeLost) {
  const Generated data = Generate({.people = 300, .items = 60});
  const RatingsFacts facts = AllStages(data, 4);
  const std::uint32_t rounds =
      SimulatedRun(facts, data.people).facts().parameters.rounds;
  ASSERT_EQ(rounds, 6u);
  for (std::uint32_t lost = 1; lost <= rounds; ++lost) {
    SimulatedRun run(facts, data.people, Without({lost}));
    ExpectWhole(run.Model(), run.facts());
    std::set<std::uint32_t> others;
    for (std::uint32_t other = 1; other <= rounds; ++other)
      if (other != lost) others.insert(other);
    SimulatedRun alone(facts, data.people, Without(others));
    ExpectWhole(alone.Model(), alone.facts());
  }
}

TEST(RatingsLearnerTest, EveryStageMayBeLeftOut) {
  const Generated data = Generate({.people = 300, .items = 60});
  for (int stages = 0; stages < 16; ++stages) {
    RatingsFacts facts = FactsOf(data, 4, true);
    facts.parameters.shares = {0.4, 0, 0, 0, 0};
    for (int k = 0; k < 4; ++k)
      if (stages & (1 << k)) facts.parameters.shares[std::size_t(k) + 1] = 0.15;
    SimulatedRun run(facts, data.people);
    ExpectWhole(run.Model(), run.facts());
  }
}

TEST(RatingsLearnerTest, EveryRelationHasAModel) {
  const Generated data = Generate();
  for (const Adjacency adjacency :
       {Adjacency::kAddRemoveOne, Adjacency::kOneRating}) {
    RatingsFacts facts = AllStages(data, 8);
    facts.dataset.adjacency = facts.parameters.adjacency = adjacency;
    SimulatedRun run(facts, data.people, Exactly());
    const ItemModel model = run.Model();
    ExpectWhole(model, run.facts());
    EXPECT_LT(Score(model, data).rmse, 0.85);
  }
}

TEST(RatingsLearnerTest, NarrowRanksAndFewDirectionsAreKept) {
  const Generated data = Generate({.people = 300, .items = 60});
  for (const std::uint32_t rank : {1u, 2u, 3u, 9u}) {
    RatingsFacts facts = AllStages(data, 4);
    facts.parameters.rank = rank;
    if (rank == 1) facts.parameters.shares = {0.5, 0.3, 0.2, 0, 0};
    SimulatedRun run(facts, data.people);
    const RatingsMemory memory = run.Run();
    for (std::uint32_t round = 1; round <= run.facts().parameters.rounds;
         ++round) {
      const auto input = RatingsInput(round, run.facts(), memory);
      ASSERT_TRUE(input.ok());
      EXPECT_LE(input->w.cols(), 1 + Eigen::Index(rank));
    }
  }
}

TEST(RatingsLearnerTest, PeopleWithoutRatingsDoNotPullTheModel) {
  Generated data = Generate();
  const RatingsFacts before = AllStages(data, kPrecise);
  const double alone =
      Score(SimulatedRun(before, data.people, Exactly()).Model(), data).rmse;
  data.people.resize(3 * data.people.size());
  data.held_out.resize(data.people.size());
  const double among =
      Score(SimulatedRun(AllStages(data, kPrecise), data.people, Exactly())
                .Model(),
            data)
          .rmse;
  EXPECT_NEAR(alone, among, 0.005);
}

TEST(RatingsLearnerTest, AReleaseThatDoesNotFitChangesNothing) {
  const Generated data = Generate({.people = 300, .items = 60});
  SimulatedRun run(AllStages(data, 4), data.people);
  const RatingsFacts& facts = run.facts();
  RatingsMemory memory;
  for (std::uint32_t round = 1; round <= facts.parameters.rounds; ++round) {
    const auto input = RatingsInput(round, facts, memory);
    ASSERT_TRUE(input.ok());
    const std::vector<NoisedMatrix> good = run.Release(round, *input);
    std::vector<std::vector<NoisedMatrix>> bad(6, good);
    bad[0].pop_back();
    bad[1][0].name = "other";
    bad[2].back().rows += 1;
    bad[3].back().reals.pop_back();
    bad[4][0].reals[0] = std::numeric_limits<double>::quiet_NaN();
    bad[5].push_back(good[0]);
    const RatingsMemory before = memory;
    for (std::size_t k = 0; k < bad.size(); ++k) {
      const absl::Status status = RatingsUpdate(round, facts, bad[k], &memory);
      EXPECT_EQ(ReasonCode(status), "release-malformed") << round << " " << k;
      EXPECT_TRUE(status.code() == absl::StatusCode::kInvalidArgument);
      EXPECT_TRUE(memory == before);
    }
    ASSERT_TRUE(RatingsUpdate(round, facts, good, &memory).ok());
  }
}

TEST(RatingsLearnerTest, AStoppedUpdateChangesNothing) {
  const Generated data = Generate({.people = 300, .items = 60});
  SimulatedRun run(AllStages(data, 4), data.people);
  RatingsFacts facts = run.facts();
  facts.stopped = [] { return true; };
  RatingsMemory memory;
  const auto status = RatingsUpdate(1, facts, run.Release(1, {}), &memory);
  EXPECT_EQ(ReasonCode(status), "cancelled");
  EXPECT_TRUE(memory.empty());
}

// Whenever the answer comes, and it is asked for during the steps, not between
// releases alone.
TEST(RatingsLearnerTest, AnUpdateAsksOftenWhetherToStop) {
  constexpr int kItems = 3000;
  const Generated data = Generate({.people = 60, .items = kItems});
  SimulatedRun run(AllStages(data, 4), data.people);
  RatingsMemory memory;
  for (std::uint32_t round = 1; round <= run.facts().parameters.rounds;
       ++round) {
    RatingsFacts facts = run.facts();
    const std::string& release = facts.plan.StageOf(round).release;
    SCOPED_TRACE(release);
    const auto parts =
        run.Release(round, RatingsInput(round, facts, memory).value());
    int questions = 0, last = 0;
    facts.stopped = [&] { return ++questions == last; };
    const auto update = [&](int stop_at) {
      questions = 0;
      last = stop_at;
      RatingsMemory after = memory;
      const absl::Status status = RatingsUpdate(round, facts, parts, &after);
      if (stop_at != 0) {
        EXPECT_EQ(ReasonCode(status), "cancelled");
        EXPECT_TRUE(after == memory);
      }
      return after;
    };
    const RatingsMemory after = update(0);
    const int all = questions;
    // Once for 1,024 items of each of 82 steps; for each row of C; for an item
    // of each of 13 steps.
    EXPECT_GT(all, release == "items"         ? 82 * kItems / 1024
                   : release == "co-ratings"  ? 100
                   : release == "corrections" ? 13 * kItems
                                              : 0);
    facts.stopped = [&] { return ++questions >= last; };
    for (const int stop_at : {1, 2, (all + 1) / 2, all - 1, all}) {
      if (stop_at < 1 || stop_at > all) continue;
      update(stop_at);
      EXPECT_LT(questions, stop_at + 200);
    }
    memory = after;
  }
}

TEST(RatingsLearnerTest, MemoryThatIsNoneIsRefused) {
  const Generated data = Generate({.people = 300, .items = 60});
  SimulatedRun run(AllStages(data, 4), data.people);
  const RatingsMemory good = run.Run();
  for (const auto& [name, value] : good) {
    std::vector<RatingsMemory> bad(3, good);
    bad[0].erase(name);
    bad[1][name] = Eigen::MatrixXd::Zero(1, 1);
    if (value.size() > 0)
      bad[2][name](0, 0) = std::numeric_limits<double>::infinity();
    else
      bad[2].erase(name);
    for (const RatingsMemory& memory : bad) {
      EXPECT_EQ(ReasonCode(RatingsInput(3, run.facts(), memory).status()),
                "state-damaged")
          << name;
      EXPECT_EQ(ReasonCode(RatingsModel(run.facts(), memory).status()),
                "state-damaged")
          << name;
    }
  }
}

TEST(RatingsLearnerTest, BeforeTheFirstReleaseThereIsNoModel) {
  const Generated data = Generate({.people = 20, .items = 10});
  SimulatedRun run(AllStages(data, 4), data.people);
  EXPECT_EQ(ReasonCode(RatingsModel(run.facts(), {}).status()),
            "model-not-ready");
}

// The own profile takes up much of ten ratings; the remainder looks like a
// correction and is none. Corrections do harm here: .008, .010, .003 and -.002
// of RMSE with these seeds, .005 on average. FillRatingsDefaults asks for no
// corrections unless there are many people.
TEST(RatingsLearnerTest, CorrectionsDoLittleHarmToPeopleWithFewRatings) {
  double harm = 0;
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    GeneratedOptions options;
    options.people = 3000;
    options.items = 100;
    options.ratings = 10;
    options.factors = 8;
    options.noise = 1.5;
    options.seed = seed;
    const Generated data = Generate(options);
    RatingsFacts facts = FactsOf(data, 10);
    facts.parameters.shares = {0.25, 0.35, 0.05, 0, 0};
    const double without =
        Score(SimulatedRun(facts, data.people, Seeded(seed)).Model(), data)
            .rmse;
    facts.parameters.shares[4] = 0.35;
    const double with =
        Score(SimulatedRun(facts, data.people, Seeded(seed)).Model(), data)
            .rmse;
    EXPECT_LT(with, without + 0.02) << seed;
    harm += (with - without) / 4;
  }
  EXPECT_LT(harm, 0.008);
}

TEST(RatingsLearnerTest, ResidualsAreAskedForOnFewerItemsWhereNoiseIsStrong) {
  const Generated data = Generate();
  RatingsMemory memory;
  std::size_t rows[2];
  for (const bool precise : {false, true}) {
    RatingsFacts facts = AllStages(data, precise ? kPrecise : 4);
    facts.parameters.moment_rows = 120;
    SimulatedRun run(facts, data.people);
    memory = run.Run();
    for (std::uint32_t round = 1; round <= run.facts().parameters.rounds;
         ++round) {
      if (run.facts().plan.StageOf(round).release != "residuals") continue;
      const auto input = RatingsInput(round, run.facts(), memory);
      ASSERT_TRUE(input.ok()) << input.status();
      rows[precise] = input->rows.size();
    }
  }
  EXPECT_GE(rows[false], 32u);
  EXPECT_LT(rows[false], 120u);
  EXPECT_EQ(rows[true], 120u);
}

// Nobody chooses items by taste here, so co-ratings tell of no taste; with ten
// ratings of a hundred items by each of 5,000 people residuals do.
TEST(RatingsLearnerTest, TheDefaultsFindHiddenFactors) {
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  constexpr int kPeople = 5000, kItems = 100, kRatings = 11;
  Generated data;
  data.effects.resize(kItems);
  data.features = Eigen::MatrixXd(kItems, 0);
  data.factors.resize(kItems, 2);
  for (double& effect : data.effects) effect = 0.5 * normal(engine);
  for (double& factor : data.factors.reshaped()) factor = 0.5 * normal(engine);
  for (int u = 0; u < kPeople; ++u) {
    const Eigen::Vector2d taste(normal(engine), normal(engine));
    const double bias = 0.4 * normal(engine);
    std::set<std::int32_t> items;
    while (items.size() < kRatings)
      items.insert(static_cast<std::int32_t>(engine() % kItems));
    dpnmf::testing::Person own, held_out;
    const auto last = static_cast<std::size_t>(engine() % kRatings);
    std::size_t at = 0;
    for (const std::int32_t item : items) {
      const double rating = std::clamp(3 + bias + data.effects(item) +
                                           data.factors.row(item).dot(taste) +
                                           0.7 * normal(engine),
                                       1.0, 5.0);
      dpnmf::testing::Person& side = at++ == last ? held_out : own;
      side.items.push_back(item);
      side.ratings.push_back(rating);
    }
    data.people.push_back(own);
    data.held_out.push_back(held_out);
  }
  RatingsFacts facts = FactsOf(data, 10, false);
  facts.parameters.moment_rows = 0;
  const double with =
      Score(SimulatedRun(facts, data.people).Model(), data).rmse;
  facts.parameters.shares = {0.56, 0.42, 0.02, 0, 0};
  const double without =
      Score(SimulatedRun(facts, data.people).Model(), data).rmse;
  EXPECT_LT(with, without - 0.03);
}

// The same requests of the curator and the same memory; only the model differs.
TEST(RatingsLearnerTest, ANonNegativeModelIsOfTheSameReleases) {
  const Generated data = Generate();
  RatingsFacts facts = AllStages(data, 20);
  SimulatedRun signed_run(facts, data.people);
  const RatingsMemory remembered = SimulatedRun(facts, data.people).Run();
  const ItemModel of_both_signs = signed_run.Model();
  facts.non_negative = true;
  SimulatedRun run(facts, data.people);
  const ItemModel model = run.Model();
  ExpectWhole(model, run.facts());
  EXPECT_TRUE(SimulatedRun(facts, data.people).Run() == remembered);
  EXPECT_EQ(of_both_signs.level, 0);
  EXPECT_LT(of_both_signs.loadings.minCoeff(), 0);
  EXPECT_GT(model.level, 0);
  EXPECT_GE(model.loadings.minCoeff(), 0);
  EXPECT_LE(model.loadings.cols(), of_both_signs.loadings.cols());
  EXPECT_TRUE(model.base == of_both_signs.base);
  EXPECT_LT(Score(model, data).rmse, Score(of_both_signs, data).rmse + 0.03);
}

// Two marks that no item has together, and two that a quarter of the items do:
// people may like these items as neither mark says. Factors: bias, two marks,
// how popular and how liked an item is, and the marks' product.
TEST(RatingsLearnerTest, WhatTwoMarksHaveTogetherIsAFactor) {
  const Generated data = Generate();
  const Eigen::Index size = data.effects.size();
  RatingsFacts facts = FactsOf(data, kPrecise);
  facts.parameters.shares = {1, 0, 0, 0, 0};
  facts.dataset.ratings->item_features = 2;
  const auto factors_of = [&](bool together) {
    facts.item_features = Eigen::MatrixXd::Zero(size, 2);
    for (Eigen::Index i = 0; i < size; ++i) {
      facts.item_features(i, 0) = i % 2 == 0 ? 1 : 0;
      facts.item_features(i, 1) = (together ? i % 4 < 2 : i % 4 == 1) ? 1 : 0;
    }
    return SimulatedRun(facts, data.people, Exactly()).Model().loadings.cols();
  };
  EXPECT_EQ(factors_of(false), 5);
  EXPECT_EQ(factors_of(true), 6);
}

// How far co-ratings are damped follows from the noise: as long as the counts'
// own direction stands out, and by three quarters at most.
TEST(RatingsLearnerTest, CoRatingsAreDampedAlongTheCountsAsFarAsNoiseAllows) {
  const Generated data =
      Generate({.people = 1500, .items = 100, .ratings = 20});
  double before = -1;
  for (const double epsilon : {0.1, 3.0, 10.0, kPrecise}) {
    RatingsFacts facts = FactsOf(data, epsilon);
    facts.parameters.shares = {0.4, 0.6, 0, 0, 0};
    SimulatedRun run(facts, data.people);
    RatingsMemory memory;
    ASSERT_TRUE(
        RatingsUpdate(1, run.facts(), run.Release(1, RoundInput()), &memory)
            .ok());
    const RoundInput input = RatingsInput(2, run.facts(), memory).value();
    double part = 0;
    if (input.w.size() > 0) {
      ASSERT_EQ(input.w.rows(), Eigen::Index(input.rows.size()));
      ASSERT_EQ(input.w.cols(), 1);
      EXPECT_EQ(input.w.maxCoeff(), kMostRowWeight);
      EXPECT_GE(input.w.minCoeff(), 0);
      EXPECT_TRUE(input.w.array().round().matrix() == input.w);
      ASSERT_EQ(input.numbers.size(), 1u);
      part = input.numbers[0];
    }
    EXPECT_GE(part, before) << epsilon;
    before = part;
    if (epsilon == 0.1) {
      EXPECT_EQ(part, 0);
    }
  }
  EXPECT_EQ(before, 48);
}

// A taste that the choice of items shows, and no other: C finds it.
TEST(RatingsLearnerTest, ListsFollowWhatAPersonRates) {
  GeneratedOptions options{.people = 1500, .items = 100, .ratings = 20};
  options.factors = 1;
  options.factor = 1;
  const Generated data = Generate(options);
  RatingsFacts facts = FactsOf(data, 20);
  facts.parameters.shares = {0.4, 0.6, 0, 0, 0};
  const ItemModel model = SimulatedRun(facts, data.people).Model();
  ASSERT_GE(model.ranking.cols(), 1);
  EXPECT_GT(std::abs(Correlation(model.ranking.col(0), data.factors.col(0))),
            0.9);
}

}  // namespace
}  // namespace dpnmf
