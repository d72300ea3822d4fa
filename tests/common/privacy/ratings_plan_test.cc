// The plan of a run of `ratings`: stages, shares, prices, refusals.
#include <cmath>
#include <vector>

#include "common/base/error.h"
#include "common/privacy/ratings_bounds.h"
#include "common/privacy/run_plan.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

constexpr RatingScale kStars = {.low_units = 10'000, .high_units = 50'000};
constexpr Adjacency kAdjacencies[] = {
    Adjacency::kReplaceOne, Adjacency::kAddRemoveOne, Adjacency::kOneRating};

DatasetFacts RatedFacts(Adjacency adjacency = Adjacency::kReplaceOne) {
  DatasetFacts facts;
  facts.name = facts.population = "people";
  facts.features = 500;
  facts.users = 900;
  facts.adjacency = adjacency;
  facts.conversion = Conversion::kGaussian;
  facts.max_rank = 100;
  facts.max_rounds = 1000;
  facts.ratings = kStars;
  return facts;
}

RunParameters RatedParameters(Adjacency adjacency = Adjacency::kReplaceOne) {
  RunParameters parameters;
  parameters.dataset = "people";
  parameters.mechanism = "ratings";
  parameters.rank = 12;
  parameters.rounds = 6;
  parameters.epsilon = 4;
  parameters.delta = 1e-5;
  parameters.shares = {0.35, 0.1, 0.05, 0.2, 0.3};
  parameters.moment_rows = 60;
  parameters.profile_directions = 4;
  parameters.adjacency = adjacency;
  parameters.conversion = Conversion::kGaussian;
  return parameters;
}

std::string CodeOf(const RunParameters& parameters, const DatasetFacts& facts) {
  return ReasonCode(CheckRunParameters(parameters, facts));
}

// Delta^2 in units of the sum.
double SquaredDelta(const PartPlan& part, Adjacency adjacency) {
  const double delta = L2Sensitivity(part, adjacency);
  return delta * delta;
}

TEST(RatingsPlan, StagesStandInTheirOrderAndHaveTheirShares) {
  for (const Adjacency adjacency : kAdjacencies) {
    const RunParameters parameters = RatedParameters(adjacency);
    const RunPlan plan = PlanRun(parameters, RatedFacts(adjacency)).value();
    ASSERT_EQ(plan.stages.size(), 5u);
    const char* const names[] = {"items", "co-ratings", "profiles", "residuals",
                                 "corrections"};
    const double whole =
        LargestCost(Conversion::kGaussian, 4, 1e-5)->ToDouble();
    for (std::size_t i = 0; i < 5; ++i) {
      const StagePlan& stage = plan.stages[i];
      EXPECT_EQ(stage.release, names[i]);
      EXPECT_EQ(stage.rounds, i == 2 ? 2u : 1u);
      const double cost = stage.cost_per_round.ToDouble() * stage.rounds;
      EXPECT_LE(cost, parameters.shares[i] * whole * (1 + 1e-12)) << i;
      EXPECT_GE(cost, parameters.shares[i] * whole * 0.999) << i;
    }
    EXPECT_LE(plan.cost.ToDouble(), whole);
    const auto expect_shape = [&](std::size_t stage, std::size_t part,
                                  const char* name, std::uint64_t rows,
                                  std::uint64_t columns, bool symmetric) {
      const PartPlan& is = plan.stages[stage].parts.at(part);
      EXPECT_EQ(is.name, name);
      EXPECT_EQ(is.rows, rows);
      EXPECT_EQ(is.columns, columns);
      EXPECT_EQ(is.symmetric, symmetric);
    };
    expect_shape(0, 0, "mean", 2, 1, false);
    expect_shape(0, 1, "items", 500, 2, false);
    expect_shape(1, 0, "C", 60, 60, true);
    expect_shape(2, 0, "P", 12, 12, true);
    expect_shape(3, 0, "S", 60, 60, true);
    expect_shape(4, 0, "B", 500, 5, false);
    expect_shape(4, 1, "A", 5, 5, true);
  }
}

TEST(RatingsPlan, WhatHasNoShareIsLeftOut) {
  RunParameters parameters = RatedParameters();
  parameters.shares = {1, 0, 0, 0, 0};
  parameters.rounds = 1;
  parameters.moment_rows = 0;
  parameters.profile_directions = 1000;
  const RunPlan plan = PlanRun(parameters, RatedFacts()).value();
  ASSERT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0].release, "items");
  parameters.rounds = 2;
  EXPECT_EQ(CodeOf(parameters, RatedFacts()), "rounds-out-of-range");
  parameters = RatedParameters();
  parameters.rounds = 4;
  EXPECT_EQ(CodeOf(parameters, RatedFacts()), "rounds-out-of-range");
  parameters.shares[2] = 0;
  EXPECT_EQ(CodeOf(parameters, RatedFacts()), "");
  EXPECT_EQ(PlanRun(parameters, RatedFacts())->stages.size(), 4u);
}

TEST(RatingsPlan, ParametersOutOfRangeAreRefused) {
  const DatasetFacts facts = RatedFacts();
  ASSERT_EQ(CodeOf(RatedParameters(), facts), "");
  RunParameters parameters = RatedParameters();
  for (const std::vector<double>& shares :
       std::vector<std::vector<double>>{{},
                                        {1},
                                        {0, 0.5, 0.1, 0.1, 0.1},
                                        {0.5, 0.5, 0.1, 0, 0},
                                        {0.5, -0.1, 0, 0, 0},
                                        {0.5, std::nan(""), 0, 0, 0},
                                        {std::nan(""), 0, 0, 0, 0},
                                        {0.1, HUGE_VAL, 0, 0, 0},
                                        {0.1, 0, 0, 0, 0, 0}}) {
    parameters.shares = shares;
    EXPECT_EQ(CodeOf(parameters, facts), "share-out-of-range");
  }
  for (const std::uint32_t rows : {0u, 501u}) {
    parameters = RatedParameters();
    parameters.moment_rows = rows;
    EXPECT_EQ(CodeOf(parameters, facts), "moment-rows-out-of-range");
  }
  parameters = RatedParameters();
  parameters.profile_directions = 12;
  EXPECT_EQ(CodeOf(parameters, facts), "profile-directions-out-of-range");
  parameters.profile_directions = 11;
  EXPECT_EQ(CodeOf(parameters, facts), "");
}

// Both parties refuse: the check is part of planning.
TEST(RatingsPlan, MechanismAndDataSetMustFit) {
  DatasetFacts counts = RatedFacts();
  counts.ratings.reset();
  EXPECT_EQ(CodeOf(RatedParameters(), counts), "mechanism-mismatch");
  EXPECT_EQ(ReasonCode(PlanRun(RatedParameters(), counts).status()),
            "mechanism-mismatch");
  for (const char* name : {"statistics", "gradient", "moments", "objective"}) {
    RunParameters parameters = RatedParameters();
    parameters.mechanism = name;
    parameters.rounds = parameters.mechanism == "moments" ? 2 : 1;
    EXPECT_EQ(CodeOf(parameters, RatedFacts()), "mechanism-mismatch") << name;
    // one_rating has a meaning for ratings alone.
    parameters.adjacency = counts.adjacency = Adjacency::kOneRating;
    EXPECT_EQ(CodeOf(parameters, counts), "adjacency-mismatch") << name;
    counts.adjacency = Adjacency::kReplaceOne;
    EXPECT_EQ(CodeOf(parameters, counts), "adjacency-mismatch") << name;
  }
  for (const RatingScale& scale :
       {RatingScale{5, 5}, RatingScale{6, 5}, RatingScale{-1'000'000'001, 0},
        RatingScale{0, 1'000'000'001}}) {
    DatasetFacts facts = RatedFacts();
    facts.ratings = scale;
    EXPECT_EQ(CodeOf(RatedParameters(), facts), "dataset-facts-invalid");
  }
}

// The sensitivities of docs/reference/privacy.md, in units of ratings: R = 4.
TEST(RatingsPlan, SensitivitiesAreThoseOfTheTheorems) {
  constexpr double kR = 4, kTau = 2, kT = 1.5, kA = 0.75, kC = 0.75, kCz = 1;
  const double c_h2 = 1.25, c_p = 1 + std::sqrt(12.0);
  for (const Adjacency adjacency : kAdjacencies) {
    const RunPlan plan =
        PlanRun(RatedParameters(adjacency), RatedFacts(adjacency)).value();
    const bool add = adjacency == Adjacency::kAddRemoveOne;
    const auto expect = [&](std::size_t stage, std::size_t part,
                            double square) {
      EXPECT_NEAR(
          SquaredDelta(plan.stages[stage].parts.at(part), adjacency) / square,
          1, 1e-4)
          << stage << " " << part;
    };
    expect(0, 0, add ? kTau * kTau : kR * kR);
    switch (adjacency) {
      case Adjacency::kReplaceOne:
        expect(0, 1,
               2 * kA * kA + 4 * kC * kC - 2 * kA * kA * kC * kC / kT / kT);
        break;
      case Adjacency::kAddRemoveOne:
        expect(0, 1, kA * kA + kC * kC);
        break;
      case Adjacency::kOneRating: {
        expect(0, 1, kR * kR);
        // R + 2^-q sqrt(D), never less.
        const PartPlan& items = plan.stages[0].parts[1];
        EXPECT_GE(L2Sensitivity(items, adjacency),
                  kR + std::ldexp(std::sqrt(500.0), items.step_exponent));
      }
    }
    const double pair = add ? 1 : 2;  // sqrt(2) of psd matrices, squared
    expect(1, 0, pair);
    expect(2, 0, pair * c_p * c_p);
    expect(3, 0, pair * kCz * kCz * kCz * kCz);
    expect(4, 0, (add ? 1 : 4) * kCz * kCz * c_h2);
    expect(4, 1, pair * c_h2 * c_h2);
  }
}

// Any declared range and any number of people leave room for the sums.
TEST(RatingsPlan, EveryRangeAndSizeCanBePlanned) {
  for (const RatingScale& scale :
       {kStars, RatingScale{0, 1},
        RatingScale{-kLargestDeclaredUnits, kLargestDeclaredUnits},
        RatingScale{-1, 3}}) {
    for (const std::uint64_t users :
         {std::uint64_t{30}, std::uint64_t{1} << 40}) {
      for (const Adjacency adjacency : kAdjacencies) {
        DatasetFacts facts = RatedFacts(adjacency);
        facts.ratings = scale;
        facts.users = users;
        const auto plan = PlanRun(RatedParameters(adjacency), facts);
        ASSERT_TRUE(plan.ok()) << plan.status();
        const double range = (static_cast<double>(scale.high_units) -
                              static_cast<double>(scale.low_units)) *
                             kRatingUnit;
        EXPECT_GE(std::ldexp(range, -plan->stages[0].parts[1].step_exponent),
                  512);
        const double least = RatingsBoundsOf(scale, adjacency).a;
        EXPECT_LE(least, range);
      }
    }
  }
}

TEST(RatingsBounds, TheMaskIsNeverAboveTheRatings) {
  const RatingsBounds person = RatingsBoundsOf(kStars, Adjacency::kReplaceOne);
  EXPECT_LE(person.clip, person.tau);
  EXPECT_LE(person.a, person.clip);
  EXPECT_LE(person.c, person.clip);
  const RatingsBounds one = RatingsBoundsOf(kStars, Adjacency::kOneRating);
  EXPECT_LE(2 * one.a * one.a, 16);
  EXPECT_GT(2 * one.a * one.a, 15.99);
}

}  // namespace
}  // namespace dpnmf
