#include <cmath>
#include <cstdint>
#include <numeric>

#include "common/ratings/learner.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

DatasetFacts Facts(std::uint64_t users, std::uint64_t items,
                   std::uint32_t features) {
  DatasetFacts facts;
  facts.name = "ratings";
  facts.population = "people";
  facts.features = items;
  facts.users = users;
  facts.conversion = Conversion::kGaussian;
  facts.max_rank = 128;
  facts.max_rounds = 100;
  facts.ratings = RatingScale{10000, 50000, features};
  return facts;
}

RunParameters Filled(const DatasetFacts& facts, double epsilon) {
  RunParameters parameters;
  parameters.mechanism = "ratings";
  parameters.epsilon = epsilon;
  parameters.delta = 1e-5;
  parameters.conversion = facts.conversion;
  FillRatingsDefaults(facts, &parameters);
  return parameters;
}

TEST(RatingsDefaultsTest, APlanExistsForEverySizeAndPrice) {
  for (const std::uint64_t users : {1ull, 50ull, 6040ull, 1ull << 30}) {
    for (const std::uint64_t items : {1ull, 10ull, 1682ull, 1'000'000ull}) {
      for (const std::uint32_t features : {0u, 20u, 1000u}) {
        for (const double epsilon : {1e-2, 1.0, 20.0, 1000.0}) {
          const DatasetFacts facts = Facts(users, items, features);
          const RunParameters parameters = Filled(facts, epsilon);
          EXPECT_TRUE(CheckRunParameters(parameters, facts).ok())
              << users << " " << items << " " << features << " " << epsilon
              << " " << CheckRunParameters(parameters, facts).message();
          if (epsilon >= 1) {
            EXPECT_TRUE(PlanRun(parameters, facts).ok())
                << users << " " << items << " " << features << " " << epsilon;
          }
          EXPECT_LE(parameters.moment_rows, items);
          EXPECT_LE(std::accumulate(parameters.shares.begin(),
                                    parameters.shares.end(), 0.0),
                    1 + 1e-12);
        }
      }
    }
  }
}

TEST(RatingsDefaultsTest, WhatIsGivenStays) {
  RunParameters parameters;
  parameters.mechanism = "ratings";
  parameters.epsilon = 4;
  parameters.delta = 1e-5;
  parameters.shares = {0.2, 0.2, 0.2, 0.2, 0.2};
  parameters.moment_rows = 17;
  parameters.profile_directions = 3;
  parameters.rank = 12;
  parameters.rounds = 9;
  const RunParameters given = parameters;
  FillRatingsDefaults(Facts(943, 1682, 20), &parameters);
  EXPECT_EQ(parameters, given);
}

// A share that shows nothing would be lost.
TEST(RatingsDefaultsTest, ResidualsAreAskedForWhereManyPeopleShowThem) {
  const auto share = [](std::uint64_t users, double epsilon) {
    return Filled(Facts(users, 1682, 20), epsilon).shares[3];
  };
  EXPECT_EQ(share(943, 1), 0);
  EXPECT_EQ(share(943, 20), 0);
  EXPECT_EQ(share(6040, 1), 0);
  EXPECT_GE(share(6040, 4), 0.1);
  EXPECT_GT(share(6040, 10), share(6040, 4));
  EXPECT_LE(share(1'000'000, 20), 0.2);
}

TEST(RatingsDefaultsTest, FewRoundsAreEnough) {
  for (std::uint32_t most = 1; most <= 7; ++most) {
    DatasetFacts facts = Facts(6040, 3706, 19);
    facts.max_rounds = most;
    const RunParameters parameters = Filled(facts, 10);
    EXPECT_LE(parameters.rounds, most);
    EXPECT_TRUE(PlanRun(parameters, facts).ok()) << most;
    facts.max_rounds = 100;
    facts.max_rank = most;
    EXPECT_TRUE(PlanRun(Filled(facts, 10), facts).ok()) << most;
  }
}

}  // namespace
}  // namespace dpnmf
