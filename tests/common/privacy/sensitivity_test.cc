// The theorems on sensitivity (docs/reference/privacy.md), in integer
// arithmetic: no pair of neighbours exceeds the bound that is charged, and one
// pair attains it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "common/privacy/run_plan.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

// Small enough that squared entries of a difference, and their sums, fit.
constexpr int kBits = 9;
constexpr double kBounds[] = {1, 0.7, 1.9};

using Vector = std::vector<std::int64_t>;

std::uint64_t SquaredNorm(const Vector& x) {
  std::uint64_t sum = 0;
  for (const std::int64_t entry : x)
    sum += static_cast<std::uint64_t>(entry * entry);
  return sum;
}

// The gate: what one user may add.
bool PassesGate(const Vector& x, double bound) {
  const auto most = static_cast<std::int64_t>(LargestEntrySteps(bound, kBits));
  return std::all_of(
             x.begin(), x.end(),
             [&](std::int64_t entry) { return entry >= 0 && entry <= most; }) &&
         SquaredNorm(x) <= NormBoundSteps(bound, kBits);
}

// Somewhere on the gate's boundary: a random direction (often sparse), rounded
// toward zero.
Vector RandomGated(std::mt19937_64& random, std::size_t size, double bound) {
  std::normal_distribution<double> normal;
  const std::uint64_t keep_one_in = 1 + random() % 4;
  std::vector<double> direction(size);
  double norm = 0;
  for (double& entry : direction) {
    entry = random() % keep_one_in == 0 ? std::abs(normal(random)) : 0;
    norm += entry * entry;
  }
  Vector x(size, 0);
  if (norm == 0) {
    x[random() % size] =
        static_cast<std::int64_t>(LargestEntrySteps(bound, kBits));
    return x;
  }
  const double scale =
      std::sqrt(static_cast<double>(NormBoundSteps(bound, kBits)) / norm);
  for (std::size_t i = 0; i < size; ++i)
    x[i] = static_cast<std::int64_t>(direction[i] * scale);
  return x;
}

Vector Axis(std::size_t size, std::size_t index, double bound) {
  Vector x(size, 0);
  x[index] = static_cast<std::int64_t>(LargestEntrySteps(bound, kBits));
  return x;
}

// Change of the sums A and B when (k, l) becomes (g, z).
struct Difference {
  std::uint64_t a_diagonal = 0;  // sums of squares
  std::uint64_t a_upper = 0;
  std::uint64_t b = 0;
  std::uint64_t a() const { return a_diagonal + 2 * a_upper; }
};

Difference Between(const Vector& k, const Vector& l, const Vector& g,
                   const Vector& z) {
  Difference difference;
  const auto square = [](std::int64_t x) {
    return static_cast<std::uint64_t>(x * x);
  };
  for (std::size_t j = 0; j < k.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i)
      difference.a_upper += square(k[i] * k[j] - g[i] * g[j]);
    difference.a_diagonal += square(k[j] * k[j] - g[j] * g[j]);
    for (std::size_t i = 0; i < l.size(); ++i) {
      difference.b += square(l[i] * k[j] - z[i] * g[j]);
    }
  }
  return difference;
}

struct Pair {
  Vector k, l, g, z;
  double c_h, c_u;
};

// Delta^2 in squared units of the lattice as the product computes it, for a sum
// of products of vectors within these bounds.
double SquaredSensitivity(double left, double right, Adjacency adjacency) {
  PartPlan part;
  part.step_exponent = -2 * kBits;
  part.left_norm_steps = NormBoundSteps(left, kBits);
  part.right_norm_steps = NormBoundSteps(right, kBits);
  const double steps =
      std::ldexp(L2Sensitivity(part, adjacency), -part.step_exponent);
  return steps * steps;
}
// Squares below 2^53 that were rounded once or twice on their way.
constexpr double kRounding = 1 + 0x1p-50;

// Random pairs, and from each a climb: single entries are moved as long as
// `objective` grows and the gate holds.
void ForHostilePairs(const std::function<double(const Pair&)>& objective,
                     const std::function<void(const Pair&)>& check) {
  std::mt19937_64 random(31);
  for (int i = 0; i < 300; ++i) {
    const std::size_t rank = 2 + random() % 4, features = 2 + random() % 5;
    Pair pair;
    pair.c_h = kBounds[random() % 3];
    pair.c_u = kBounds[random() % 3];
    pair.k = RandomGated(random, rank, pair.c_h);
    pair.g = RandomGated(random, rank, pair.c_h);
    pair.l = RandomGated(random, features, pair.c_u);
    pair.z = RandomGated(random, features, pair.c_u);
    check(pair);
    double best = objective(pair);
    for (int step = 0; step < 300; ++step) {
      Pair moved = pair;
      Vector* const vectors[] = {&moved.k, &moved.g, &moved.l, &moved.z};
      Vector& x = *vectors[random() % 4];
      const std::int64_t size = std::int64_t{1} << (random() % kBits);
      x[random() % x.size()] += random() % 2 == 0 ? size : -size;
      x[random() % x.size()] += random() % 2 == 0 ? size : -size;
      if (!PassesGate(moved.k, moved.c_h) || !PassesGate(moved.g, moved.c_h) ||
          !PassesGate(moved.l, moved.c_u) || !PassesGate(moved.z, moved.c_u)) {
        continue;
      }
      const double value = objective(moved);
      if (value < best) continue;
      best = value;
      pair = moved;
    }
    check(pair);
  }
}

Difference Of(const Pair& pair) {
  return Between(pair.k, pair.l, pair.g, pair.z);
}

// |hh' - gg'|^2 <= 2 c_h^4.
TEST(Theorem3, SensitivityOfAIsSqrtTwoTimesTheSquaredBoundUnderReplaceOne) {
  ForHostilePairs(
      [](const Pair& pair) { return static_cast<double>(Of(pair).a()); },
      [](const Pair& pair) {
        ASSERT_TRUE(PassesGate(pair.k, pair.c_h) &&
                    PassesGate(pair.g, pair.c_h));
        ASSERT_LE(static_cast<double>(Of(pair).a()),
                  kRounding * SquaredSensitivity(pair.c_h, pair.c_h,
                                                 Adjacency::kReplaceOne));
      });
  const Vector k = Axis(3, 0, 1), g = Axis(3, 1, 1), none(2, 0);
  const auto attained = static_cast<double>(Between(k, none, g, none).a());
  EXPECT_NEAR(SquaredSensitivity(1, 1, Adjacency::kReplaceOne) / attained, 1,
              0x1p-50);
}

// |uh' - zg'|^2 <= 2 c_u^2 c_h^2, also where r differs between the neighbours.
TEST(Theorem4, SensitivityOfBIsSqrtTwoTimesTheProductOfBoundsUnderReplaceOne) {
  ForHostilePairs(
      [](const Pair& pair) { return static_cast<double>(Of(pair).b); },
      [](const Pair& pair) {
        ASSERT_TRUE(PassesGate(pair.l, pair.c_u) &&
                    PassesGate(pair.z, pair.c_u));
        ASSERT_LE(static_cast<double>(Of(pair).b),
                  kRounding * SquaredSensitivity(pair.c_u, pair.c_h,
                                                 Adjacency::kReplaceOne));
      });
  const auto attained = static_cast<double>(
      Between(Axis(2, 0, 1), Axis(2, 0, 1), Axis(2, 1, 1), Axis(2, 0, 1)).b);
  EXPECT_NEAR(SquaredSensitivity(1, 1, Adjacency::kReplaceOne) / attained, 1,
              0x1p-50);
}

// |hh'|^2 <= c_h^4 and |uh'|^2 <= c_u^2 c_h^2.
TEST(Theorems3And4, SensitivityOfAAndBIsTheProductOfBoundsUnderAddRemoveOne) {
  ForHostilePairs(
      [](const Pair& pair) { return static_cast<double>(Of(pair).b); },
      [](const Pair& pair) {
        const Vector no_k(pair.k.size(), 0), no_l(pair.l.size(), 0);
        const Difference difference = Between(pair.k, pair.l, no_k, no_l);
        ASSERT_LE(static_cast<double>(difference.a()),
                  kRounding * SquaredSensitivity(pair.c_h, pair.c_h,
                                                 Adjacency::kAddRemoveOne));
        ASSERT_LE(static_cast<double>(difference.b),
                  kRounding * SquaredSensitivity(pair.c_u, pair.c_h,
                                                 Adjacency::kAddRemoveOne));
      });
  const Vector none(2, 0);
  const Difference attained = Between(Axis(2, 0, 1), Axis(2, 1, 1), none, none);
  const double delta = SquaredSensitivity(1, 1, Adjacency::kAddRemoveOne);
  EXPECT_NEAR(delta / static_cast<double>(attained.a()), 1, 0x1p-50);
  EXPECT_NEAR(delta / static_cast<double>(attained.b), 1, 0x1p-50);
}

// The charge is that of the sensitivity: with one sigma everywhere (B), mu^2 =
// Delta^2 / sigma^2, rounded up to a unit of 2^-60.
TEST(Theorems3And4, AChargeIsTheSquaredSensitivityOverTheVariance) {
  for (const Adjacency adjacency :
       {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne}) {
    for (const double c_h : kBounds) {
      for (const double c_u : kBounds) {
        PartPlan b;
        b.stddev_steps = 1'000'003;
        b.left_norm_steps = NormBoundSteps(c_u, kBits);
        b.right_norm_steps = NormBoundSteps(c_h, kBits);
        const double variance = 1'000'003.0 * 1'000'003.0;
        const double charged = std::ldexp(
            static_cast<double>(CostOfDrawing({b}, adjacency).value().units()),
            -60);
        const double expected =
            SquaredSensitivity(c_u, c_h, adjacency) / variance;
        EXPECT_NEAR(charged / expected, 1, 1e-9);
      }
    }
  }
}

// |v - w|^2 <= 2 c_v^2 for the plain sum of columns.
TEST(Sensitivity, OfTheSumOfColumnsIsSqrtTwoTimesTheBound) {
  std::mt19937_64 random(32);
  for (int i = 0; i < 5000; ++i) {
    const double bound = kBounds[random() % 3];
    Vector difference = RandomGated(random, 5, bound);
    const Vector other = RandomGated(random, 5, bound);
    for (std::size_t j = 0; j < other.size(); ++j) difference[j] -= other[j];
    ASSERT_LE(SquaredNorm(difference), 2 * NormBoundSteps(bound, kBits));
  }
  Vector attained = Axis(5, 0, 1);
  attained[1] = -attained[0];
  EXPECT_EQ(SquaredNorm(attained), 2 * NormBoundSteps(1, kBits));
}

// Sigmas whose quotient is not exactly sqrt(2), so that rounding matters.
std::vector<PartPlan> PartsOf(double c_h, double c_u,
                              std::uint64_t off_diagonal,
                              std::uint64_t diagonal, std::uint64_t of_b) {
  PartPlan a;
  a.name = std::string("A");
  a.symmetric = true;
  a.stddev_steps = off_diagonal;
  a.diagonal_stddev_steps = diagonal;
  a.left_norm_steps = a.right_norm_steps = NormBoundSteps(c_h, kBits);
  PartPlan b = a;
  b.name = std::string("B");
  b.symmetric = false;
  b.stddev_steps = of_b;
  b.diagonal_stddev_steps = 0;
  b.left_norm_steps = NormBoundSteps(c_u, kBits);
  return {a, b};
}

// mu^2 of the joint Gaussian mechanism: each coordinate that is drawn (the
// diagonal, the upper triangle once, all of B) moves by that much over its
// sigma.
double MuSquaredOf(const Difference& difference,
                   const std::vector<PartPlan>& parts) {
  const auto squared = [](std::uint64_t x) {
    return static_cast<double>(x) * static_cast<double>(x);
  };
  return static_cast<double>(difference.a_diagonal) /
             squared(parts[0].diagonal_stddev_steps) +
         static_cast<double>(difference.a_upper) /
             squared(parts[0].stddev_steps) +
         static_cast<double>(difference.b) / squared(parts[1].stddev_steps);
}

TEST(Theorem5, ARoundMovesByNoMoreThanItIsChargedFor) {
  const auto parts_of = [](const Pair& pair) {
    return PartsOf(pair.c_h, pair.c_u, 100'003, 141'426, 77'777);
  };
  ForHostilePairs(
      [&](const Pair& pair) { return MuSquaredOf(Of(pair), parts_of(pair)); },
      [&](const Pair& pair) {
        const auto charged =
            CostOfDrawing(parts_of(pair), Adjacency::kReplaceOne);
        ASSERT_LE(MuSquaredOf(Of(pair), parts_of(pair)),
                  charged->ToDouble() * (1 + 1e-12));
      });
}

// One pair attains A's and B's bound at once, up to the rounding of sqrt(2):
// the price of a round is not slack.
TEST(Theorem5, ThePriceOfARoundIsAttained) {
  const auto parts = PartsOf(1, 1, 100'000'000, 141'421'357, 50'000'000);
  const Difference attained =
      Between(Axis(2, 0, 1), Axis(2, 0, 1), Axis(2, 1, 1), Axis(2, 0, 1));
  const auto charged = CostOfDrawing(parts, Adjacency::kReplaceOne);
  EXPECT_NEAR(MuSquaredOf(attained, parts) / charged->ToDouble(), 1, 1e-7);
}

}  // namespace
}  // namespace dpnmf
