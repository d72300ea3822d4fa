#include "analyst/planning/forecast.h"

#include <cmath>

#include "common/privacy/accounting.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

DatasetFacts Facts(std::uint64_t features, std::uint64_t users) {
  DatasetFacts facts;
  facts.name = facts.population = "people";
  facts.features = features;
  facts.users = users;
  facts.max_rank = 1024;
  facts.max_rounds = 1000;
  return facts;
}

RunParameters Parameters(const std::string& mechanism, std::uint32_t rank,
                         double epsilon, std::uint32_t rounds,
                         std::uint32_t rows = 0) {
  RunParameters parameters;
  parameters.dataset = "people";
  parameters.mechanism = mechanism;
  parameters.rank = rank;
  parameters.epsilon = epsilon;
  parameters.delta = 1e-5;
  parameters.rounds = rounds;
  parameters.moment_rows = rows;
  return parameters;
}

Forecast Of(const RunParameters& parameters, const DatasetFacts& facts) {
  return ForecastOf(PlanRun(parameters, facts).value(), parameters, facts);
}

double MuOf(double epsilon) {
  return std::sqrt(
      LargestCost(Conversion::kRdp, epsilon, 1e-5).value().ToDouble());
}

TEST(Forecast, OfMomentsIsTheNoisesEdge) {
  // 361 features of 2,429 people: 2 sqrt(361) / (2429 mu).
  const Forecast forecast =
      Of(Parameters("moments", 20, 1, 1, 361), Facts(361, 2429));
  EXPECT_NEAR(forecast.noise, 2 * 19 / (2429 * MuOf(1)), 1e-6);
  EXPECT_EQ(forecast.most_directions, 26);
  EXPECT_EQ(forecast.typical_directions, 3);
  EXPECT_EQ(forecast.reliable_parts, 3);
  EXPECT_TRUE(forecast.too_small);
  EXPECT_EQ(forecast.sentence.find("Expect about 3 parts you can rely on; you "
                                   "asked for 20."),
            0)
      << forecast.sentence;
}

// If nothing is taken out of v, the forecast for both releases is that of one
// release for the price of both.
TEST(Forecast, OfAimedCountsBothReleases) {
  RunParameters parameters = Parameters("aimed", 20, 1, 2, 361);
  parameters.share_of_moments = 0.3;
  const Forecast aimed = Of(parameters, Facts(361, 2429));
  const Forecast one =
      Of(Parameters("moments", 20, 1, 1, 361), Facts(361, 2429));
  EXPECT_NEAR(aimed.noise, one.noise, 1e-4 * one.noise);
  EXPECT_EQ(aimed.reliable_parts, one.reliable_parts);
}

TEST(Forecast, DoesNotDependOnTheUnitOfTheData) {
  DatasetFacts facts = Facts(361, 2429);
  const RunParameters parameters = Parameters("moments", 20, 1, 1, 361);
  const double noise = Of(parameters, facts).noise;
  facts.column_bound = 1000;
  EXPECT_NEAR(Of(parameters, facts).noise, noise, 1e-4 * noise);
}

// The epsilon that it names is just enough, and one a little below is not.
TEST(Forecast, NamesTheEpsilonThatTheRankNeeds) {
  const DatasetFacts facts = Facts(361, 2429);
  RunParameters parameters = Parameters("moments", 50, 1, 1, 361);
  const Forecast forecast = Of(parameters, facts);
  ASSERT_TRUE(forecast.too_small);
  EXPECT_GT(forecast.epsilon_needed, 1);
  EXPECT_NE(forecast.sentence.find("Try a rank of 3 or an epsilon of"),
            std::string::npos)
      << forecast.sentence;
  parameters.epsilon = forecast.epsilon_needed * 1.001;
  EXPECT_FALSE(Of(parameters, facts).too_small);
  parameters.epsilon = forecast.epsilon_needed * 0.99;
  EXPECT_TRUE(Of(parameters, facts).too_small);
}

// Faces at epsilon 2 (a measurement: 21 of 50 parts were more than one pixel).
TEST(Forecast, AdvisesNothingThatTheBudgetHasNoRoomFor) {
  DatasetFacts facts = Facts(361, 2429);
  facts.conversion = Conversion::kGaussian;
  RunParameters parameters = Parameters("moments", 50, 2, 1, 361);
  parameters.conversion = Conversion::kGaussian;
  const RunPlan plan = PlanRun(parameters, facts).value();
  const Forecast all = ForecastOf(plan, parameters, facts);
  EXPECT_EQ(all.reliable_parts, 5);
  ASSERT_GT(all.epsilon_needed, 16);
  const Forecast within = ForecastOf(plan, parameters, facts, 16);
  EXPECT_EQ(within.reliable_parts, 5);
  EXPECT_NE(within.sentence.find("Try a rank of 5 or an epsilon of 16, which "
                                 "is about all that is left ("),
            std::string::npos)
      << within.sentence;
  // The budget has no room for more than the requested epsilon.
  const Forecast none = ForecastOf(plan, parameters, facts, 2);
  EXPECT_NE(none.sentence.find("Try a rank of 5."), std::string::npos)
      << none.sentence;
}

TEST(Forecast, NoPartIsReliableWhereTheNoiseIsAboveAllSignal) {
  const Forecast forecast =
      Of(Parameters("moments", 3, 1e-3, 1, 64), Facts(64, 1797));
  EXPECT_EQ(forecast.reliable_parts, 0);
  EXPECT_TRUE(forecast.hopeless());
  EXPECT_EQ(forecast.sentence.find("Expect no part that you can rely on"), 0)
      << forecast.sentence;
  EXPECT_FALSE(
      Of(Parameters("objective", 3, 1e-3, 1), Facts(64, 1797)).hopeless());
}

TEST(Forecast, OfStatisticsIsTheAveragedNoiseOfB) {
  const DatasetFacts facts = Facts(64, 1797);
  const RunParameters one = Parameters("statistics", 16, 4, 1);
  const RunPlan plan = PlanRun(one, facts).value();
  const PartPlan& b = plan.stages[0].parts[1];
  const double stddev =
      std::ldexp(static_cast<double>(b.stddev_steps), b.step_exponent) / 1797;
  EXPECT_NEAR(Of(one, facts).noise, stddev * (8 + 4), 1e-12);
  // Thirty rounds at the price of one: sigma grows by sqrt(30), the average
  // takes back sqrt(3/4 30) or nearly so.
  const double thirty = Of(Parameters("statistics", 16, 4, 30), facts).noise;
  EXPECT_NEAR(thirty, Of(one, facts).noise * std::sqrt(4.0 / 3), 0.02 * thirty);
  EXPECT_EQ(Of(one, facts).typical_directions, 0);
}

TEST(Forecast, MorePeopleAreLessNoiseAndMoreDirections) {
  for (const std::string mechanism : {"moments", "statistics", "gradient"}) {
    const RunParameters parameters =
        Parameters(mechanism, 16, 1, mechanism == "moments" ? 1 : 10,
                   mechanism == "moments" ? 64 : 0);
    double noise = 1e300;
    std::uint32_t directions = 0;
    for (const std::uint64_t users : {20, 1000, 100'000, 10'000'000}) {
      const Forecast forecast = Of(parameters, Facts(64, users));
      EXPECT_LT(forecast.noise, noise) << mechanism;
      EXPECT_GE(forecast.most_directions, directions) << mechanism;
      EXPECT_FALSE(forecast.sentence.empty());
      noise = forecast.noise;
      directions = forecast.most_directions;
    }
    EXPECT_GE(directions, 16) << mechanism;
    EXPECT_TRUE(Of(parameters, Facts(64, 20)).too_small) << mechanism;
  }
}

TEST(Forecast, ARankAboveTheRowsIsNotMendedByAnEpsilon) {
  const Forecast forecast =
      Of(Parameters("moments", 9, 1, 2, 4), Facts(64, 1'000'000));
  EXPECT_TRUE(forecast.too_small);
  EXPECT_EQ(forecast.epsilon_needed, 0);
  EXPECT_NE(forecast.sentence.find("4 rows cannot distinguish 9 parts"),
            std::string::npos)
      << forecast.sentence;
}

TEST(Forecast, WritesLargeNumbersOut) {
  const Forecast forecast =
      Of(Parameters("moments", 16, 0.1, 1, 64), Facts(64, 20));
  EXPECT_GT(forecast.noise, 1);
  EXPECT_EQ(forecast.sentence.find("e+"), std::string::npos)
      << forecast.sentence;
}

TEST(Forecast, OfAnObjectiveIsEmpty) {
  const Forecast forecast =
      Of(Parameters("objective", 4, 1, 1), Facts(64, 1797));
  EXPECT_EQ(forecast.noise, 0);
  EXPECT_FALSE(forecast.too_small);
  EXPECT_TRUE(forecast.sentence.empty());
}

}  // namespace
}  // namespace dpnmf
