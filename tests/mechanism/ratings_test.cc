// `ratings` from its plan to its sums: neighbours against the sensitivities
// that are charged for, in integers, under all three relations; requests;
// shapes.
#include <algorithm>
#include <limits>
#include <random>

#include "common/base/error.h"
#include "common/privacy/ratings_bounds.h"
#include "curator/mechanism/mechanism.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/contribution_checks.h"
#include "tests/curator/factor/ratings_fixtures.h"

namespace dpnmf::curator {
namespace {

constexpr int kRatedItems = 150, kRank = 3;

struct NeighboursRun {
  DatasetFacts facts;
  RunParameters parameters;
  RunPlan plan;
};

// A run of all releases about so many people.
NeighboursRun RunOf(Adjacency adjacency, std::uint64_t users) {
  NeighboursRun run;
  run.facts.name = run.facts.population = run.parameters.dataset = "people";
  run.facts.features = kRatedItems;
  run.facts.users = users;
  run.facts.adjacency = run.parameters.adjacency = adjacency;
  run.facts.conversion = run.parameters.conversion = Conversion::kGaussian;
  run.facts.max_rank = 100;
  run.facts.max_rounds = 100;
  run.facts.ratings = kStars;
  run.parameters.mechanism = "ratings";
  run.parameters.rank = kRank;
  run.parameters.rounds = 5;
  run.parameters.epsilon = 4;
  run.parameters.delta = 1e-5;
  run.parameters.shares = {0.3, 0.2, 0.1, 0.2, 0.2};
  run.parameters.moment_rows = 20;
  run.parameters.profile_directions = 2;
  run.plan = PlanRun(run.parameters, run.facts).value();
  return run;
}

RoundInput InputOf(const std::string& release, const Eigen::MatrixXd& model,
                   double residual_stddev) {
  RoundInput input;
  if (release == "co-ratings" || release == "residuals") {
    input.rows = {0, 1, 2, 3, 4, 5, 7, 9, 20, 100, 149};
  }
  if (release != "items" && release != "co-ratings") {
    input.w = model;
    input.numbers = {residual_stddev};
  }
  return input;
}

// All that a release may be asked with: C also damped, along rows that some of
// the people have rated and nothing else.
std::vector<RoundInput> InputsOf(const std::string& release,
                                 const Eigen::MatrixXd& model,
                                 double residual_stddev) {
  const RoundInput plain = InputOf(release, model, residual_stddev);
  if (release != "co-ratings") return {plain};
  RoundInput damped = plain;
  damped.numbers = {48};
  damped.w.resize(11, 1);
  damped.w << 255, 1, 1, 0, 90, 90, 255, 0, 30, 200, 7;
  RoundInput wholly = plain;
  wholly.numbers = {64};
  wholly.w.resize(11, 1);
  wholly.w << 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0;
  return {plain, damped, wholly};
}

std::vector<PartPlan> PartsOf(const StagePlan& stage, const RoundInput& input) {
  std::vector<PartPlan> parts = stage.parts;
  const ReleaseKind& kind = ReleaseKindOf(stage.release);
  if (kind.narrow != nullptr) kind.narrow(input, &parts);
  return parts;
}

RoundSums SumsOf(const NeighboursRun& run, const StagePlan& stage,
                 const RoundInput& input, const std::vector<Ratings>& people) {
  const ReleaseKind& kind = ReleaseKindOf(stage.release);
  EXPECT_EQ(ReasonCode(kind.check(input, run.parameters, run.facts)), "");
  const auto data =
      RatingsOf(people, kRatedItems, run.facts.adjacency, *run.facts.ratings);
  std::unique_ptr<Coefficients> none;
  return kind.sums(input, {*data, run.parameters, run.plan, {}, &none}).value();
}

// X such that items 0 to 2 fix the profile and the others tell nothing of it.
Eigen::MatrixXd DecidingModel() {
  Eigen::MatrixXd model = Eigen::MatrixXd::Zero(kRatedItems, 1 + kRank);
  model.col(0).setConstant(3);
  for (int k = 0; k < kRank; ++k) model(k, 1 + k) = 1e3;
  return model;
}

// Pairs of people that come near the bounds of some release.
std::vector<std::pair<Ratings, Ratings>> HostilePairs() {
  const Ratings fixed = {{0, 30'000}, {1, 50'000}, {2, 30'000}};
  Ratings best = fixed, worst = fixed;
  best[3] = 50'000;
  worst[3] = 10'000;
  return {{Quarter(8, 16, false), Quarter(8, 90, true)},
          {{{4, 10'000}}, {{5, 50'000}}},
          {{{0, 30'000}, {1, 50'000}, {2, 30'000}},
           {{0, 30'000}, {1, 30'000}, {2, 50'000}}},
          {{{0, 30'000}, {1, 30'000}, {2, 30'000}, {3, 50'000}}, {}},
          {{{1, 40'000}, {2, 30'000}}, {{1, 27'500}, {2, 39'682}}},
          {best, worst}};
}

// Ratio of what was seen to what is charged for, over all pairs.
using Largest = std::map<std::string, double>;

void CheckRound(const NeighboursRun& run, const StagePlan& stage,
                const RoundInput& input, const Ratings& one,
                const Ratings& other, Largest* largest) {
  std::vector<Ratings> people = RandomPeople(3, kRatedItems, 71);
  people.push_back(one);
  const RoundSums x = SumsOf(run, stage, input, people);
  people.pop_back();
  // A person less; another person; a person with one rating moved.
  if (run.facts.adjacency != Adjacency::kAddRemoveOne) people.push_back(other);
  const RoundSums y = SumsOf(run, stage, input, people);
  if (run.facts.adjacency != Adjacency::kAddRemoveOne) people.pop_back();
  const std::vector<PartPlan> parts = PartsOf(stage, input);
  ASSERT_EQ(parts.size(), x.parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ASSERT_EQ(x.parts[i].size(),
              EntryCount(parts[i].rows, parts[i].columns, parts[i].symmetric));
    const Uint128 apart = SquaredDistance(parts[i], x.parts[i], y.parts[i]);
    const Uint128 bound = SquaredSensitivity(parts[i], run.facts.adjacency);
    EXPECT_TRUE(apart <= bound)
        << parts[i].name << " " << static_cast<double>(apart) << " "
        << static_cast<double>(bound);
    double& seen =
        (*largest)[parts[i].name + (parts[i].name == "C" && input.w.size() > 0
                                        ? ", damped"
                                        : "")];
    seen =
        std::max(seen, static_cast<double>(apart) / static_cast<double>(bound));
  }
}

void CheckPair(const NeighboursRun& run, const Eigen::MatrixXd& model,
               double stddev, const Ratings& one, const Ratings& other,
               Largest* largest) {
  for (const StagePlan& stage : run.plan.stages)
    for (const RoundInput& input : InputsOf(stage.release, model, stddev))
      CheckRound(run, stage, input, one, other, largest);
}

class RatingsNeighbours : public ::testing::TestWithParam<Adjacency> {};

TEST_P(RatingsNeighbours, Theorems11To14KeepWhatIsChargedFor) {
  const Adjacency adjacency = GetParam();
  const NeighboursRun run = RunOf(adjacency, 4);
  std::mt19937_64 random(73);
  Largest largest;
  const auto check = [&](const Eigen::MatrixXd& model, double stddev,
                         const Ratings& one, const Ratings& other) {
    CheckPair(run, model, stddev, one, other, &largest);
  };
  for (int i = 0; i < 40; ++i) {
    const Eigen::MatrixXd model =
        RandomModel(kRatedItems, kRank, i, std::pow(10, i % 7 - 2));
    const Ratings person = RandomPerson(random, kRatedItems);
    const Ratings moved = WithOneRatingMoved(random, person, kRatedItems);
    check(model, 0.7, person, moved);
    if (adjacency == Adjacency::kOneRating) continue;
    check(model, 0.7, person, RandomPerson(random, kRatedItems));
    check(model, 0.7, person, Mirrored(person));
  }
  // Many ratings, one of them from one end of the range to the other.
  Ratings many;
  for (int i = 1; i < kRatedItems; ++i)
    many[i] = i % 2 == 0 ? 40'000 + i : 20'000 - i;
  Ratings low = many, high = many;
  low[0] = 10'000;
  high[0] = 50'000;
  check(DecidingModel(), 1e-6, low, high);
  if (adjacency == Adjacency::kOneRating) {
    EXPECT_GT(largest["items"], 0.99);
    return;
  }
  for (const auto& [one, other] : HostilePairs()) {
    check(DecidingModel(), 1e-6, one, other);
    check(DecidingModel(), 1e-6, other, one);
  }
  for (const char* part :
       {"mean", "items", "C", "C, damped", "P", "S", "B", "A"})
    EXPECT_GT(largest[part], 0.99) << part;
}

INSTANTIATE_TEST_SUITE_P(Relations, RatingsNeighbours,
                         ::testing::Values(Adjacency::kReplaceOne,
                                           Adjacency::kAddRemoveOne,
                                           Adjacency::kOneRating),
                         [](const auto& relation) {
                           return std::string(NameOf(relation.param));
                         });

TEST(RatingsRequests, AreCheckedFromTheRequestAlone) {
  const NeighboursRun run = RunOf(Adjacency::kReplaceOne, 4);
  const Eigen::MatrixXd model = RandomModel(kRatedItems, kRank, 1);
  const auto code = [&](const std::string& release, const RoundInput& input) {
    return ReasonCode(
        ReleaseKindOf(release).check(input, run.parameters, run.facts));
  };
  for (const StagePlan& stage : run.plan.stages) {
    SCOPED_TRACE(stage.release);
    const RoundInput good = InputOf(stage.release, model, 1);
    EXPECT_EQ(code(stage.release, good), "");
    const bool takes_model = good.w.size() > 0, takes_rows = !good.rows.empty();

    RoundInput bad = good;
    bad.w = takes_model ? Eigen::MatrixXd() : model;
    EXPECT_EQ(code(stage.release, bad), stage.release == "co-ratings"
                                            ? "row-weights-malformed"
                                            : "matrix-shape");
    bad = good;
    bad.numbers = takes_model ? std::vector<double>{} : std::vector<double>{1};
    EXPECT_EQ(code(stage.release, bad), "numbers-malformed");
    bad = good;
    if (takes_rows)
      bad.rows.clear();
    else
      bad.rows = {1, 2};
    EXPECT_EQ(code(stage.release, bad), "rows-malformed");

    if (takes_rows) {
      for (const std::vector<std::uint32_t>& rows :
           std::vector<std::vector<std::uint32_t>>{
               {2, 1},
               {1, 1},
               {kRatedItems},
               std::vector<std::uint32_t>(21, 0)}) {
        bad = good;
        bad.rows = rows;
        EXPECT_EQ(code(stage.release, bad), "rows-malformed");
      }
      bad = good;
      bad.rows.resize(21);
      for (std::uint32_t i = 0; i < 21; ++i) bad.rows[i] = i;
      EXPECT_EQ(code(stage.release, bad), "rows-malformed") << "more than M";
    }
    if (!takes_model) continue;
    for (const double wrong :
         {std::numeric_limits<double>::quiet_NaN(),
          std::numeric_limits<double>::infinity(), 1.1e6, -1.1e6}) {
      for (const Eigen::Index column : {0, kRank}) {
        bad = good;
        bad.w(kRatedItems - 1, column) = wrong;
        EXPECT_EQ(code(stage.release, bad), "model-out-of-range");
      }
      bad = good;
      bad.numbers = {wrong};
      EXPECT_EQ(code(stage.release, bad), "numbers-malformed");
    }
    for (const std::vector<double>& numbers :
         std::vector<std::vector<double>>{{0}, {-1}, {1, 1}, {1e-7}}) {
      bad = good;
      bad.numbers = numbers;
      EXPECT_EQ(code(stage.release, bad), "numbers-malformed");
    }
    for (const auto& [rows, columns] : {std::pair{kRatedItems, 1},
                                        {kRatedItems, 2 + kRank},
                                        {kRatedItems - 1, 1 + kRank}}) {
      bad = good;
      bad.w = Eigen::MatrixXd::Zero(rows, columns);
      EXPECT_EQ(code(stage.release, bad), "matrix-shape");
    }
  }
}

// Fewer columns and rows than planned: fewer numbers with the same noise.
TEST(RatingsRequests, MayAskForLessThanWasPlanned) {
  const NeighboursRun run = RunOf(Adjacency::kReplaceOne, 3);
  const std::vector<Ratings> people = RandomPeople(3, kRatedItems, 9);
  for (const StagePlan& stage : run.plan.stages) {
    for (const int rank : {1, 2}) {
      RoundInput input =
          InputOf(stage.release, RandomModel(kRatedItems, rank, 1), 1);
      if (!input.rows.empty()) input.rows = {7};
      const RoundSums sums = SumsOf(run, stage, input, people);
      const std::vector<PartPlan> parts = PartsOf(stage, input);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(
            sums.parts[i].size(),
            EntryCount(parts[i].rows, parts[i].columns, parts[i].symmetric));
        EXPECT_EQ(parts[i].stddev_steps, stage.parts[i].stddev_steps);
        EXPECT_LE(parts[i].rows, stage.parts[i].rows);
        EXPECT_LE(parts[i].columns, stage.parts[i].columns);
      }
    }
  }
}

// Room for what is computed follows from what is declared.
TEST(RatingsMemory, GrowsWithDeclaredNumbersAlone) {
  const NeighboursRun run = RunOf(Adjacency::kReplaceOne, 1000);
  DatasetDescription data;
  data.features = kRatedItems;
  data.users = 1000;
  data.ratings = kStars;
  for (const StagePlan& stage : run.plan.stages) {
    const ReleaseKind& kind = ReleaseKindOf(stage.release);
    std::uint64_t entries = 0;
    for (const PartPlan& part : stage.parts)
      entries += EntryCount(part.rows, part.columns, part.symmetric);
    const Uint128 one = kind.memory(run.parameters, data, 1).computing;
    const Uint128 two = kind.memory(run.parameters, data, 2).computing;
    EXPECT_GE(static_cast<double>(one), 8.0 * static_cast<double>(entries));
    EXPECT_GE(static_cast<double>(two - one),
              8.0 * static_cast<double>(entries));
  }
}

}  // namespace
}  // namespace dpnmf::curator
