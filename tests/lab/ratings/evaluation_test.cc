#include "lab/ratings/evaluation.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"
#include "tests/lab/ratings/ratings_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::ElementsAre;
using enum RatingsMethod;

EvaluateRatingsOptions Options(std::vector<std::string> methods) {
  EvaluateRatingsOptions options;
  options.rating_range = "1,5";
  options.epsilon = {1, 10};
  options.methods = std::move(methods);
  options.repeats = 2;
  return options;
}

RatingsData DataOf(const GeneratedRatings& generated) {
  RatingsData data;
  data.table = Generate(generated);
  data.users = data.table.people();
  data.item_features.resize(static_cast<Eigen::Index>(data.table.item_count),
                            0);
  return data;
}

RatingsEvaluation Evaluated(const EvaluateRatingsOptions& options,
                            const RatingsHooks& hooks = {}) {
  RatingsEvaluation evaluation;
  EXPECT_TRUE(EvaluateRatings(options, hooks, DataOf({}), &evaluation).ok());
  return evaluation;
}

TEST(MethodsOf, StandInOneOrderEachOnce) {
  EXPECT_THAT(MethodsOf(Options({"ratings", "bias", "ratings"}), 10),
              ElementsAre(kBias, kRatings));
  EXPECT_THAT(MethodsOf(Options({"all"}), 10),
              ElementsAre(kMean, kPopularity, kBias, kAls, kEase, kPublished,
                          kRatings));
}

TEST(MethodsOf, AllLeavesOutWhatCannotBe) {
  EvaluateRatingsOptions options = Options({"all"});
  options.by = HoldOutBy::kPerson;
  EXPECT_THAT(MethodsOf(options, 5000),
              ElementsAre(kMean, kPopularity, kBias, kAls, kRatings));
}

TEST(CheckEvaluateRatingsOptions, NamesWhatIsWrong) {
  const auto code = [](auto change) {
    EvaluateRatingsOptions options = Options({"all"});
    change(&options);
    return ReasonCode(CheckEvaluateRatingsOptions(options));
  };
  EXPECT_EQ(code([](auto*) {}), "");
  EXPECT_EQ(code([](auto* o) { o->epsilon = {}; }), "epsilon-out-of-range");
  EXPECT_EQ(code([](auto* o) {
              o->epsilon = {1, std::nan("")};
            }),
            "epsilon-out-of-range");
  EXPECT_EQ(code([](auto* o) { o->run.delta = 1; }), "delta-out-of-range");
  EXPECT_EQ(code([](auto* o) { o->methods = {"svd"}; }), "mechanism-unknown");
  EXPECT_EQ(code([](auto* o) { o->methods = {}; }), "mechanism-unknown");
  EXPECT_EQ(code([](auto* o) { o->rating_range = "5,1"; }),
            "rating-range-out-of-range");
  EXPECT_EQ(code([](auto* o) { o->holdout = 1; }),
            "evaluate-option-out-of-range");
  EXPECT_EQ(code([](auto* o) { o->holdout = std::nan(""); }),
            "evaluate-option-out-of-range");
  EXPECT_EQ(code([](auto* o) { o->repeats = 0; }),
            "evaluate-option-out-of-range");
  EXPECT_EQ(code([](auto* o) { o->threads = 0; }),
            "evaluate-option-out-of-range");
  EXPECT_EQ(code([](auto* o) {
              o->by = HoldOutBy::kPerson;
              o->published_study = true;
            }),
            "evaluate-option-out-of-range");
}

TEST(EvaluateRatings, RunsEveryMethodForEveryRepeatAndEpsilon) {
  const RatingsEvaluation evaluation =
      Evaluated(Options({"bias", "published", "mean"}));
  EXPECT_TRUE(evaluation.complete());
  ASSERT_EQ(evaluation.results.size(), 8u);
  EXPECT_EQ(evaluation.results[0].method, kMean);
  EXPECT_TRUE(std::isnan(evaluation.results[0].epsilon));
  EXPECT_EQ(evaluation.results[3].method, kPublished);
  EXPECT_EQ(evaluation.results[3].epsilon, 10);
  EXPECT_EQ(evaluation.results[7].repeat, 2u);
  // 10 = q + 2 sqrt(q log 1e5), q = 300 e^2 / (4 log 125).
  EXPECT_NEAR(PublishedOverallEpsilon(evaluation.results[3].epsilon_per_round,
                                      300, 0.01, 1e-5),
              10, 1e-9);
}

// A figure depends on the seed, the repeat and the method alone.
TEST(EvaluateRatings, FiguresDoNotDependOnWhatElseRuns) {
  const RatingsEvaluation both = Evaluated(Options({"als", "bias"}));
  const RatingsEvaluation alone = Evaluated(Options({"als"}));
  const RatingsEvaluation again = Evaluated(Options({"als"}));
  ASSERT_EQ(both.results.size(), 4u);
  ASSERT_EQ(alone.results.size(), 2u);
  EXPECT_EQ(both.results[1].metrics.rmse, alone.results[0].metrics.rmse);
  EXPECT_EQ(both.results[3].metrics.rmse, alone.results[1].metrics.rmse);
  EXPECT_EQ(alone.results[0].metrics.ndcg20, again.results[0].metrics.ndcg20);
  EXPECT_NE(alone.results[0].metrics.rmse, alone.results[1].metrics.rmse);
  EvaluateRatingsOptions other = Options({"als"});
  other.seed = 2;
  EXPECT_NE(Evaluated(other).results[0].metrics.rmse,
            alone.results[0].metrics.rmse);
}

TEST(EvaluateRatings, HandsOverWhatIsDoneWhenItIsStopped) {
  RatingsHooks hooks;
  std::size_t trials = 0;
  hooks.before_trial = [&](std::size_t number, std::size_t planned,
                           const std::string&) {
    trials = number;
    EXPECT_EQ(planned, 4u);
  };
  hooks.stop = [&] { return trials == 3; };
  const RatingsEvaluation evaluation =
      Evaluated(Options({"als", "bias"}), hooks);
  EXPECT_EQ(evaluation.results.size(), 2u);
  EXPECT_FALSE(evaluation.complete());
}

TEST(EvaluateRatings, ByPersonMeasuresPeopleThatWereNotTrainedWith) {
  EvaluateRatingsOptions options = Options({"bias", "als", "mean"});
  options.by = HoldOutBy::kPerson;
  options.holdout = 0.3;
  const RatingsEvaluation evaluation = Evaluated(options);
  ASSERT_EQ(evaluation.results.size(), 6u);
  EXPECT_LT(evaluation.results[1].metrics.rmse,
            evaluation.results[0].metrics.rmse);
}

TEST(EvaluateRatings, StudiesThePublishedAlgorithm) {
  EvaluateRatingsOptions options = Options({"mean"});
  options.repeats = 1;
  options.published_study = true;
  RatingsData data = DataOf({.people = 12, .items = 10, .density = 0.8});
  RatingsEvaluation evaluation;
  ASSERT_TRUE(EvaluateRatings(options, {}, data, &evaluation).ok());
  EXPECT_TRUE(evaluation.complete());
  ASSERT_EQ(evaluation.study.size(), 7u + 7u + 3u * 13u);
  const StudyRun& rounds = evaluation.study[1];
  EXPECT_EQ(rounds.study, "rounds");
  EXPECT_EQ(rounds.options.epsilon_per_round, 0.15);
  EXPECT_EQ(rounds.run.rounds, 300u);
  EXPECT_NEAR(rounds.run.curve.back().claimed_epsilon,
              PublishedOverallEpsilon(0.15, 300, 0.01, 1e-5), 1e-12);
  EXPECT_EQ(rounds.run.theta.size(), 0);  // profiles are not kept
}

TEST(EvaluateRatings, WhatThePlanRefusesIsRefusedBeforeTheFirstTrial) {
  const auto refusal = [](auto change) {
    EvaluateRatingsOptions options = Options({"bias", "ratings"});
    change(&options.run);
    RatingsHooks hooks;
    hooks.before_trial = [](std::size_t, std::size_t,
                            const std::string& title) {
      ADD_FAILURE() << title;
    };
    RatingsEvaluation evaluation;
    return ReasonCode(EvaluateRatings(options, hooks, DataOf({}), &evaluation));
  };
  EXPECT_EQ(refusal([](auto* run) {
              run->shares = {0.5, 0.5};
            }),
            "share-out-of-range");
  EXPECT_EQ(refusal([](auto* run) { run->rank = 100'000; }),
            "rank-out-of-range");
  EXPECT_EQ(refusal([](auto* run) { run->moment_rows = 5'000; }),
            "moment-rows-out-of-range");
}

TEST(Summarise, TakesMediansOverRepeats) {
  RatingsEvaluation evaluation;
  for (const double rmse : {0.9, 0.7, 0.8}) {
    RatingsResult result;
    result.method = kRatings;
    result.epsilon = 4;
    result.metrics.rmse = rmse;
    result.metrics.groups.emplace_back();
    result.metrics.groups[0].recall = rmse - 0.5;
    evaluation.results.push_back(result);
  }
  const std::vector<RatingsSummary> summaries = Summarise(evaluation);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].repeats, 3u);
  EXPECT_DOUBLE_EQ(summaries[0].median.rmse, 0.8);
  EXPECT_DOUBLE_EQ(summaries[0].least.rmse, 0.7);
  EXPECT_DOUBLE_EQ(summaries[0].largest.rmse, 0.9);
  EXPECT_TRUE(std::isnan(summaries[0].median.recall20));
  EXPECT_DOUBLE_EQ(summaries[0].median.groups[0].recall, 0.8 - 0.5);
}

TEST(EvaluateRatings, ReadsItsFiles) {
  const Scratch scratch;
  std::string lines = "user,item,rating,time\n", items;
  const RatingTable table = Generate({.people = 40, .items = 12});
  for (std::size_t u = 0; u < table.people(); ++u) {
    for (std::size_t at = table.Begin(u); at < table.Begin(u + 1); ++at) {
      absl::StrAppend(&lines, "u", u, ",i", table.items[at], ",",
                      table.units[at] / kOne, ",", table.times[at], "\n");
    }
  }
  for (int i = 0; i < 12; ++i) absl::StrAppend(&items, "i", i, "\n");
  EvaluateRatingsOptions options = Options({"mean"});
  options.ratings = scratch.Write("ratings.csv", lines);
  options.items = scratch.Write("items.txt", items);
  options.users_count = 50;
  options.by = HoldOutBy::kTime;
  const auto evaluation = EvaluateRatings(options, {});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->name, "ratings.csv");
  EXPECT_EQ(evaluation->items, 12u);
  EXPECT_EQ(evaluation->people, 50u);
  EXPECT_EQ(evaluation->users, 50u);
  EXPECT_EQ(evaluation->ratings, table.size());
  EXPECT_TRUE(evaluation->complete());
}

}  // namespace
}  // namespace dpnmf::curator::lab
