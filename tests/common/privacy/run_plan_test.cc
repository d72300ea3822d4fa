#include "common/privacy/run_plan.h"

#include <gmpxx.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "tests/common/privacy/test_values.h"

namespace dpnmf {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

DatasetFacts Facts() {
  DatasetFacts facts;
  facts.name = "digits";
  facts.population = "people";
  facts.features = 64;
  facts.users = 1797;
  facts.max_rank = 64;
  facts.max_rounds = 1000;
  return facts;
}

RunParameters Parameters() {
  RunParameters parameters;
  parameters.dataset = "digits";
  parameters.rank = 16;
  parameters.rounds = 50;
  parameters.epsilon = 1;
  parameters.delta = 1e-5;
  parameters.share_of_a = 0.5;
  return parameters;
}

mpz_class ToMpz(Uint128 value) {
  mpz_class high(
      static_cast<unsigned long>(static_cast<std::uint64_t>(value >> 64)));
  return (high << 64) +
         static_cast<unsigned long>(static_cast<std::uint64_t>(value));
}

// The price by its definition, in rationals.
mpq_class TrueCost(const std::vector<PartPlan>& parts, Adjacency adjacency) {
  mpq_class total = 0;
  for (const PartPlan& part : parts) {
    const mpz_class left(static_cast<unsigned long>(part.left_norm_steps));
    const mpz_class right(static_cast<unsigned long>(part.right_norm_steps));
    const mpz_class stddev(static_cast<unsigned long>(part.stddev_steps));
    const mpz_class diagonal(
        static_cast<unsigned long>(part.diagonal_stddev_steps));
    const mpz_class squared_sensitivity =
        (adjacency == Adjacency::kReplaceOne ? 2 : 1) * left * right;
    mpz_class variance = stddev * stddev;
    if (part.symmetric) {
      const mpz_class twice = 2 * variance, on_diagonal = diagonal * diagonal;
      variance = on_diagonal < twice ? on_diagonal : twice;
    }
    mpq_class cost(squared_sensitivity, variance);
    cost.canonicalize();
    total += cost;
  }
  return total;
}

PartPlan Part(std::uint64_t left, std::uint64_t right, std::uint64_t stddev,
              std::uint64_t diagonal = 0) {
  PartPlan part{.name = diagonal == 0 ? "B" : "A"};
  part.symmetric = diagonal != 0;
  part.stddev_steps = stddev;
  part.diagonal_stddev_steps = diagonal;
  part.left_norm_steps = left;
  part.right_norm_steps = right;
  return part;
}

std::uint64_t CeilSqrtTwo(std::uint64_t stddev) {
  const mpz_class twice = 2 * mpz_class(static_cast<unsigned long>(stddev)) *
                          static_cast<unsigned long>(stddev);
  mpz_class root = sqrt(twice);
  if (root * root < twice) ++root;
  return root.get_ui();
}

// --- The gate's bounds ---

TEST(GateBounds, AreTheFloorsOfTheirFormulas) {
  EXPECT_EQ(NormBoundSteps(1, 20), std::uint64_t{1} << 40);
  EXPECT_EQ(LargestEntrySteps(1, 20), std::uint64_t{1} << 20);
  EXPECT_EQ(LargestEntrySteps(1.5, 0), 1u);
  EXPECT_EQ(NormBoundSteps(1.5, 0), 2u);
  EXPECT_EQ(NormBoundSteps(1.5, 1), 9u);
  EXPECT_EQ(LargestEntrySteps(1000, -3), 125u);
  EXPECT_EQ(NormBoundSteps(1000, -3), 15625u);
  EXPECT_EQ(LargestEntrySteps(std::nextafter(1.0, 0.0), 20), (1u << 20) - 1);
}

TEST(GateBounds, AreZeroForWhatIsNoBound) {
  for (const double bound : {0.0, -1.0, kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ(NormBoundSteps(bound, 20), 0u) << bound;
    EXPECT_EQ(LargestEntrySteps(bound, 20), 0u) << bound;
  }
}

TEST(GateBounds, StopAtTheLargestInteger) {
  EXPECT_EQ(NormBoundSteps(1, 32), kMost);
  EXPECT_EQ(NormBoundSteps(1, 31), std::uint64_t{1} << 62);
  EXPECT_EQ(LargestEntrySteps(1e300, 1000), kMost);
  EXPECT_EQ(NormBoundSteps(1e300, 1000), kMost);
  EXPECT_EQ(NormBoundSteps(1e-300, -1000), 0u);
}

TEST(GateBounds, EqualRationalArithmetic) {
  std::mt19937_64 random(21);
  for (int i = 0; i < 20000; ++i) {
    const double bound =
        std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                   static_cast<int>(random() % 200) - 100);
    const int exponent = std::ilogb(bound);
    const int bits = static_cast<int>(random() % 28) - exponent;
    mpq_class scaled(bound);
    if (bits >= 0) {
      scaled <<= static_cast<unsigned>(bits);
    } else {
      scaled >>= static_cast<unsigned>(-bits);
    }
    const mpq_class squared = scaled * scaled;
    ASSERT_EQ(LargestEntrySteps(bound, bits),
              mpz_class(scaled.get_num() / scaled.get_den()).get_ui());
    ASSERT_EQ(NormBoundSteps(bound, bits),
              mpz_class(squared.get_num() / squared.get_den()).get_ui());
  }
}

// --- The price ---

TEST(CostOfDrawing, IsSensitivitySquaredOverVariance) {
  EXPECT_EQ(
      CostOfDrawing({Part(8, 8, 16)}, Adjacency::kAddRemoveOne)->ToDouble(),
      0.25);
  EXPECT_EQ(CostOfDrawing({Part(8, 8, 16)}, Adjacency::kReplaceOne)->ToDouble(),
            0.5);
  // 2 * 64 / min(23^2, 2 * 16^2), 23^2 = 529 >= 512.
  EXPECT_EQ(
      CostOfDrawing({Part(8, 8, 16, 23)}, Adjacency::kReplaceOne)->ToDouble(),
      0.25);
  EXPECT_EQ(CostOfDrawing({Part(8, 8, 16, 23), Part(8, 8, 16)},
                          Adjacency::kReplaceOne)
                ->ToDouble(),
            0.75);
  EXPECT_EQ(CostOfDrawing({}, Adjacency::kReplaceOne)->units(), 0u);
}

TEST(CostOfDrawing, IsNeverBelowTheRationalValueAndWithinAUnitAPart) {
  std::mt19937_64 random(22);
  const mpz_class unit = mpz_class(1) << MuSquared::kFractionBits;
  int priced = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<PartPlan> parts;
    for (int p = 0; p < 2; ++p) {
      const std::uint64_t stddev = 1 + (random() >> (3 + random() % 60));
      const std::uint64_t diagonal =
          p == 0 ? CeilSqrtTwo(stddev) + random() % 3 : 0;
      parts.push_back(Part(random() >> (random() % 64),
                           random() >> (random() % 64), stddev, diagonal));
    }
    const auto adjacency =
        i % 2 == 0 ? Adjacency::kReplaceOne : Adjacency::kAddRemoveOne;
    const mpq_class truth = TrueCost(parts, adjacency) * unit;
    const auto cost = CostOfDrawing(parts, adjacency);
    if (!cost.ok()) {
      // Only what no ledger could hold is refused.
      ASSERT_GT(truth + 2, mpq_class(mpz_class(1) << 120)) << cost.status();
      continue;
    }
    ++priced;
    ASSERT_GE(mpq_class(ToMpz(cost->units())), truth);
    ASSERT_LT(mpq_class(ToMpz(cost->units())), truth + 2);
  }
  EXPECT_GT(priced, 10000);
}

TEST(CostOfDrawing, RefusesNoiseThatIsNotThere) {
  for (const PartPlan& part :
       {Part(8, 8, 0), Part(8, 8, 0, 1), Part(8, 8, 16, 22),
        Part(8, 8, (1ull << 62) + 1), Part(kMost, kMost, 1)}) {
    const auto status = CostOfDrawing({part}, Adjacency::kReplaceOne).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_EQ(ReasonCode(status), "plan-invalid");
  }
  PartPlan no_diagonal = Part(8, 8, 16);
  no_diagonal.symmetric = true;
  EXPECT_FALSE(CostOfDrawing({no_diagonal}, Adjacency::kReplaceOne).ok());
}

TEST(L2Sensitivity, IsInUnitsOfTheSum) {
  PartPlan part = Part(std::uint64_t{1} << 40, std::uint64_t{1} << 40, 1);
  part.step_exponent = -40;
  EXPECT_DOUBLE_EQ(L2Sensitivity(part, Adjacency::kReplaceOne), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(L2Sensitivity(part, Adjacency::kAddRemoveOne), 1);
}

// --- Checks ---

struct BadField {
  std::string_view code;
  std::string_view field;
  std::function<void(RunParameters&)> spoil;
};

void PrintTo(const BadField& bad, std::ostream* out) {
  *out << bad.field << " " << bad.code;
}

class CheckRunParametersTest : public testing::TestWithParam<BadField> {};

TEST_P(CheckRunParametersTest, NamesTheFieldThatIsWrong) {
  RunParameters parameters = Parameters();
  ASSERT_TRUE(CheckRunParameters(parameters, Facts()).ok());
  GetParam().spoil(parameters);
  const absl::Status status = CheckRunParameters(parameters, Facts());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonCode(status), GetParam().code);
  EXPECT_NE(status.message().find("`" + std::string(GetParam().field) + "`"),
            absl::string_view::npos)
      << status.message();
  EXPECT_EQ(PlanRun(parameters, Facts()).status(), status);
}

std::vector<BadField> BadFields() {
  std::vector<BadField> bad;
  const auto add = [&](std::string_view code, std::string_view field,
                       std::function<void(RunParameters&)> spoil) {
    bad.push_back({code, field, std::move(spoil)});
  };
  for (const std::uint32_t rank : {0u, 65u, 4294967295u}) {
    add("rank-out-of-range", "rank", [=](RunParameters& p) { p.rank = rank; });
  }
  for (const std::uint32_t rounds : {0u, 1001u, 4294967295u}) {
    add("rounds-out-of-range", "rounds",
        [=](RunParameters& p) { p.rounds = rounds; });
  }
  for (const double x : {0.0, -1.0, 1000.5, kInfinity, kNan}) {
    add("epsilon-out-of-range", "epsilon",
        [=](RunParameters& p) { p.epsilon = x; });
  }
  for (const double x : {0.0, -1.0, 1.0, kInfinity, kNan}) {
    add("delta-out-of-range", "delta", [=](RunParameters& p) { p.delta = x; });
    add("share-out-of-range", "share_of_a",
        [=](RunParameters& p) { p.share_of_a = x; });
  }
  for (const char* name : {"", "Statistics", "dp-sgd"}) {
    add("mechanism-unknown", "mechanism",
        [=](RunParameters& p) { p.mechanism = name; });
  }
  for (const bool outliers : {false, true}) {
    for (const double x : {-1.0, 1.1e6, kInfinity, kNan}) {
      add("lambda-out-of-range", "lambda", [=](RunParameters& p) {
        p.outliers = outliers;
        p.outlier_bound = 1;
        p.lambda = x;
      });
      add("outlier-bound-out-of-range", "outlier_bound", [=](RunParameters& p) {
        p.outliers = outliers;
        p.outlier_bound = x;
      });
    }
  }
  add("outlier-bound-out-of-range", "outlier_bound",
      [](RunParameters& p) { p.outliers = true; });
  for (const std::uint32_t sweeps : {0u, 1001u}) {
    add("inner-iterations-out-of-range", "inner_iterations",
        [=](RunParameters& p) { p.inner_iterations = sweeps; });
  }
  add("adjacency-mismatch", "adjacency",
      [](RunParameters& p) { p.adjacency = Adjacency::kAddRemoveOne; });
  add("conversion-mismatch", "conversion",
      [](RunParameters& p) { p.conversion = Conversion::kGaussian; });
  return bad;
}

INSTANTIATE_TEST_SUITE_P(EveryField, CheckRunParametersTest,
                         testing::ValuesIn(BadFields()));

TEST(CheckRunParameters, TakesTheEndsOfEveryRange) {
  RunParameters parameters = Parameters();
  parameters.rank = 64;
  parameters.rounds = 1000;
  parameters.epsilon = 1000;
  parameters.outliers = true;
  parameters.lambda = 1e6;
  parameters.outlier_bound = 1e6;
  parameters.inner_iterations = 1000;
  parameters.mechanism = "gradient";
  EXPECT_TRUE(CheckRunParameters(parameters, Facts()).ok());
  parameters.rank = parameters.rounds = parameters.inner_iterations = 1;
  parameters.lambda = 0;
  EXPECT_TRUE(CheckRunParameters(parameters, Facts()).ok());
}

// `aimed` reads knobs that `moments` brings.
TEST(CheckRunParameters, RefusesMomentsOfEveryMechanismAlike) {
  for (const char* mechanism : {"moments", "aimed"}) {
    RunParameters parameters = Parameters();
    parameters.mechanism = mechanism;
    parameters.rounds = 3;
    parameters.moment_rows = 63;
    const auto refusal = [&] {
      return std::string(CheckRunParameters(parameters, Facts()).message());
    };
    EXPECT_EQ(refusal(), "");
    parameters.share_of_mean = 1;
    EXPECT_EQ(refusal(), "`share_of_mean` must be strictly between 0 and 1.");
    parameters.share_of_mean = 0.1;
    parameters.share_of_moments = 0;
    EXPECT_EQ(refusal(),
              "`share_of_moments` must be strictly between 0 and 1.");
    parameters.share_of_moments = 0.5;
    for (const std::uint32_t rows : {0u, 65u}) {
      parameters.moment_rows = rows;
      EXPECT_EQ(refusal(),
                "`moment_rows` must be from 1 to 64 for this data "
                "set, not " +
                    std::to_string(rows) + ".");
    }
  }
}

TEST(CheckRunParameters, BoundsRankByEveryDimension) {
  for (auto shrink : {+[](DatasetFacts& f) { f.features = 15; },
                      +[](DatasetFacts& f) { f.users = 15; },
                      +[](DatasetFacts& f) { f.max_rank = 15; }}) {
    DatasetFacts facts = Facts();
    shrink(facts);
    RunParameters parameters = Parameters();
    EXPECT_EQ(ReasonCode(CheckRunParameters(parameters, facts)),
              "rank-out-of-range");
    parameters.rank = 15;
    EXPECT_TRUE(CheckRunParameters(parameters, facts).ok());
  }
}

TEST(CheckRunParameters, RefusesFactsThatNoDataSetHas) {
  for (auto spoil : {+[](DatasetFacts& f) { f.features = 0; },
                     +[](DatasetFacts& f) { f.users = 0; },
                     +[](DatasetFacts& f) { f.users = kMost; },
                     +[](DatasetFacts& f) { f.column_bound = 0; },
                     +[](DatasetFacts& f) { f.column_bound = kNan; },
                     +[](DatasetFacts& f) { f.column_bound = 1e31; },
                     +[](DatasetFacts& f) { f.max_rank = 0; },
                     +[](DatasetFacts& f) { f.max_rounds = 0; }}) {
    DatasetFacts facts = Facts();
    spoil(facts);
    EXPECT_EQ(ReasonCode(PlanRun(Parameters(), facts).status()),
              "dataset-facts-invalid");
  }
}

// --- The plan ---

TEST(LargestUserCount, LeavesRoomWhereTheNumberIsPrivate) {
  DatasetFacts facts = Facts();
  EXPECT_EQ(LargestUserCount(facts), 1797u);
  facts.adjacency = Adjacency::kAddRemoveOne;
  EXPECT_EQ(LargestUserCount(facts), 2u * 1797 + 1024);
}

TEST(PlanRun, LaysOutBothSums) {
  const auto plan = PlanRun(Parameters(), Facts());
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->stages[0].parts.size(), 2u);
  const PartPlan& a = plan->stages[0].parts[0];
  const PartPlan& b = plan->stages[0].parts[1];
  EXPECT_EQ(a.name, "A");
  EXPECT_EQ(a.rows, 16u);
  EXPECT_EQ(a.columns, 16u);
  EXPECT_TRUE(a.symmetric);
  EXPECT_EQ(b.name, "B");
  EXPECT_EQ(b.rows, 64u);
  EXPECT_EQ(b.columns, 16u);
  EXPECT_FALSE(b.symmetric);
  EXPECT_EQ(b.diagonal_stddev_steps, 0u);
  EXPECT_EQ(plan->coefficient_bits, 20);
  EXPECT_EQ(plan->data_bits, 20);
}

TEST(PlanRun, IsAFunctionOfItsArguments) {
  const auto one = PlanRun(Parameters(), Facts()),
             two = PlanRun(Parameters(), Facts());
  EXPECT_EQ(one->stages[0].parts, two->stages[0].parts);
  EXPECT_EQ(one->cost, two->cost);
}

// Checks the invariants of any plan against rational arithmetic.
void ExpectSound(const RunPlan& plan, const RunParameters& parameters,
                 const DatasetFacts& facts) {
  const PartPlan& a = plan.stages[0].parts[0];
  const PartPlan& b = plan.stages[0].parts[1];
  const double c = facts.column_bound;
  EXPECT_EQ(plan.coefficient_bound, c);
  EXPECT_EQ(plan.data_bound, c);
  EXPECT_EQ(a.step_exponent, -2 * plan.coefficient_bits);
  EXPECT_EQ(b.step_exponent, -(plan.coefficient_bits + plan.data_bits));
  EXPECT_EQ(a.left_norm_steps, NormBoundSteps(c, plan.coefficient_bits));
  EXPECT_EQ(a.right_norm_steps, a.left_norm_steps);
  EXPECT_EQ(b.left_norm_steps, NormBoundSteps(c, plan.data_bits));
  EXPECT_EQ(b.right_norm_steps, a.left_norm_steps);
  // Room: sums and noise in 63 bits, blocks of 256 users and more without
  // rounding.
  const mpz_class m_h(
      static_cast<unsigned long>(LargestEntrySteps(c, plan.coefficient_bits)));
  const mpz_class m_u(
      static_cast<unsigned long>(LargestEntrySteps(c, plan.data_bits)));
  const mpz_class users(static_cast<unsigned long>(LargestUserCount(facts)));
  const mpz_class limit = mpz_class(1) << 62;
  for (const PartPlan& part : plan.stages[0].parts) {
    const std::uint64_t widest =
        std::max(part.stddev_steps, part.diagonal_stddev_steps);
    EXPECT_LE(widest, std::uint64_t{1} << 50);
    const mpz_class noise = 64 * mpz_class(static_cast<unsigned long>(widest));
    EXPECT_LT(users * m_h * (part.symmetric ? m_h : m_u) + noise, limit);
  }
  EXPECT_GE((mpz_class(1) << 53) / (m_h * m_u), 256);
  EXPECT_GE((mpz_class(1) << 53) / (m_h * m_h), 256);
  EXPECT_GE(m_h, 512);
  // Noise: the diagonal's is the least that is sqrt(2) times the other's.
  EXPECT_EQ(a.diagonal_stddev_steps, CeilSqrtTwo(a.stddev_steps));
  // Price: what is drawn, within the run's epsilon, little of it unused.
  EXPECT_EQ(plan.stages[0].cost_per_round,
            *CostOfDrawing(plan.stages[0].parts, parameters.adjacency));
  EXPECT_EQ(plan.cost, *MuSquared::Multiply(plan.stages[0].cost_per_round,
                                            parameters.rounds));
  const MuSquared most =
      *LargestCost(parameters.conversion, parameters.epsilon, parameters.delta);
  EXPECT_LE(plan.cost, most);
  EXPECT_LE(*Epsilon(parameters.conversion, plan.cost, parameters.delta),
            parameters.epsilon);
  const double finest =
      static_cast<double>(std::min(a.stddev_steps, b.stddev_steps));
  EXPECT_GE(plan.cost.ToDouble(), most.ToDouble() * (1 - 3 / finest - 1e-9) -
                                      parameters.rounds * 4 * 0x1p-60 /
                                          std::min(parameters.share_of_a, 0.5));
  const double share_of_a =
      CostOfDrawing({a}, parameters.adjacency)->ToDouble() /
      plan.stages[0].cost_per_round.ToDouble();
  EXPECT_NEAR(share_of_a, parameters.share_of_a, 3 / finest + 1e-6);
}

TEST(PlanRun, HoldsItsPromisesOverARandomGrid) {
  constexpr int kSeed = 23;
  std::mt19937_64 random(kSeed);
  const auto log_uniform = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(
        std::log(low), std::log(high))(random));
  };
  int planned = 0;
  for (int i = 0; i < 150; ++i) {
    DatasetFacts facts = Facts();
    facts.features = static_cast<std::uint64_t>(log_uniform(1, 100'000));
    facts.users = static_cast<std::uint64_t>(log_uniform(1, 1e12));
    facts.adjacency =
        random() % 2 == 0 ? Adjacency::kReplaceOne : Adjacency::kAddRemoveOne;
    facts.conversion = static_cast<Conversion>(random() % 3);
    facts.column_bound = random() % 3 == 0 ? 1 : log_uniform(0x1p-32, 1e30);
    facts.max_rank = kMaxRank;
    facts.max_rounds = kMaxRounds;
    RunParameters parameters = Parameters();
    parameters.adjacency = facts.adjacency;
    parameters.conversion = facts.conversion;
    parameters.rank = static_cast<std::uint32_t>(
        log_uniform(1, static_cast<double>(std::min<std::uint64_t>(
                           {facts.features, facts.users, kMaxRank}))));
    parameters.rounds = static_cast<std::uint32_t>(log_uniform(1, kMaxRounds));
    parameters.epsilon = log_uniform(1e-3, 1000);
    parameters.delta = log_uniform(1e-20, 0.5);
    parameters.share_of_a =
        std::uniform_real_distribution<double>(0.02, 0.98)(random);
    const auto plan = PlanRun(parameters, facts);
    SCOPED_TRACE(testing::Message()
                 << "seed " << kSeed << " i " << i << " N " << facts.users
                 << " T " << parameters.rounds << " epsilon "
                 << parameters.epsilon << " delta " << parameters.delta << " c "
                 << facts.column_bound);
    if (!plan.ok()) {
      EXPECT_EQ(ReasonCode(plan.status()), "noise-out-of-range");
      continue;
    }
    ++planned;
    ExpectSound(*plan, parameters, facts);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(planned, 140);
}

TEST(PlanRun, ScalesWithTheBoundOfAColumn) {
  DatasetFacts facts = Facts();
  const auto one = PlanRun(Parameters(), facts);
  facts.column_bound = 0x1p30;
  const auto large = PlanRun(Parameters(), facts);
  ASSERT_TRUE(one.ok() && large.ok());
  EXPECT_EQ(large->coefficient_bits, one->coefficient_bits - 30);
  EXPECT_EQ(large->stages[0].parts[0].stddev_steps,
            one->stages[0].parts[0].stddev_steps);
  EXPECT_EQ(large->stages[0].parts[0].step_exponent,
            one->stages[0].parts[0].step_exponent + 60);
  EXPECT_EQ(large->cost, one->cost);
}

TEST(PlanRun, CoarsensTheLatticeForManyUsersOrMuchNoise) {
  DatasetFacts facts = Facts();
  facts.users = std::uint64_t{1} << 30;
  EXPECT_EQ(PlanRun(Parameters(), facts)->coefficient_bits, 15);
  facts = Facts();
  facts.max_rounds = kMaxRounds;
  RunParameters parameters = Parameters();
  parameters.rounds = kMaxRounds;
  parameters.epsilon = 0.01;
  const auto plan = PlanRun(parameters, facts);
  ASSERT_TRUE(plan.ok());
  EXPECT_LT(plan->coefficient_bits, 20);
}

// At 20 bits m^2 = 2^40: 2^22 - 1 users alone would fit below 2^62.
TEST(PlanRun, LeavesRoomForTheNoiseBesideTheSums) {
  DatasetFacts facts = Facts();
  facts.users = (std::uint64_t{1} << 22) - 1;
  EXPECT_EQ(PlanRun(Parameters(), facts)->coefficient_bits, 19);
  facts.users = std::uint64_t{1} << 21;
  EXPECT_EQ(PlanRun(Parameters(), facts)->coefficient_bits, 20);
}

TEST(PlanRun, GivesUpBeforeTheLatticeIsCoarserThan512Steps) {
  RunParameters parameters = Parameters();
  int least_bits = 20;
  absl::Status status;
  for (; status.ok() && parameters.epsilon > 1e-12; parameters.epsilon /= 1.5) {
    const auto plan = PlanRun(parameters, Facts());
    status = plan.status();
    if (plan.ok()) least_bits = plan->coefficient_bits;
  }
  EXPECT_EQ(ReasonCode(status), "noise-out-of-range");
  EXPECT_EQ(least_bits, 9);
}

TEST(PlanRun, HasRoomForAsManyUsersAsADataSetMayHave) {
  DatasetFacts facts = Facts();
  facts.users = std::uint64_t{1} << 40;
  facts.adjacency = Adjacency::kAddRemoveOne;
  RunParameters parameters = Parameters();
  parameters.adjacency = facts.adjacency;
  EXPECT_EQ(PlanRun(parameters, facts)->coefficient_bits, 10);
  // m is nearly 2^10 here with the fewest bits.
  facts.column_bound = std::nextafter(2.0, 0.0);
  EXPECT_EQ(PlanRun(parameters, facts)->coefficient_bits, 9);
}

TEST(PlanRun, SaysWhichToRaiseWhereNoLatticeFits) {
  DatasetFacts facts = Facts();
  RunParameters parameters = Parameters();
  parameters.epsilon = 1e-9;
  auto status = PlanRun(parameters, facts).status();
  EXPECT_EQ(ReasonCode(status), "noise-out-of-range");
  EXPECT_NE(status.message().find("`epsilon`"), absl::string_view::npos);
  parameters = Parameters();
  parameters.share_of_a = 1e-300;
  EXPECT_EQ(ReasonCode(PlanRun(parameters, facts).status()),
            "noise-out-of-range");
}

// Golden: a run of the paper's size. c = 1, so sensitivities are sqrt(2); sigma
// is sqrt(2) / mu_round for B, and 1/sqrt(2) of that off A's diagonal.
TEST(PlanRun, DrawsTheNoiseOfTheClosedForm) {
  const auto plan = PlanRun(Parameters(), Facts());
  const double l = std::log(1e5), root = std::sqrt(l + 1) - std::sqrt(l);
  const double mu_of_part = std::sqrt(2 * root * root / 50 / 2);
  const double step = std::ldexp(1.0, plan->stages[0].parts[1].step_exponent);
  EXPECT_NEAR(static_cast<double>(plan->stages[0].parts[1].stddev_steps) * step,
              std::sqrt(2.0) / mu_of_part, 1e-8);
  EXPECT_NEAR(static_cast<double>(plan->stages[0].parts[0].stddev_steps) * step,
              1 / mu_of_part, 1e-8);
  EXPECT_NEAR(
      static_cast<double>(plan->stages[0].parts[0].diagonal_stddev_steps) *
          step,
      std::sqrt(2.0) / mu_of_part, 1e-8);
}

}  // namespace
}  // namespace dpnmf
