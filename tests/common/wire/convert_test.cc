#include "common/wire/convert.h"

#include <cmath>
#include <random>

#include "common/base/error.h"
#include "common/privacy/mechanism.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

DatasetFacts Digits() {
  DatasetFacts facts;
  facts.name = "digits";
  facts.population = "people";
  facts.features = 64;
  facts.users = 1797;
  facts.adjacency = Adjacency::kAddRemoveOne;
  facts.conversion = Conversion::kGaussian;
  facts.column_bound = 2;
  facts.max_rank = 64;
  facts.max_rounds = 1000;
  return facts;
}

RunParameters Parameters() {
  RunParameters parameters;
  parameters.dataset = "digits";
  parameters.rank = 10;
  parameters.rounds = 20;
  parameters.epsilon = 1.5;
  parameters.delta = 1e-5;
  parameters.mechanism = "gradient";
  parameters.outliers = true;
  parameters.lambda = 0.25;
  parameters.outlier_bound = 3;
  parameters.inner_iterations = 17;
  parameters.share_of_a = 0.3;
  parameters.moment_rows = 7;
  parameters.share_of_moments = 0.2;
  parameters.share_of_mean = 0.15;
  parameters.shares = {0.25, 0, 0.5};
  parameters.profile_directions = 4;
  parameters.adjacency = Adjacency::kAddRemoveOne;
  parameters.conversion = Conversion::kGaussian;
  return parameters;
}

TEST(Convert, CostsRoundTripExactly) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const Uint128 units =
        ((Uint128{random()} << 64) | random()) >> (8 + random() % 120);
    const MuSquared cost = MuSquared::FromUnits(units);
    const auto back = FromProto(ToProto(cost));
    ASSERT_TRUE(back.ok());
    ASSERT_EQ(*back, cost);
    ASSERT_EQ(ToProto(cost).value(), cost.ToDouble());
  }
}

TEST(Convert, RefusesACostThatIsNotAnInteger) {
  for (const char* units : {"", "-1", "+1", "1.5", "1e3", "01", "x", " 1",
                            "1329227995784915872903807060280344576"}) {
    v1::MuSquared message;
    message.set_units(units);
    EXPECT_EQ(ReasonCode(FromProto(message).status()), "cost-malformed")
        << units;
  }
}

TEST(Convert, EnumsRoundTripAndUnspecifiedIsRefused) {
  for (const Adjacency a : {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne,
                            Adjacency::kOneRating}) {
    EXPECT_EQ(*FromProto(ToProto(a)), a);
  }
  for (const Conversion c :
       {Conversion::kRdp, Conversion::kRdpOptimal, Conversion::kGaussian}) {
    EXPECT_EQ(*FromProto(ToProto(c)), c);
  }
  for (const int wrong : {0, 4, -1, 99}) {
    EXPECT_EQ(ReasonCode(FromProto(static_cast<v1::Adjacency>(wrong)).status()),
              "adjacency-mismatch");
    EXPECT_EQ(
        ReasonCode(FromProto(static_cast<v1::Conversion>(wrong)).status()),
        "conversion-mismatch");
  }
}

TEST(Convert, RunParametersRoundTrip) {
  const auto back = FromProto(ToProto(Parameters()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, Parameters());
}

// Every field of the message is set: a field added to the wire and forgotten
// here fails.
TEST(Convert, NoFieldOfRunParametersIsForgotten) {
  const v1::RunParameters message = ToProto(Parameters());
  const auto* type = message.GetDescriptor();
  std::vector<const google::protobuf::FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  EXPECT_EQ(static_cast<int>(set.size()), type->field_count());
}

TEST(Convert, AKnobHasTheNameAndTheNumberOfItsField) {
  const auto* const type = v1::RunParameters::descriptor();
  for (const Knob* knob : Knobs()) {
    const auto* const field = type->FindFieldByNumber(knob->field);
    ASSERT_NE(field, nullptr) << knob->name;
    EXPECT_EQ(field->name(), knob->name);
  }
}

TEST(Convert, NaNInParametersTravelsToTheCheckThatRefusesIt) {
  RunParameters parameters = Parameters();
  parameters.epsilon = std::nan("");
  const auto back = FromProto(ToProto(parameters));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(std::isnan(back->epsilon));
}

TEST(Convert, EpsilonsKeepTheirPlaces) {
  const v1::Epsilons message = ToProto(Epsilons{.delta = 1,
                                                .rdp = 2,
                                                .rdp_optimal = 3,
                                                .gaussian = 4,
                                                .rdp_order = 5,
                                                .rdp_optimal_order = 6});
  EXPECT_EQ(message.delta(), 1);
  EXPECT_EQ(message.rdp(), 2);
  EXPECT_EQ(message.rdp_optimal(), 3);
  EXPECT_EQ(message.gaussian(), 4);
  EXPECT_EQ(message.rdp_order(), 5);
  EXPECT_EQ(message.rdp_optimal_order(), 6);
}

TEST(Convert, FactsOfADatasetKeepTheirPlaces) {
  const DatasetFacts facts = Digits();
  v1::Dataset message;
  message.set_name(facts.name);
  message.set_population(facts.population);
  message.set_features(facts.features);
  message.set_users(facts.users);
  message.set_column_bound(facts.column_bound);
  message.set_max_rank(facts.max_rank);
  message.set_max_rounds(facts.max_rounds);
  EXPECT_EQ(ReasonCode(FactsOf(message).status()), "adjacency-mismatch");
  message.mutable_guarantee()->set_adjacency(ToProto(facts.adjacency));
  EXPECT_EQ(ReasonCode(FactsOf(message).status()), "conversion-mismatch");
  message.mutable_guarantee()->set_conversion(ToProto(facts.conversion));
  const auto back = FactsOf(message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->name, facts.name);
  EXPECT_EQ(back->population, facts.population);
  EXPECT_EQ(back->features, facts.features);
  EXPECT_EQ(back->users, facts.users);
  EXPECT_EQ(back->adjacency, facts.adjacency);
  EXPECT_EQ(back->conversion, facts.conversion);
  EXPECT_EQ(back->column_bound, facts.column_bound);
  EXPECT_EQ(back->max_rank, facts.max_rank);
  EXPECT_EQ(back->max_rounds, facts.max_rounds);
}

TEST(Convert, APlanIsShownInUnitsOfTheMeans) {
  const DatasetFacts facts = Digits();
  const RunParameters parameters = Parameters();
  const auto plan = PlanRun(parameters, facts);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto message = ToProto(*plan, parameters, facts);
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(*FromProto(message->cost()), plan->cost);
  EXPECT_EQ(*FromProto(message->stages(0).cost_per_round()),
            plan->stages[0].cost_per_round);
  EXPECT_EQ(message->epsilons().delta(), parameters.delta);
  EXPECT_EQ(message->epsilons().gaussian(),
            AllEpsilons(plan->cost, parameters.delta)->gaussian);
  EXPECT_LE(message->epsilons().gaussian(), parameters.epsilon);
  ASSERT_EQ(message->stages(0).parts_size(),
            static_cast<int>(plan->stages[0].parts.size()));
  for (int i = 0; i < message->stages(0).parts_size(); ++i) {
    const PartPlan& part = plan->stages[0].parts[i];
    const v1::PartPlan& shown = message->stages(0).parts(i);
    EXPECT_EQ(shown.name(), part.name);
    EXPECT_EQ(shown.shape().rows(), part.rows);
    EXPECT_EQ(shown.shape().columns(), part.columns);
    EXPECT_EQ(shown.layout(),
              part.symmetric ? v1::LAYOUT_UPPER : v1::LAYOUT_FULL);
    EXPECT_EQ(shown.stddev_steps(), part.stddev_steps);
    EXPECT_EQ(shown.diagonal_stddev_steps(), part.diagonal_stddev_steps);
    const double sigma_of_sum = static_cast<double>(part.stddev_steps) *
                                std::pow(2.0, part.step_exponent);
    EXPECT_NEAR(shown.stddev() * 1797, sigma_of_sum, 1e-12 * sigma_of_sum);
    EXPECT_EQ(shown.l2_sensitivity(), L2Sensitivity(part, facts.adjacency));
  }
}

TEST(Convert, APlanAtAnImpossibleDeltaIsRefused) {
  RunParameters parameters = Parameters();
  parameters.delta = std::nan("");
  EXPECT_FALSE(ToProto(RunPlan(), parameters, Digits()).ok());
}

TEST(Convert, APositionIsABudget) {
  v1::LedgerPosition position;
  *position.mutable_cap() = ToProto(MuSquared::FromUnits(10));
  *position.mutable_charged() = ToProto(MuSquared::FromUnits(3));
  *position.mutable_reserved() = ToProto(MuSquared::FromUnits(2));
  const absl::StatusOr<Budget> budget = FromProto(position);
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(Committed(*budget), MuSquared::FromUnits(5));
  EXPECT_EQ(RoomOf(*budget), MuSquared::FromUnits(5));
  EXPECT_EQ(RoomOf(position).value(), MuSquared::FromUnits(5));
  position.mutable_reserved()->set_units("-2");
  EXPECT_EQ(ReasonCode(FromProto(position).status()), "cost-malformed");
}

TEST(Convert, ARunMustFitThePopulationsBudgetAndTheCallersOwnLimit) {
  const auto set = [](std::uint64_t cap, std::uint64_t charged, auto* message) {
    *message->mutable_cap() = ToProto(MuSquared::FromUnits(cap));
    *message->mutable_charged() = ToProto(MuSquared::FromUnits(charged));
    *message->mutable_reserved() = ToProto(MuSquared::FromUnits(1));
  };
  v1::LedgerPosition position;
  set(10, 3, &position);
  set(6, 2, position.mutable_own_limit());
  EXPECT_EQ(RoomOf(position).value(), MuSquared::FromUnits(3));
  set(10, 2, position.mutable_own_limit());
  EXPECT_EQ(RoomOf(position).value(), MuSquared::FromUnits(6));
  // The operator has lowered it.
  set(2, 2, position.mutable_own_limit());
  EXPECT_EQ(RoomOf(position).value(), MuSquared());
  position.mutable_own_limit()->clear_cap();
  EXPECT_EQ(ReasonCode(RoomOf(position).status()), "cost-malformed");
}

}  // namespace
}  // namespace dpnmf
