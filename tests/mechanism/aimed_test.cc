// `aimed` from its plan to a paid release: neighbours against the sensitivity
// that is charged for, in integers, whatever the request names; a person's
// bits; exact sums; requests; a run over the wire.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "analyst/curators/curator_client.h"
#include "analyst/planning/planner.h"
#include "analyst/runs/run_manager.h"
#include "analyst/runs/sent_release.h"
#include "common/base/error.h"
#include "common/learning/mechanism.h"
#include "common/learning/paid_release.h"
#include "common/learning/release_facts.h"
#include "common/learning/round_facts.h"
#include "common/learning/standard_errors.h"
#include "common/moments/moments.h"
#include "common/privacy/accounting.h"
#include "common/privacy/aim.h"
#include "common/wire/convert.h"
#include "curator/factor/aimed_moments.h"
#include "curator/factor/ratings_person.h"
#include "curator/mechanism/mechanism.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/contribution_checks.h"
#include "tests/mechanism/analyst_fixture.h"

namespace dpnmf {
namespace {

constexpr int kAimedFeatures = 5;
constexpr float kAimedNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kAimedInfinity = std::numeric_limits<float>::infinity();

using Columns = std::vector<std::vector<float>>;
using Triangle = std::vector<std::int64_t>;

curator::DatasetDescription AimedDescription(std::size_t users,
                                             Adjacency adjacency) {
  curator::DatasetDescription description;
  description.name = description.population = "people";
  description.features = kAimedFeatures;
  description.users = users;
  description.normalisation = curator::Normalisation::kNone;
  description.column_bound = 1;
  description.adjacency = adjacency;
  description.conversion = Conversion::kGaussian;
  description.epsilon = 4;
  description.delta = 1e-5;
  return description;
}

RunParameters AimedRun(Adjacency adjacency) {
  RunParameters parameters;
  parameters.dataset = "people";
  parameters.rank = 3;
  parameters.rounds = 2;
  parameters.epsilon = 1;
  parameters.delta = 1e-5;
  parameters.mechanism = "aimed";
  parameters.moment_rows = kAimedFeatures;
  parameters.share_of_moments = 0.3;
  parameters.share_of_mean = 0.1;
  parameters.adjacency = adjacency;
  parameters.conversion = Conversion::kGaussian;
  return parameters;
}

// On all rows.
RoundInput AimAt(const Eigen::MatrixXd& directions, double scale) {
  RoundInput input;
  for (Eigen::Index row = 0; row < directions.rows(); ++row)
    input.rows.push_back(static_cast<std::uint32_t>(row));
  input.w = directions;
  input.numbers = {scale};
  return input;
}

PartPlan AimedPart(Adjacency adjacency) {
  return PlanRun(AimedRun(adjacency), FactsOf(AimedDescription(6, adjacency)))
      .value()
      .stages.at(1)
      .parts.at(0);
}

// Through the mechanism's own release.
Triangle AimedSums(const Columns& people, const RoundInput& input,
                   Adjacency adjacency, int threads = 1, bool sparse = false) {
  const auto description = AimedDescription(
      adjacency == Adjacency::kAddRemoveOne ? 6 : people.size(), adjacency);
  std::unique_ptr<curator::Dataset> data;
  if (sparse) {
    std::vector<std::int64_t> starts = {0};
    std::vector<std::int32_t> rows;
    std::vector<float> values;
    for (const auto& column : people) {
      for (std::size_t row = 0; row < column.size(); ++row) {
        if (column[row] == 0) continue;
        rows.push_back(static_cast<std::int32_t>(row));
        values.push_back(column[row]);
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    data =
        curator::Dataset::FromSparse(description, starts, rows, values).value();
  } else {
    std::vector<float> values;
    for (const auto& column : people)
      values.insert(values.end(), column.begin(), column.end());
    data = curator::Dataset::FromDense(description, values).value();
  }
  const RunParameters parameters = AimedRun(adjacency);
  // One for each number of people: planning takes longer than the sums.
  static std::map<std::pair<std::uint64_t, Adjacency>, RunPlan> plans;
  auto planned = plans.find({description.users, adjacency});
  if (planned == plans.end()) {
    planned = plans
                  .emplace(std::pair(description.users, adjacency),
                           PlanRun(parameters, FactsOf(description)).value())
                  .first;
  }
  const RunPlan& plan = planned->second;
  std::unique_ptr<curator::Coefficients> none;
  curator::Execution execution;
  execution.threads = threads;
  return curator::ReleaseKindOf("aimed")
      .sums(input, {*data, parameters, plan, execution, &none})
      .value()
      .parts.at(0);
}

Columns RandomColumns(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> entry(0, 0.8f);
  Columns people(static_cast<std::size_t>(count),
                 std::vector<float>(kAimedFeatures));
  for (auto& column : people)
    for (float& value : column) value = entry(random);
  return people;
}

Columns HostileColumns() {
  return {{1, 0, 0, 0, 0},
          {0, 1, 0, 0, 0},
          {0, 0, 0, 0, 1},
          {0, 0, 0, 0, 0},
          {9, 9, 9, 9, 9},
          {1e30f, 0, 1e30f, 0, 0},
          {kAimedNan, 1, 1, 1, 1},
          {kAimedInfinity, 0, 0, 0, 0},
          {-1, -1, -1, 5, -1},
          {1e-30f, 0, 0, 0, 0},
          {0.4472136f, 0.4472136f, 0.4472136f, 0.4472136f, 0.4472136f}};
}

// Ordinary ones, and whatever the check lets through.
std::vector<RoundInput> HostileAims() {
  Eigen::MatrixXd one = Eigen::MatrixXd::Zero(kAimedFeatures, 1);
  one(4, 0) = 0.9;
  const Eigen::MatrixXd ones = Eigen::MatrixXd::Constant(
      kAimedFeatures, 3, std::sqrt(0.5 / kAimedFeatures));
  Eigen::MatrixXd signs = Eigen::MatrixXd::Constant(kAimedFeatures, 2, -2);
  signs.col(1).setConstant(2);
  std::vector<RoundInput> aims = {AimAt(one, 1),     AimAt(one, 3),
                                  AimAt(ones, 1.7),  AimAt(ones, 0.2),
                                  AimAt(signs, 1e3), AimAt(signs, 1e-3),
                                  AimAt(0 * one, 1), AimAt(0 * one, 1e3)};
  // And what it does not.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double entry :
       {nan, infinity, -infinity, 1e300, -1e300, 5e-324, 1e-310, 1e-13}) {
    Eigen::MatrixXd u = one;
    u(1, 0) = entry;
    aims.push_back(AimAt(u, 1.5));
    u.setConstant(entry);
    aims.push_back(AimAt(u, 1));
  }
  for (const double scale :
       {0.0, -1.0, nan, infinity, -infinity, 1e300, 5e-324})
    aims.push_back(AimAt(one, scale));
  aims.push_back(AimAt(one.leftCols(0), 1.3));
  return aims;
}

TEST(Aimed, Theorem4dNeighboursKeepTheChargedSensitivity) {
  Columns candidates = HostileColumns();
  for (const auto& column : RandomColumns(20, 9)) candidates.push_back(column);
  for (const Adjacency adjacency :
       {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne}) {
    const PartPlan part = AimedPart(adjacency);
    const Uint128 charged = curator::SquaredSensitivity(part, adjacency);
    double largest = 0;
    for (const RoundInput& aim : HostileAims()) {
      Columns people = RandomColumns(5, 5);
      std::vector<Triangle> sums;
      if (adjacency == Adjacency::kAddRemoveOne)
        sums.push_back(AimedSums(people, aim, adjacency));
      for (const auto& one : candidates) {
        people.push_back(one);
        sums.push_back(AimedSums(people, aim, adjacency));
        people.pop_back();
      }
      const std::size_t others =
          adjacency == Adjacency::kAddRemoveOne ? 1 : sums.size();
      for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t j = 0; j < std::min(i, others); ++j) {
          const Uint128 distance =
              curator::SquaredDistance(part, sums[i], sums[j]);
          EXPECT_LE(distance, charged);
          largest = std::max(largest, static_cast<double>(distance) /
                                          static_cast<double>(charged));
        }
      }
    }
    // The bound is attained, up to the lattice.
    EXPECT_GT(largest, 0.9999);
  }
}

// Nobody else's data, place or thread changes what a person adds, nor whether
// the zeros of a column are stored.
TEST(Aimed, APersonsBitsAreAFunctionOfThatPersonAlone) {
  const Adjacency adjacency = Adjacency::kAddRemoveOne;
  for (const RoundInput& aim : HostileAims()) {
    const auto adds = [&](const std::vector<float>& person, Columns others,
                          std::size_t at, int threads, bool sparse) {
      const Triangle without =
          AimedSums(others, aim, adjacency, threads, sparse);
      others.insert(others.begin() + static_cast<std::ptrdiff_t>(at), person);
      Triangle with = AimedSums(others, aim, adjacency, threads, sparse);
      for (std::size_t i = 0; i < with.size(); ++i) with[i] -= without[i];
      return with;
    };
    Columns persons = HostileColumns();
    persons.push_back(RandomColumns(1, 77)[0]);
    for (const auto& person : persons) {
      const Triangle alone = adds(person, RandomColumns(1, 3), 0, 1, false);
      EXPECT_EQ(adds(person, RandomColumns(300, 8), 150, 3, false), alone);
      EXPECT_EQ(adds(person, HostileColumns(), 7, 2, false), alone);
      EXPECT_EQ(adds(person, RandomColumns(40, 6), 11, 1, true), alone);
    }
  }
}

// Against doubles: integers are less than a step toward zero from z.
TEST(Aimed, SumsAreThoseOfWhatIsLeft) {
  const Adjacency adjacency = Adjacency::kReplaceOne;
  const Columns people = RandomColumns(300, 21);
  Eigen::MatrixXd u = Eigen::MatrixXd::Zero(kAimedFeatures, 2);
  u(0, 0) = u(1, 0) = 0.6;
  u(3, 1) = -0.5;
  const RoundInput aim = AimAt(u, 1.25);
  const RunPlan plan =
      PlanRun(AimedRun(adjacency),
              FactsOf(AimedDescription(people.size(), adjacency)))
          .value();
  const double steps = std::ldexp(1.0, plan.data_bits);
  Eigen::MatrixXd expected =
      Eigen::MatrixXd::Zero(kAimedFeatures, kAimedFeatures);
  for (const auto& column : people) {
    Eigen::VectorXd v(kAimedFeatures);
    for (int i = 0; i < kAimedFeatures; ++i)
      v(i) = static_cast<double>(column[static_cast<std::size_t>(i)]);
    Eigen::VectorXd z = 1.25 * (v - u * (u.transpose() * v));
    if (z.norm() > 1) z.normalize();
    expected += z * z.transpose();
  }
  const Triangle sums = AimedSums(people, aim, adjacency);
  std::size_t at = 0;
  // Each of two factors is cut by less than a step.
  const double tolerance = 300 * 2.5 / steps;
  for (int column = 0; column < kAimedFeatures; ++column)
    for (int row = 0; row <= column; ++row, ++at)
      EXPECT_NEAR(static_cast<double>(sums[at]) / (steps * steps),
                  expected(row, column), tolerance);
}

// Named rows with gaps among them, of dense and of sparse columns: up to more
// than one panel of products and a tail. All numbers are short fractions, so
// the plain reading has no rounding of its own before the gate.
TEST(Aimed, SumsOnNamedRowsAreThoseOfAPlainReading) {
  constexpr int kMany = 90, kPeople = 70, kBits = 12;
  std::mt19937_64 random(31);
  const auto below = [&](std::uint64_t limit) {
    return static_cast<int>(random() % limit);
  };
  for (const int count : {1, 3, 8, 17, 47, 71}) {
    SCOPED_TRACE(count);
    std::vector<std::uint32_t> rows;
    for (int i = 0; i < count; ++i)
      rows.push_back(static_cast<std::uint32_t>(
          i < count / 2 ? i + 1 : kMany - count + i));
    Eigen::MatrixXd u(kMany, 2);
    for (double& entry : u.reshaped()) entry = (below(9) - 4) / 8.0;
    Columns people(kPeople, std::vector<float>(kMany));
    for (auto& column : people)
      for (float& value : column)
        if (below(5) == 0) value = static_cast<float>(below(9)) / 16;
    // Plainly: v and U cut to the rows.
    std::vector<std::int64_t> expected(
        static_cast<std::size_t>(count * (count + 1) / 2));
    int cut = 0;
    for (const auto& column : people) {
      std::vector<double> z;
      for (const std::uint32_t row : rows)
        z.push_back(static_cast<double>(column[row]));
      const std::vector<double> v = z;
      for (int l = 0; l < u.cols(); ++l) {
        double product = 0;
        for (std::size_t i = 0; i < v.size(); ++i)
          product += u(rows[i], l) * v[i];
        for (std::size_t i = 0; i < v.size(); ++i)
          z[i] -= product * u(rows[i], l);
      }
      double squares = 0;
      for (double& entry : z) {
        entry *= 1.5;
        squares += entry * entry;
      }
      if (squares > 1) ++cut;
      std::vector<std::int64_t> k(z.size());
      const bool kept =
          curator::QuantiseSigned(z, 1, kBits, NormBoundSteps(1, kBits), k);
      Uint128 norm = 0;
      for (const std::int64_t entry : k) norm += curator::Square(entry);
      EXPECT_TRUE(!kept || norm <= NormBoundSteps(1, kBits));
      std::size_t at = 0;
      for (std::size_t j = 0; j < k.size(); ++j)
        for (std::size_t i = 0; i <= j; ++i, ++at)
          expected[at] += kept ? k[i] * k[j] : 0;
    }
    EXPECT_GE(cut, count > 8 ? 1 : 0);
    auto description = AimedDescription(kPeople, Adjacency::kReplaceOne);
    description.features = kMany;
    std::vector<std::int64_t> starts = {0};
    std::vector<std::int32_t> places;
    std::vector<float> values, all;
    for (const auto& column : people) {
      for (int row = 0; row < kMany; ++row) {
        const float value = column[static_cast<std::size_t>(row)];
        all.push_back(value);
        if (value == 0) continue;
        places.push_back(row);
        values.push_back(value);
      }
      starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    const auto dense = curator::Dataset::FromDense(description, all).value();
    const auto sparse =
        curator::Dataset::FromSparse(description, starts, places, values)
            .value();
    for (const auto* data : {dense.get(), sparse.get()}) {
      for (const int threads : {1, 3}) {
        curator::Execution execution;
        execution.threads = threads;
        EXPECT_EQ(curator::ComputeAimedMoments(*data, {&u, 1.5, rows}, 1, kBits,
                                               execution)
                      .value(),
                  expected);
      }
    }
  }
}

// Numbers on which a processor may take long are read as 0, so that the time
// that a person takes does not tell what the person has there.
TEST(Aimed, SpecksOfARequestAreReadAsZeros) {
  const Columns people = {{0.125f, 0.5f, 0, 0, 0}, {0.125f, 0, 0.25f, 0, 0.5f}};
  Eigen::MatrixXd u = Eigen::MatrixXd::Zero(kAimedFeatures, 1);
  u(0, 0) = 2;
  const auto sums = [&](double entry, bool sparse) {
    Eigen::MatrixXd named = u;
    named.bottomRows(4).setConstant(entry);
    return AimedSums(people, AimAt(named, 1), Adjacency::kAddRemoveOne, 1,
                     sparse);
  };
  for (const bool sparse : {false, true}) {
    const Triangle zeros = sums(0, sparse);
    for (const double size : {0x1p-41, 0x1p-60, 1e-300, 1e-310, 5e-324}) {
      EXPECT_EQ(sums(size, sparse), zeros) << size;
      EXPECT_EQ(sums(-size, sparse), zeros) << size;
    }
    EXPECT_NE(sums(0x1p-40, sparse), zeros);
  }
}

// Under add or remove one the lattice does not depend on how many there are.
TEST(Aimed, SumsOfManyAreThoseOfEachAddedWithoutRounding) {
  const Columns people = RandomColumns(120, 22);
  for (const RoundInput& aim : HostileAims()) {
    const Triangle sums = AimedSums(people, aim, Adjacency::kAddRemoveOne, 2);
    std::vector<__int128> added(sums.size());
    for (const auto& column : people) {
      const Triangle one = AimedSums({column}, aim, Adjacency::kAddRemoveOne);
      for (std::size_t i = 0; i < added.size(); ++i) added[i] += one[i];
    }
    for (std::size_t i = 0; i < added.size(); ++i)
      EXPECT_TRUE(added[i] == sums[i]) << i;
  }
}

TEST(AimedPlan, SplitsThePriceAndRefusesOtherRounds) {
  const Adjacency adjacency = Adjacency::kReplaceOne;
  const DatasetFacts facts = FactsOf(AimedDescription(100, adjacency));
  RunParameters run = AimedRun(adjacency);
  const RunPlan plan = PlanRun(run, facts).value();
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].release, "moments");
  EXPECT_EQ(plan.stages[1].release, "aimed");
  const double first =
      CostOfDrawing(plan.stages[0].parts, adjacency).value().ToDouble();
  const double second =
      CostOfDrawing(plan.stages[1].parts, adjacency).value().ToDouble();
  EXPECT_NEAR(first / (first + second), 0.3, 1e-6);
  run.rounds = 3;
  EXPECT_EQ(ReasonCode(PlanRun(run, facts).status()), "rounds-out-of-range");
  run.moment_rows = 3;  // a mean comes first
  EXPECT_EQ(PlanRun(run, facts).value().stages.size(), 3u);
  // Whatever is the mean's is not the second moments': the price is one.
  const double most =
      LargestCost(run.conversion, run.epsilon, run.delta).value().ToDouble();
  for (const double share : {kLeastShareOfMean, kLargestShareOfMean}) {
    run.share_of_mean = share;
    const double cost = PlanRun(run, facts).value().cost.ToDouble();
    EXPECT_LE(cost, most);
    EXPECT_GT(cost, (1 - 1e-6) * most);
  }
  run.share_of_moments = 1;
  EXPECT_EQ(ReasonCode(PlanRun(run, facts).status()), "share-out-of-range");
}

// ------------------------------------------------------------- over the wire

class AimedWire : public AnalystFixture {
 protected:
  v1::Run Train(std::uint32_t rows, v1::FeatureOrderKind order =
                                        v1::FEATURE_ORDER_KIND_UNSPECIFIED) {
    RunParameters parameters = curator::SmallRun();
    parameters.mechanism = "aimed";
    parameters.rounds = 0;
    parameters.moment_rows = rows;
    v1::RunSpecification specification;
    *specification.mutable_parameters() = ToProto(parameters);
    specification.mutable_parameters()->set_share_of_moments(0);
    specification.set_hopeless(true);
    if (order != v1::FEATURE_ORDER_KIND_UNSPECIFIED)
      specification.mutable_feature_order()->set_kind(order);
    const auto planned =
        analyst::PlanWithCurator(specification, connection_.get());
    EXPECT_TRUE(planned.ok()) << planned.status();
    const std::string id =
        manager_->Start(*planned, std::nullopt, "dns:alice")->run_id();
    return Await(id);
  }
};

TEST_F(AimedWire, RunsFromThePlanToADictionaryAndItsRefits) {
  for (const std::uint32_t rows : {0u, 8u}) {
    SCOPED_TRACE(rows);
    const v1::Run run = Train(rows, v1::FEATURE_ORDER_KIND_LINEAR);
    ASSERT_EQ(run.state(), v1::RUN_STATE_COMPLETED) << run.error();
    EXPECT_EQ(run.rounds_done(), rows == 0 ? 2u : 3u);
    EXPECT_EQ(run.charged().units(), run.plan().cost().units());
    const analyst::LearnerState state =
        store_->ReadLearner(run.run_id()).value();
    EXPECT_GT(state.w.norm(), 0);
    EXPECT_GE(state.w.minCoeff(), 0);
    const auto paid = analyst::PaidMomentsOf(run, state);
    ASSERT_TRUE(paid.ok()) << paid.status();
    // Both releases together know more than either.
    const auto& stages = run.plan().stages();
    const double first = stages[stages.size() - 2].parts(0).stddev();
    EXPECT_LT(paid->moments.stddev_off, first);
    EXPECT_GT(paid->moments.stddev_off, 0);
    // Beside them: the order, the bound of the trace, the mean.
    EXPECT_NE(paid->moments.order, nullptr);
    EXPECT_TRUE(std::isfinite(paid->moments.largest_trace));
    EXPECT_EQ(analyst::FactsOfRound(run.specification(), run.plan(),
                                    {&stages[stages.size() - 1], 1}, 1, true)
                  .largest_trace,
              paid->moments.largest_trace);
    EXPECT_EQ(paid->moments.mean.size(), rows == 0 ? 0 : 8);
    EXPECT_TRUE(run.has_explained());
    // A child has both too: of the same seed and rank it has the same W.
    v1::Refit refit;
    refit.set_run_id(run.run_id());
    refit.mutable_learner()->set_seed(run.specification().learner().seed());
    const auto child = manager_->Refit(manager_->PrepareRefit(refit).value(),
                                       std::nullopt, "dns:alice");
    ASSERT_TRUE(child.ok()) << child.status();
    EXPECT_EQ(Await(child->run_id()).state(), v1::RUN_STATE_COMPLETED);
    EXPECT_EQ(store_->ReadLearner(child->run_id()).value().w, state.w);
  }
}

TEST_F(AimedWire, ABundleHoldsBothReleases) {
  const std::string id = Train(0).run_id();
  const auto sent = analyst::FindRelease(id, false, store_.get());
  ASSERT_TRUE(sent.ok()) << sent.status();
  std::vector<std::string> parts;
  ASSERT_TRUE(analyst::WriteRelease(*sent, store_.get(),
                                    [&](const v1::ReleaseReply& message) {
                                      for (const auto& part :
                                           message.round().parts())
                                        parts.push_back(part.name());
                                      return true;
                                    })
                  .ok());
  EXPECT_EQ(parts, (std::vector<std::string>{"G", "Z"}));
}

// Checks the run, and its refit, which has the same releases.
TEST_F(AimedWire, HasStandardErrorsAndFactsOfItsParts) {
  for (const std::uint32_t rows : {0u, 8u}) {
    SCOPED_TRACE(rows);
    const v1::Run run = Train(rows);
    v1::Refit refit;
    refit.set_run_id(run.run_id());
    refit.mutable_learner()->set_seed(run.specification().learner().seed());
    const auto child = manager_->Refit(manager_->PrepareRefit(refit).value(),
                                       std::nullopt, "dns:alice");
    ASSERT_TRUE(child.ok()) << child.status();
    const auto errors_of = [&](const v1::Run& of) {
      const analyst::LearnerState state =
          store_->ReadLearner(of.run_id()).value();
      EXPECT_EQ(analyst::PartsOf(of, state, [] { return false; })->parts_size(),
                state.w.cols());
      const auto errors =
          analyst::StandardErrors(of, state, [] { return false; });
      EXPECT_TRUE(errors.ok()) << errors.status();
      return errors.value_or(Eigen::MatrixXd());
    };
    const Eigen::MatrixXd errors = errors_of(run);
    ASSERT_EQ(errors.rows(), curator::kFeatures);
    EXPECT_TRUE(errors.allFinite());
    EXPECT_GT(errors.norm(), 0);
    EXPECT_EQ(errors_of(Await(child->run_id())), errors);
  }
}

TEST_F(AimedWire, ARequestOutOfRangeIsRefusedUncharged) {
  const curator::SessionContext context = {
      ledger_.get(), gate_.get(), &catalog_, access_.get(), &locks_, 1};
  curator::Session session(context, {"dns:analyst"});
  RunParameters parameters = curator::SmallRun();
  parameters.mechanism = "aimed";
  parameters.rounds = 2;
  parameters.moment_rows = curator::kFeatures;
  parameters.share_of_moments = 0.3;
  parameters.share_of_mean = 0.1;
  ASSERT_TRUE(
      session.Open("0123456789abcdef0123456789abcdef", parameters).ok());
  ASSERT_TRUE(session.Round(1, RoundInput()).ok());
  const MuSquared charged = ledger_->PositionOf("people").value().charged;
  const Eigen::MatrixXd good =
      Eigen::MatrixXd::Constant(curator::kFeatures, 1, 0.2);
  const auto code = [&](const RoundInput& input) {
    return ReasonCode(session.Round(2, input).status());
  };
  EXPECT_EQ(code(RoundInput()), "rows-malformed");
  EXPECT_EQ(code(AimAt(good.topRows(3), 1)), "matrix-shape");
  EXPECT_EQ(code(AimAt(good.replicate(1, parameters.rank + 1), 1)),
            "matrix-shape");
  EXPECT_EQ(code(AimAt(20 * good, 1)), "model-out-of-range");
  EXPECT_EQ(code(AimAt(std::nan("") * good, 1)), "model-out-of-range");
  EXPECT_EQ(code(AimAt(good, 0)), "numbers-malformed");
  EXPECT_EQ(code(AimAt(good, 2 * kLargestAimScale)), "numbers-malformed");
  EXPECT_EQ(code(AimAt(good, std::nan(""))), "numbers-malformed");
  RoundInput none = AimAt(good, 1);
  none.numbers.clear();
  EXPECT_EQ(code(none), "numbers-malformed");
  RoundInput rows = AimAt(good, 1);
  rows.rows = {1, 0};
  EXPECT_EQ(code(rows), "rows-malformed");
  EXPECT_EQ(ledger_->PositionOf("people").value().charged, charged);
  EXPECT_TRUE(session.Round(2, AimAt(good, 1.5)).ok());
}

}  // namespace
}  // namespace dpnmf
