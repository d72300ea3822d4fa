// `class_moments` from its plan to a paid release: neighbours against the
// sensitivity that is charged for, in integers, labels included; a person's
// bits; requests; a run over the wire.
#include "curator/factor/class_moments.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>

#include "analyst/curators/curator_client.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/privacy/class_bounds.h"
#include "common/wire/convert.h"
#include "curator/mechanism/mechanism.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/contribution_checks.h"
#include "tests/mechanism/analyst_fixture.h"

namespace dpnmf {
namespace {

constexpr float kLow = 0.125f, kHigh = 1;
constexpr int kD = 4;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Person {
  std::vector<float> column;
  std::int32_t label = 0;
};
using People = std::vector<Person>;

// Data of three classes, with a declared range or without.
curator::DatasetDescription DescriptionOf(std::size_t users, bool ranged,
                                          Adjacency adjacency) {
  curator::DatasetDescription description;
  description.name = description.population = "people";
  description.features = kD;
  description.users = users;
  description.normalisation = curator::Normalisation::kNone;
  description.column_bound = 2;
  description.adjacency = adjacency;
  description.conversion = Conversion::kGaussian;
  description.epsilon = 4;
  description.delta = 1e-5;
  description.classes = ClassFacts{.names = {"a", "b", "c"}};
  if (ranged) description.range = EntryRange{.low = kLow, .high = kHigh};
  return description;
}

RunParameters RunOf(Adjacency adjacency) {
  RunParameters parameters;
  parameters.dataset = "people";
  parameters.rank = 1;
  parameters.rounds = 1;
  parameters.epsilon = 1;
  parameters.delta = 1e-5;
  parameters.mechanism = "class_moments";
  parameters.adjacency = adjacency;
  parameters.conversion = Conversion::kGaussian;
  return parameters;
}

using Sums = std::vector<std::int64_t>;

// Through the mechanism's own release.
Sums SumsOf(const People& people, bool ranged, Adjacency adjacency,
            int threads = 1) {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  for (const Person& person : people) {
    values.insert(values.end(), person.column.begin(), person.column.end());
    labels.push_back(person.label);
  }
  const auto description =
      DescriptionOf(adjacency == Adjacency::kAddRemoveOne ? 5 : people.size(),
                    ranged, adjacency);
  const auto data =
      curator::Dataset::FromDense(description, values, labels).value();
  const RunParameters parameters = RunOf(adjacency);
  const RunPlan plan = PlanRun(parameters, FactsOf(description)).value();
  std::unique_ptr<curator::Coefficients> none;
  curator::Execution execution;
  execution.threads = threads;
  return curator::ReleaseKindOf("class moments")
      .sums(RoundInput(), {*data, parameters, plan, execution, &none})
      .value()
      .parts.at(0);
}

PartPlan PartOf(bool ranged, Adjacency adjacency) {
  const auto facts = FactsOf(DescriptionOf(5, ranged, adjacency));
  return PlanRun(RunOf(adjacency), facts).value().stages.at(0).parts.at(0);
}

People RandomPeopleOf(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> entry(0, 1.2f);
  People people;
  for (int n = 0; n < count; ++n) {
    Person person{std::vector<float>(kD), static_cast<std::int32_t>(n % 3)};
    for (float& value : person.column) value = entry(random);
    people.push_back(person);
  }
  return people;
}

// Corners of the range and of the ball, what no file contains, and zeros.
People HostilePeople() {
  const std::vector<std::vector<float>> columns = {{kHigh, kHigh, kHigh, kHigh},
                                                   {kHigh, kLow, kLow, kLow},
                                                   {kLow, kLow, kLow, kLow},
                                                   {2, 0, 0, 0},
                                                   {0, 2, 0, 0},
                                                   {0, 0, 0, 0},
                                                   {9, 9, 9, 9},
                                                   {kNan, 1, kInfinity, 1},
                                                   {-5, -5, -5, -5},
                                                   {1, 1, 1, 1.0001f}};
  People people;
  for (const auto& column : columns)
    for (std::int32_t label = 0; label < 3; label += 2)
      people.push_back({column, label});
  return people;
}

// The largest squared distance of neighbours over the squared sensitivity that
// the plan charges for.
double LargestShare(bool ranged, Adjacency adjacency, const People& candidates,
                    bool same_label_only = false) {
  People people = RandomPeopleOf(4, 5);
  const PartPlan part = PartOf(ranged, adjacency);
  const Uint128 charged = curator::SquaredSensitivity(part, adjacency);
  double largest = 0;
  const auto compare = [&](const Sums& x, const Sums& y) {
    const Uint128 distance = curator::SquaredDistance(part, x, y);
    EXPECT_LE(distance, charged);
    largest = std::max(
        largest, static_cast<double>(distance) / static_cast<double>(charged));
  };
  std::vector<Sums> sums;
  for (const Person& one : candidates) {
    people.push_back(one);
    sums.push_back(SumsOf(people, ranged, adjacency));
    people.pop_back();
  }
  if (adjacency == Adjacency::kAddRemoveOne) {
    const Sums without = SumsOf(people, ranged, adjacency);
    for (const Sums& with : sums) compare(with, without);
    return largest;
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!same_label_only || candidates[i].label == candidates[j].label)
        compare(sums[i], sums[j]);
  return largest;
}

class ClassMoments : public ::testing::TestWithParam<bool> {};

TEST_P(ClassMoments, Theorem4cNeighboursKeepTheChargedSensitivity) {
  const bool ranged = GetParam();
  for (const Adjacency adjacency :
       {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne}) {
    People candidates = HostilePeople();
    for (const Person& person : RandomPeopleOf(40, 9))
      candidates.push_back(person);
    // The bound is attained, up to the lattice.
    EXPECT_GT(LargestShare(ranged, adjacency, candidates), 0.9999);
  }
}

// Within one label only the centred vectors have opposite signs.
TEST(ClassMoments, Theorem4cIsAttainedWithinOneLabelToo) {
  EXPECT_GT(LargestShare(true, Adjacency::kReplaceOne, HostilePeople(), true),
            0.9999);
}

// Nobody else's data, place or thread changes what a person adds.
TEST_P(ClassMoments, APersonsBitsAreAFunctionOfThatPersonAlone) {
  const bool ranged = GetParam();
  const auto adds = [&](const Person& person, People others, std::size_t at,
                        int threads) {
    const Sums without =
        SumsOf(others, ranged, Adjacency::kAddRemoveOne, threads);
    others.insert(others.begin() + static_cast<std::ptrdiff_t>(at), person);
    Sums with = SumsOf(others, ranged, Adjacency::kAddRemoveOne, threads);
    for (std::size_t i = 0; i < with.size(); ++i) with[i] -= without[i];
    return with;
  };
  for (const Person& person : HostilePeople()) {
    const Sums alone = adds(person, RandomPeopleOf(1, 3), 0, 1);
    EXPECT_EQ(adds(person, RandomPeopleOf(300, 8), 150, 3), alone);
    EXPECT_EQ(adds(person, HostilePeople(), 7, 2), alone);
  }
}

// Against 128-bit loops over what the gate lets pass.
TEST_P(ClassMoments, SumsAreExact) {
  const bool ranged = GetParam();
  const People people = RandomPeopleOf(200, 21);
  const auto description =
      DescriptionOf(people.size(), ranged, Adjacency::kReplaceOne);
  const DatasetFacts facts = FactsOf(description);
  const RunPlan plan = PlanRun(RunOf(Adjacency::kReplaceOne), facts).value();
  const ClassBounds bounds = ClassBoundsOf(facts, plan.data_bits);
  EXPECT_GE(bounds.largest_entry, 1u << 9);
  EXPECT_LE(bounds.constant * bounds.constant, bounds.norm_bound / 2);
  constexpr int kSide = kD + 1;
  std::vector<__int128> expected(3 * kSide * kSide);
  for (const Person& person : people) {
    std::vector<double> scratch(kD);
    std::vector<std::int64_t> z(kSide);
    curator::GatedMember(facts, bounds, plan.data_bits, person.column, &scratch,
                         z);
    EXPECT_EQ(z[0], static_cast<std::int64_t>(bounds.constant));
    for (int d = 0; d < kD && ranged; ++d) {
      // No further than a step toward zero from the centred, cut entry.
      const double cut =
          std::clamp(static_cast<double>(person.column[d]) - (kLow + kHigh) / 2,
                     -(kHigh - kLow) / 2.0, (kHigh - kLow) / 2.0);
      EXPECT_NEAR(std::ldexp(static_cast<double>(z[d + 1]), -plan.data_bits),
                  cut, std::ldexp(1.0, -plan.data_bits));
    }
    for (int i = 0; i < kSide; ++i)
      for (int j = 0; j < kSide; ++j)
        expected[static_cast<std::size_t>((person.label * kSide + j) * kSide +
                                          i)] +=
            static_cast<__int128>(z[i]) * z[j];
  }
  const Sums sums = SumsOf(people, ranged, Adjacency::kReplaceOne);
  ASSERT_EQ(sums.size(), expected.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
    EXPECT_TRUE(sums[i] == expected[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Ranges, ClassMoments, ::testing::Bool());

TEST(ClassMomentsPlan, RefusesWhatItCannotRelease) {
  const Adjacency replace = Adjacency::kReplaceOne;
  DatasetFacts facts = FactsOf(DescriptionOf(100, true, replace));
  const auto code = [&](const RunParameters& parameters) {
    return ReasonCode(PlanRun(parameters, facts).status());
  };
  EXPECT_EQ(code(RunOf(replace)), "");
  RunParameters twice = RunOf(replace);
  twice.rounds = 2;
  EXPECT_EQ(code(twice), "rounds-out-of-range");
  facts.features = 2000;
  EXPECT_EQ(code(RunOf(replace)), "classes-too-large");
  facts.features = std::uint64_t{1} << 40;
  EXPECT_EQ(code(RunOf(replace)), "classes-too-large");
  facts.features = kD;
  facts.classes->sizes = {1, 2};
  EXPECT_EQ(code(RunOf(replace)), "dataset-facts-invalid");
  facts.classes->sizes.clear();
  facts.range->high = 2.5;
  EXPECT_EQ(code(RunOf(replace)), "dataset-facts-invalid");
  facts.range->high = std::nan("");
  EXPECT_EQ(code(RunOf(replace)), "dataset-facts-invalid");
  facts.range.reset();
  facts.classes.reset();
  EXPECT_EQ(code(RunOf(replace)), "classes-none");
}

// The price of sizes, means and second moments is one price: that of a
// replacement is twice that of an addition at the same noise.
TEST(ClassMomentsPlan, ChargesOnePriceForTheWholeBlock) {
  for (const bool ranged : {false, true}) {
    const PartPlan part = PartOf(ranged, Adjacency::kReplaceOne);
    const MuSquared replace =
        CostOfDrawing({part}, Adjacency::kReplaceOne).value();
    const MuSquared add =
        CostOfDrawing({part}, Adjacency::kAddRemoveOne).value();
    EXPECT_NEAR(replace.ToDouble(), 2 * add.ToDouble(), 1e-15);
    const double norm = static_cast<double>(part.left_norm_steps);
    const double sigma = static_cast<double>(part.stddev_steps);
    EXPECT_NEAR(replace.ToDouble(), 2 * norm * norm / (sigma * sigma), 1e-9);
    EXPECT_EQ(part.rows, kD + 1u);
    EXPECT_EQ(part.columns, 3 * (kD + 1u));
  }
}

// ------------------------------------------------------------- over the wire

class ClassMomentsRun : public AnalystFixture {
 protected:
  ClassMomentsRun() {
    std::vector<std::unique_ptr<curator::Dataset>> datasets;
    datasets.push_back(Labelled());
    datasets.push_back(curator::PlantedDataset("hidden", "others"));
    catalog_ = curator::Catalog::FromDatasets(std::move(datasets));
  }

  // The planted data set; people have the label of their part, two of them.
  static std::unique_ptr<curator::Dataset> Labelled() {
    const auto planted = curator::PlantedDataset("planted", "people");
    curator::DatasetDescription description = planted->description();
    description.classes = ClassFacts{.names = {"one", "other"}};
    std::vector<float> values;
    std::vector<std::int32_t> labels;
    for (std::uint64_t n = 0; n < curator::kUsers; ++n) {
      const auto column = planted->DenseColumn(n);
      values.insert(values.end(), column.begin(), column.end());
      labels.push_back(n % 3 == 0 ? 0 : 1);
    }
    return curator::Dataset::FromDense(description, values, labels).value();
  }

  static v1::RunSpecification Specification() {
    RunParameters parameters = curator::SmallRun();
    parameters.mechanism = "class_moments";
    parameters.rounds = 0;
    v1::RunSpecification specification;
    *specification.mutable_parameters() = ToProto(parameters);
    return specification;
  }
};

TEST_F(ClassMomentsRun, RunsFromThePlanToAPaidRelease) {
  const analyst::PlannedRun planned =
      analyst::PlanWithCurator(Specification(), connection_.get()).value();
  ASSERT_EQ(planned.dataset.classes().names_size(), 2);
  EXPECT_EQ(planned.dataset.classes().names(1), "other");
  EXPECT_EQ(planned.dataset.classes().sizes_size(), 0);
  const std::string id =
      manager_->Start(planned, std::nullopt, "dns:alice")->run_id();
  const v1::Run run = Await(id);
  ASSERT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
  EXPECT_EQ(ledger_->PositionOf("people").value().charged.UnitsText(),
            run.plan().cost().units());

  // The noised sums, within 8 sigma of the exact ones (1.3e-15 an entry).
  const auto memory = store_->ReadLearner(id).value().memory;
  const Eigen::MatrixXd& z = memory.at("Z");
  const double stddev = memory.at("Z stddev")(0, 0);
  const v1::PartPlan& part = run.plan().stages(0).parts(0);
  EXPECT_NEAR(stddev,
              std::ldexp(static_cast<double>(part.stddev_steps()),
                         part.step_exponent()),
              1e-9 * stddev);
  const auto data = Labelled();
  const DatasetFacts facts = FactsOf(data->description());
  const Sums exact = curator::ComputeClassMoments(*data, run.plan().data_bits(),
                                                  curator::Execution())
                         .value();
  ASSERT_EQ(static_cast<std::size_t>(z.size()), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(
        z.reshaped()(static_cast<Eigen::Index>(i)),
        std::ldexp(static_cast<double>(exact[i]), -2 * run.plan().data_bits()),
        8 * stddev);
  }
}

TEST_F(ClassMomentsRun, ARequestThatCarriesAnythingIsRefusedUncharged) {
  const curator::SessionContext context = {
      ledger_.get(), gate_.get(), &catalog_, access_.get(), &locks_, 1};
  curator::Session session(context, {"dns:analyst"});
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = "class_moments";
  parameters.rounds = 1;
  ASSERT_TRUE(
      session.Open("0123456789abcdef0123456789abcdef", parameters).ok());
  RoundInput dictionary;
  dictionary.w = Eigen::MatrixXd::Ones(curator::kFeatures, 3);
  EXPECT_EQ(ReasonCode(session.Round(1, dictionary).status()), "matrix-shape");
  RoundInput rows;
  rows.rows = {0, 1};
  EXPECT_EQ(ReasonCode(session.Round(1, rows).status()), "rows-malformed");
  RoundInput numbers;
  numbers.numbers = {1};
  EXPECT_EQ(ReasonCode(session.Round(1, numbers).status()),
            "numbers-malformed");
  EXPECT_EQ(ReasonCode(session.Round(2, RoundInput()).status()),
            "round-out-of-range");
  EXPECT_EQ(ledger_->PositionOf("people").value().charged, MuSquared());
  EXPECT_TRUE(session.Round(1, RoundInput()).ok());
}

TEST_F(ClassMomentsRun, ADataSetWithoutClassesRefusesItAtTheCurator) {
  access_ = curator::AccessControl::FromGrants(
      {{"dns:analyst", {Role::kAnalyst}, {"hidden"}, false, {}}});
  const curator::SessionContext context = {
      ledger_.get(), gate_.get(), &catalog_, access_.get(), &locks_, 1};
  curator::Session session(context, {"dns:analyst"});
  RunParameters parameters = curator::SmallRun();
  parameters.dataset = "hidden";
  parameters.mechanism = "class_moments";
  parameters.rounds = 1;
  EXPECT_EQ(
      ReasonCode(session.Open("0123456789abcdef0123456789abcdef", parameters)
                     .status()),
      "classes-none");
}

}  // namespace
}  // namespace dpnmf
