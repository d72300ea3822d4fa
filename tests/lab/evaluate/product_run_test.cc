#include "lab/evaluate/product_run.h"

#include <memory>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "lab/evaluate/data_view.h"
#include "tests/curator/factor/factor_fixtures.h"
#include "tests/lab/evaluate/evaluate_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

struct RunOfProduct {
  std::unique_ptr<Dataset> data;
  std::vector<GroupOfRun> people;
  DatasetFacts facts;
  RunParameters parameters;
};

RunOfProduct RunOn(const char* mechanism, double epsilon) {
  Eigen::MatrixXd v = GeneratedColumns(12, 300, 4, 1);
  for (auto column : v.colwise()) column.normalize();
  RunOfProduct run;
  run.data = DenseOf(v.cast<float>() * 0.999f);
  run.people.resize(1);
  run.people[0].data = run.data.get();
  run.facts = FactsOf(run.data->description());
  run.facts.max_rounds = kMaxRounds;
  run.parameters.mechanism = mechanism;
  run.parameters.rank = 3;
  run.parameters.rounds = 0;
  run.parameters.share_of_moments = run.parameters.share_of_mean = 0;
  run.parameters.epsilon = epsilon;
  run.parameters.delta = 1e-5;
  run.parameters.adjacency = run.facts.adjacency;
  run.parameters.conversion = run.facts.conversion;
  return run;
}

absl::StatusOr<analyst::LearnerState> StateAfter(RunOfProduct run,
                                                 Execution execution = {}) {
  DPNMF_ASSIGN_OR_RETURN(ProductRun product,
                         ProductRun::Create(run.parameters, run.facts,
                                            v1::LearnerOptions(), execution));
  SeededNoise noise(5);
  for (std::uint32_t round = 1; round <= product.parameters().rounds; ++round) {
    DPNMF_RETURN_IF_ERROR(product.Round(round, &run.people, nullptr, &noise));
  }
  return product.state();
}

// The lab has no code for `objective`: what the two sides of the product have
// of it is all that a run needs. With next to no noise it is the objective of
// W_0, but for the H step of few iterations.
TEST(ProductRun, RunsAMechanismThatTheLabDoesNotKnow) {
  const auto state = StateAfter(RunOn("objective", 1000));
  ASSERT_TRUE(state.ok()) << state.status();
  const analyst::Mechanism& mechanism =
      *analyst::Mechanisms().Find("objective");
  const RunOfProduct again = RunOn("objective", 1000);
  const DataView view(again.data.get());
  Eigen::MatrixXd h;
  const double exact = Objective(view, state->w, 1, &h);
  EXPECT_NEAR(mechanism.figure(*state)->value, exact, 0.05 * exact);
}

TEST(ProductRun, KeepsWhatTheAnalystKeeps) {
  const auto state = StateAfter(RunOn("aimed", 10));
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->memory.at("G").rows(), 12);
  EXPECT_EQ(state->memory.at("aimed").rows(), 12);
  EXPECT_TRUE(state->figures.explained.has_value());
}

TEST(ProductRun, IsTheSameForAnyNumberOfThreads) {
  for (const char* mechanism : {"moments", "statistics"}) {
    EXPECT_EQ(StateAfter(RunOn(mechanism, 4), {.threads = 1})->w,
              StateAfter(RunOn(mechanism, 4), {.threads = 3})->w)
        << mechanism;
  }
}

TEST(ProductRun, RefusesWhatThePlanRefuses) {
  RunOfProduct run = RunOn("moments", 4);
  run.parameters.rank = 0;
  EXPECT_EQ(ReasonCode(StateAfter(std::move(run)).status()),
            "rank-out-of-range");
}

}  // namespace
}  // namespace dpnmf::curator::lab
