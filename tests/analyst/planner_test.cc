#include "analyst/planning/planner.h"

#include <cmath>
#include <limits>

#include "common/base/error.h"
#include "common/nmf/defaults.h"
#include "common/wire/convert.h"
#include "common/wire/plan_refusal.h"
#include "gtest/gtest.h"
#include "tests/analyst/fake_curator.h"

namespace dpnmf::analyst {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class PlannerTest : public testing::Test {
 protected:
  std::string CodeOf(const v1::RunSpecification& specification) {
    return ReasonCode(PlanWithCurator(specification, &curator_).status());
  }
  FakeCurator curator_{FakeData(6, 40)};
};

TEST_F(PlannerTest, FillsDefaultsAndPricesWithoutSpending) {
  const auto planned = PlanWithCurator(FakeSpecification(3, 5), &curator_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const v1::PlanRunReply& reply = planned->reply;
  EXPECT_FALSE(reply.would_be_refused());
  EXPECT_EQ(reply.specification().parameters().adjacency(),
            v1::ADJACENCY_REPLACE_ONE);
  EXPECT_EQ(reply.specification().parameters().conversion(),
            v1::CONVERSION_RDP);
  EXPECT_EQ(reply.specification().parameters().inner_iterations(), 10u);
  EXPECT_EQ(reply.specification().learner().step_size(), 1);
  EXPECT_EQ(reply.specification().learner().steps_per_round(), 200u);
  EXPECT_EQ(reply.specification().learner().initialisation(),
            v1::INITIALISATION_RANDOM);
  EXPECT_GT(reply.plan().epsilons().rdp(), 0.99);
  EXPECT_LE(reply.plan().epsilons().rdp(), 1);
  ASSERT_EQ(reply.plan().stages(0).parts_size(), 2);
  EXPECT_GT(reply.plan().stages(0).parts(0).stddev(), 0);
  // left - cost, exactly.
  EXPECT_EQ(*FromProto(reply.left_after()),
            *MuSquared::Subtract(*FromProto(reply.position().left()),
                                 *FromProto(reply.plan().cost())));
  EXPECT_EQ(reply.epsilons_after().rdp(), reply.plan().epsilons().rdp());
  EXPECT_EQ(curator_.charges(), 0u);
  EXPECT_EQ(curator_.reserved(), MuSquared());
}

// Public facts only: facts of the data set, and the request.
TEST_F(PlannerTest, AutoChoosesByPublicFactsAndSaysWhy) {
  v1::Dataset dataset = curator_.dataset();
  v1::RunSpecification specification = FakeSpecification(3, 0, "auto");
  const auto chosen = [&] {
    return WithDefaults(specification, dataset).parameters().mechanism();
  };
  EXPECT_EQ(chosen(), "aimed");
  const auto planned = PlanWithCurator(specification, &curator_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_NE(planned->reply.reason().find("Two noised second moments"),
            std::string::npos)
      << planned->reply.reason();
  EXPECT_EQ(planned->reply.specification().parameters().mechanism(), "aimed");
  EXPECT_EQ(planned->reply.specification().parameters().rounds(), 2u);
  dataset.set_users(100'000'000);
  EXPECT_EQ(chosen(), "moments");
  dataset = curator_.dataset();
  dataset.set_partition("north");
  EXPECT_EQ(chosen(), "moments");
  dataset = curator_.dataset();
  dataset.mutable_federation()->set_members(2);
  EXPECT_EQ(chosen(), "moments");
  dataset = curator_.dataset();
  specification.mutable_parameters()->set_outliers(true);
  EXPECT_EQ(chosen(), "statistics");
  specification.mutable_parameters()->set_outliers(false);
  specification.mutable_learner()->add_rows(1);
  EXPECT_EQ(chosen(), "moments");
  specification = FakeSpecification(3, 5, "auto");
  EXPECT_EQ(chosen(), "statistics");
  dataset.mutable_ratings()->set_high_units(50'000);
  EXPECT_EQ(chosen(), "ratings");
}

// Before anything is opened: a curator learns the rows of a run with its second
// round alone.
TEST_F(PlannerTest, OfStoredSumsOnlyTheirMomentsArePlanned) {
  v1::Dataset dataset = curator_.dataset();
  ASSERT_EQ(dataset.features(), 6u);
  const v1::LedgerPosition position = curator_.GetLedger("toy", 0)->position();
  v1::RunSpecification specification = FakeSpecification(2, 0, "auto");
  const auto planned = [&] {
    return PlanFor(specification, dataset, position);
  };
  const auto code = [&] { return ReasonCode(planned().status()); };
  const auto rows_of = [&] {
    const auto rows = planned()->reply.specification().learner().rows();
    return std::vector<std::uint32_t>(rows.begin(), rows.end());
  };
  specification.mutable_parameters()->set_mechanism("moments");
  const int bits = planned()->reply.plan().data_bits();

  dataset.mutable_sums()->set_bits(bits);
  specification.mutable_parameters()->set_mechanism("auto");
  ASSERT_TRUE(planned().ok()) << planned().status();
  EXPECT_EQ(planned()->reply.specification().parameters().mechanism(),
            "moments");
  EXPECT_NE(planned()->reply.reason().find("no people"), std::string::npos);
  EXPECT_TRUE(rows_of().empty());
  specification.mutable_parameters()->set_moment_rows(2);
  EXPECT_EQ(code(), "sums-only");

  dataset.mutable_sums()->add_rows(1);
  dataset.mutable_sums()->add_rows(4);
  const std::vector<std::uint32_t> expected = {1, 4};
  for (const std::uint32_t asked : {0u, 2u}) {
    specification.mutable_parameters()->set_moment_rows(asked);
    ASSERT_TRUE(planned().ok()) << planned().status();
    const v1::RunParameters run = planned()->reply.specification().parameters();
    EXPECT_EQ(run.mechanism(), "moments");
    EXPECT_EQ(run.moment_rows(), 2u);
    EXPECT_EQ(run.rounds(), 2u);
    EXPECT_EQ(rows_of(), expected);
  }
  for (const auto& [mechanism, rounds] :
       {std::pair("statistics", 4u), std::pair("gradient", 4u),
        std::pair("aimed", 0u), std::pair("objective", 1u)}) {
    specification = FakeSpecification(2, rounds, mechanism);
    EXPECT_EQ(code(), "sums-only") << mechanism;
  }
  specification = FakeSpecification(2, 3, "moments");
  EXPECT_EQ(code(), "sums-only") << "rounds of statistics";
  specification = FakeSpecification(2, 0, "moments");
  specification.mutable_parameters()->set_moment_rows(3);
  EXPECT_EQ(code(), "sums-only");
  specification.mutable_parameters()->set_moment_rows(0);
  specification.mutable_learner()->add_rows(1);
  specification.mutable_learner()->add_rows(5);
  EXPECT_EQ(code(), "sums-only");
  EXPECT_NE(planned().status().message().find("--rows FILE"),
            std::string::npos);
  specification.mutable_learner()->set_rows(1, 4);
  EXPECT_EQ(code(), "");
  dataset.mutable_sums()->set_bits(bits - 1);
  EXPECT_EQ(code(), "sums-only");
}

TEST_F(PlannerTest, ForecastsWithoutAskingForMore) {
  v1::RunSpecification specification = FakeSpecification(3, 5);
  const auto planned = PlanWithCurator(specification, &curator_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  // Forty people at epsilon 1 are too few for rank 3.
  const v1::Forecast& forecast = planned->reply.forecast();
  EXPECT_GT(forecast.noise(), 0.1);
  EXPECT_LT(forecast.most_directions(), 3);
  EXPECT_TRUE(forecast.too_small());
  EXPECT_GT(forecast.epsilon_needed(), 1);
  EXPECT_FALSE(forecast.sentence().empty());
  specification.mutable_parameters()->set_mechanism("objective");
  specification.mutable_parameters()->set_rounds(1);
  const auto objective = PlanWithCurator(specification, &curator_);
  ASSERT_TRUE(objective.ok()) << objective.status();
  EXPECT_FALSE(objective->reply.has_forecast());
}

TEST_F(PlannerTest, RefusesARunOfWhichNoPartCanBeReliableUnlessAsked) {
  v1::RunSpecification specification = FakeSpecification(3, 5);
  specification.mutable_parameters()->set_epsilon(1e-3);
  specification.set_hopeless(false);
  const v1::PlanRunReply reply =
      PlanWithCurator(specification, &curator_)->reply;
  EXPECT_EQ(reply.forecast().reliable_parts(), 0u);
  EXPECT_TRUE(reply.would_be_refused());
  EXPECT_EQ(reply.refusal_code(), "run-hopeless");
  EXPECT_EQ(RefusalOf(reply).code(), absl::StatusCode::kFailedPrecondition);
  specification.set_hopeless(true);
  EXPECT_FALSE(
      PlanWithCurator(specification, &curator_)->reply.would_be_refused());
}

TEST_F(PlannerTest, SaysWhatLearningTakes) {
  v1::RunSpecification specification = FakeSpecification(2, 5);
  const v1::LearningEstimate small =
      PlanWithCurator(specification, &curator_)->reply.learning();
  specification.mutable_parameters()->set_rounds(10);
  const v1::LearningEstimate longer =
      PlanWithCurator(specification, &curator_)->reply.learning();
  // W, A and B in a few copies: 6 x 2 and 2 x 2 numbers.
  EXPECT_GE(small.memory_bytes(), 8 * (8 * 12 + 4));
  EXPECT_LE(small.memory_bytes(), 8 * 400u);
  EXPECT_EQ(small.memory_bytes(), longer.memory_bytes());
  EXPECT_NEAR(longer.seconds(), 2 * small.seconds(), 1e-12);
}

TEST_F(PlannerTest, SaysThatARunAboveTheBudgetWouldBeRefused) {
  v1::RunSpecification specification = FakeSpecification(3, 5);
  specification.mutable_parameters()->set_epsilon(11);
  const auto planned = PlanWithCurator(specification, &curator_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_TRUE(planned->reply.would_be_refused());
  EXPECT_EQ(planned->reply.refusal_code(), "budget-exhausted");
  EXPECT_NE(planned->reply.refusal().find("asked epsilon 11,"),
            std::string::npos)
      << planned->reply.refusal();
  EXPECT_NE(planned->reply.refusal().find("largest run 10,"), std::string::npos)
      << planned->reply.refusal();
  EXPECT_EQ(planned->reply.left_after().units(), "0");
  EXPECT_EQ(RefusalOf(planned->reply).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(PlannerTest, SaysThatARunAboveTheAnalystsOwnLimitWouldBeRefused) {
  v1::RunSpecification specification = FakeSpecification(3, 5);
  specification.mutable_parameters()->set_epsilon(2);
  const double delta = curator_.dataset().guarantee().delta();
  curator_.own_cap = LargestCost(Conversion::kRdp, 2, delta).value();
  EXPECT_FALSE(
      PlanWithCurator(specification, &curator_)->reply.would_be_refused());
  curator_.own_cap = LargestCost(Conversion::kRdp, 1.5, delta).value();
  const v1::PlanRunReply reply =
      PlanWithCurator(specification, &curator_)->reply;
  EXPECT_TRUE(reply.would_be_refused());
  EXPECT_EQ(reply.refusal_code(), "identity-budget-exhausted");
  for (const char* part : {"the own limit of this analyst on population "
                           "`people`: asked epsilon 2,",
                           "largest run 1.5, limit 1.5 "}) {
    EXPECT_NE(reply.refusal().find(part), std::string::npos) << reply.refusal();
  }
}

TEST_F(PlannerTest, TheWholeBudgetIsNotRefused) {
  v1::RunSpecification specification = FakeSpecification(3, 5);
  specification.mutable_parameters()->set_epsilon(10);
  EXPECT_FALSE(
      PlanWithCurator(specification, &curator_)->reply.would_be_refused());
}

TEST_F(PlannerTest, AMechanismThatLearnsNoDictionaryTellsAFigureOrDrawsPeople) {
  v1::Dataset dataset = curator_.dataset();
  dataset.mutable_classes()->add_names("left");
  dataset.mutable_classes()->add_names("right");
  const v1::LedgerPosition position = curator_.GetLedger("toy", 0)->position();
  const auto code = [&](const char* mechanism) {
    return ReasonCode(
        PlanFor(FakeSpecification(2, 1, mechanism), dataset, position)
            .status());
  };
  EXPECT_EQ(code("class_moments"), "");
  EXPECT_EQ(code("objective"), "");
  EXPECT_EQ(code("moments"), "");
}

TEST_F(PlannerTest, RefusesWhatNoCuratorWouldAccept) {
  struct Case {
    void (*change)(v1::RunSpecification*);
    const char* code;
  };
  const Case cases[] = {
      {[](auto* s) { s->mutable_parameters()->set_dataset("none"); },
       "dataset-unknown"},
      {[](auto* s) { s->mutable_parameters()->set_rank(0); },
       "rank-out-of-range"},
      {[](auto* s) { s->mutable_parameters()->set_rank(7); },
       "rank-out-of-range"},
      {[](auto* s) { s->mutable_parameters()->set_rounds(4'000'000'000); },
       "rounds-out-of-range"},
      {[](auto* s) {
         s->mutable_parameters()->set_mechanism("moments");
         s->mutable_parameters()->set_moment_rows(100);
       },
       "moment-rows-out-of-range"},
      {[](auto* s) {
         s->mutable_parameters()->set_mechanism("moments");
         s->mutable_parameters()->set_share_of_mean(1);
       },
       "share-out-of-range"},
      {[](auto* s) {
         s->mutable_parameters()->set_mechanism("moments");
         s->mutable_parameters()->set_moment_rows(1);
         s->mutable_parameters()->set_rounds(1);  // the mean and G
       },
       "rounds-out-of-range"},
      {[](auto* s) { s->mutable_parameters()->set_mechanism("objective"); },
       "rounds-out-of-range"},
      {[](auto* s) { s->mutable_parameters()->set_epsilon(kNan); },
       "epsilon-out-of-range"},
      {[](auto* s) { s->mutable_parameters()->set_epsilon(0); },
       "epsilon-out-of-range"},
      {[](auto* s) { s->mutable_parameters()->set_delta(1); },
       "delta-out-of-range"},
      {[](auto* s) { s->mutable_parameters()->set_delta(kNan); },
       "delta-out-of-range"},
      {[](auto* s) { s->mutable_parameters()->set_mechanism("magic"); },
       "mechanism-unknown"},
      {[](auto* s) { s->mutable_parameters()->set_share_of_a(kNan); },
       "share-out-of-range"},
      {[](auto* s) {
         s->mutable_parameters()->set_conversion(v1::CONVERSION_GAUSSIAN);
       },
       "conversion-mismatch"},
      {[](auto* s) { s->mutable_learner()->set_step_size(kNan); },
       "step-size-out-of-range"},
      {[](auto* s) { s->mutable_learner()->set_step_size(2.1); },
       "step-size-out-of-range"},
      {[](auto* s) { s->mutable_learner()->set_step_size(-1); },
       "step-size-out-of-range"},
      {[](auto* s) { s->mutable_learner()->set_steps_per_round(10'001); },
       "steps-out-of-range"},
      {[](auto* s) { s->mutable_learner()->set_non_negative(true); },
       "non-negative-refused"},
      {[](auto* s) {
         s->mutable_learner()->set_initialisation(
             static_cast<v1::Initialisation>(9));
       },
       "initialisation-unknown"},
      {[](auto* s) {
         s->mutable_learner()->set_loss(static_cast<v1::Loss>(9));
       },
       "loss-unknown"},
      {[](auto* s) { s->mutable_learner()->set_sparseness(kNan); },
       "sparseness-out-of-range"},
      {[](auto* s) {
         s->mutable_learner()->set_loss(v1::LOSS_KL);
         s->mutable_learner()->set_sparseness(0.5);
       },
       "loss-sparse"},
      // FakeSpecification is of statistics.
      {[](auto* s) { s->mutable_learner()->set_loss(v1::LOSS_KL); },
       "loss-unused"},
      {[](auto* s) {
         s->mutable_parameters()->set_mechanism("moments");
         s->mutable_learner()->set_sparseness(0.5);
       },
       "loss-unused"},  // rounds of statistics follow
  };
  for (const Case& test : cases) {
    v1::RunSpecification specification = FakeSpecification(3, 5);
    test.change(&specification);
    EXPECT_EQ(CodeOf(specification), test.code);
  }
}

}  // namespace
}  // namespace dpnmf::analyst
