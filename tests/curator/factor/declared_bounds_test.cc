// A column bound that an import takes can be computed with in every plan.
#include <cmath>
#include <random>

#include "common/base/error.h"
#include "common/privacy/column_bound.h"
#include "common/privacy/run_plan.h"
#include "curator/data/dataset.h"
#include "curator/data/description.h"
#include "curator/factor/kernels/quantise.h"
#include "gtest/gtest.h"

namespace dpnmf::curator {
namespace {

DatasetDescription Declared(double bound) {
  DatasetDescription description;
  description.name = std::string("declared");
  description.population = std::string("people");
  description.features = 8;
  description.users = 1000;
  description.normalisation = Normalisation::kNone;
  description.column_bound = bound;
  description.epsilon = 1;
  description.delta = 1e-6;
  return description;
}

absl::StatusOr<RunPlan> PlanFor(const DatasetDescription& description) {
  RunParameters parameters;
  parameters.dataset = description.name;
  parameters.rank = 2;
  parameters.rounds = 3;
  parameters.epsilon = 1;
  parameters.delta = 1e-6;
  parameters.adjacency = description.adjacency;
  parameters.conversion = description.conversion;
  return PlanRun(parameters, FactsOf(description));
}

TEST(DeclaredBounds, WhatAnImportTakesHasALattice) {
  const auto seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-60, 30);
  std::vector<double> bounds = {kLeastColumnBound, kLargestColumnBound, 1};
  for (int i = 0; i < 2000; ++i) bounds.push_back(std::exp2(exponent(random)));
  int taken = 0;
  for (const double bound : bounds) {
    const DatasetDescription description = Declared(bound);
    if (!CheckDeclaration(description).ok()) continue;
    ++taken;
    const auto plan = PlanFor(description);
    ASSERT_TRUE(plan.ok()) << bound << ": " << plan.status();
    for (const int bits : {plan->coefficient_bits, plan->data_bits}) {
      const auto lattice = LatticeBoundsOf(bound, bits);
      EXPECT_TRUE(lattice.ok()) << bound << ": " << lattice.status();
    }
  }
  EXPECT_GE(taken, 3);
}

TEST(DeclaredBounds, ASmallerOneIsRefusedAtImportAndInAPlan) {
  for (const double bound :
       {std::nextafter(kLeastColumnBound, 0), 1e-10, 1e-30, 0.0, -1.0}) {
    const DatasetDescription description = Declared(bound);
    EXPECT_EQ(ReasonCode(CheckDeclaration(description)),
              "column-bound-out-of-range")
        << bound;
    EXPECT_EQ(ReasonCode(PlanFor(description).status()),
              "dataset-facts-invalid")
        << bound;
  }
}

}  // namespace
}  // namespace dpnmf::curator
