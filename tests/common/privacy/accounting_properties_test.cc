// Laws of the accounting over random arguments: costs add exactly, in any order
// and grouping, and follow the scale of sensitivity and noise; every rounding
// goes up; every reading is finite, grows with the cost, and composes. Nothing
// is chance but the choice of arguments; seeds are fixed.
#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "common/privacy/accounting.h"
#include "common/privacy/run_plan.h"
#include "gtest/gtest.h"
#include "tests/common/privacy/test_values.h"

namespace dpnmf {
namespace {

constexpr double kLeastMu = 1e-6, kMostMu = 50, kLeastDelta = 1e-300,
                 kMostDelta = 0.5;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t Below(std::uint64_t bound) { return engine_() % bound; }
  double LogUniform(double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(
        std::log(low), std::log(high))(engine_));
  }
  std::uint64_t LogUniformInteger(double low, double high) {
    return static_cast<std::uint64_t>(LogUniform(low, high));
  }
  double Mu() { return LogUniform(kLeastMu, kMostMu); }
  double Delta() { return LogUniform(kLeastDelta, kMostDelta); }
  template <typename T>
  void Shuffle(std::vector<T>* values) {
    std::shuffle(values->begin(), values->end(), engine_);
  }

 private:
  std::mt19937_64 engine_;
};

mpz_class Integer(Uint128 value) {
  const mpz_class high(static_cast<unsigned long>(value >> 64));
  return (high << 64) + mpz_class(static_cast<unsigned long>(value));
}

mpq_class Exact(MuSquared cost) {
  return mpq_class(Integer(cost.units()), mpz_class(1) << 60);
}

// One full matrix: Delta^2 = 2 left right in steps, under replace one.
PartPlan FullPart(std::uint64_t left, std::uint64_t right,
                  std::uint64_t stddev) {
  PartPlan part{"B", 2, 2, false, 0, stddev};
  part.left_norm_steps = left;
  part.right_norm_steps = right;
  return part;
}

MuSquared CostOf(const PartPlan& part) {
  return CostOfDrawing({part}, Adjacency::kReplaceOne).value();
}

mpq_class ExactCostOf(const PartPlan& part) {
  const auto integer = [](std::uint64_t value) {
    return mpz_class(static_cast<unsigned long>(value));
  };
  mpq_class cost(
      2 * integer(part.left_norm_steps) * integer(part.right_norm_steps),
      integer(part.stddev_steps) * integer(part.stddev_steps));
  cost.canonicalize();
  return cost;
}

// Sigmas from a thousandth of the sensitivity to ten thousand times it.
PartPlan AnyPart(Random* random) {
  const std::uint64_t left = random->LogUniformInteger(1, 1e9),
                      right = random->LogUniformInteger(1, 1e9);
  const double sensitivity =
      std::sqrt(2.0 * static_cast<double>(left) * static_cast<double>(right));
  return FullPart(left, right,
                  1 + static_cast<std::uint64_t>(
                          sensitivity * random->LogUniform(1e-3, 1e4)));
}

TEST(AccountingProperties, WhatIsChargedIsNeverBelowTheExactSum) {
  Random random(101);
  for (int i = 0; i < 200; ++i) {
    MuSquared charged;
    mpq_class exact = 0;
    const std::uint64_t releases = 1 + random.Below(50);
    for (std::uint64_t r = 0; r < releases; ++r) {
      const PartPlan part = AnyPart(&random);
      charged = *MuSquared::Add(charged, CostOf(part));
      exact += ExactCostOf(part);
    }
    ASSERT_GE(Exact(charged), exact);
    // Rounded up by less than a unit each.
    ASSERT_LT(Exact(charged),
              exact + mpq_class(mpz_class(static_cast<unsigned long>(releases)),
                                mpz_class(1) << 60));
    ASSERT_GE(mpq_class(charged.ToDoubleUp()), Exact(charged));
  }
}

TEST(AccountingProperties, EveryDoubleIsRoundedToTheNamedSide) {
  Random random(111);
  const mpq_class unit(1, mpz_class(1) << 60);
  for (int i = 0; i < 500; ++i) {
    const double value = std::pow(random.Mu(), 2);
    const mpq_class up = Exact(*MuSquared::RoundUp(value)),
                    down = Exact(*MuSquared::RoundDown(value));
    ASSERT_GE(up, mpq_class(value));
    ASSERT_LE(down, mpq_class(value));
    ASSERT_LE(up - down, unit);
  }
}

TEST(AccountingProperties, CostsAddInAnyOrderAndGrouping) {
  Random random(102);
  for (int i = 0; i < 100; ++i) {
    std::vector<MuSquared> costs;
    MuSquared expected;
    const std::uint64_t releases = 2 + random.Below(60);
    for (std::uint64_t r = 0; r < releases; ++r) {
      costs.push_back(CostOf(AnyPart(&random)));
      expected = *MuSquared::Add(expected, costs.back());
    }
    // Any two of what is there are added up, until one sum is left.
    while (costs.size() > 1) {
      random.Shuffle(&costs);
      const MuSquared last = costs.back();
      costs.pop_back();
      costs.back() = *MuSquared::Add(costs.back(), last);
    }
    ASSERT_EQ(costs[0], expected);
  }
}

// n releases are one of sqrt(n) times the sensitivity: n Delta^2 / sigma^2.
TEST(AccountingProperties, ManyReleasesCostOneOfSqrtTimesTheSensitivity) {
  Random random(103);
  for (int i = 0; i < 500; ++i) {
    const PartPlan part = AnyPart(&random);
    const auto n =
        static_cast<std::uint32_t>(random.LogUniformInteger(1, 100'000));
    const PartPlan scaled = FullPart(part.left_norm_steps * n,
                                     part.right_norm_steps, part.stddev_steps);
    const MuSquared many = *MuSquared::Multiply(CostOf(part), n);
    const MuSquared one = CostOf(scaled);
    ASSERT_GE(many, one);
    ASSERT_LT(many.units() - one.units(), n);  // rounded up n times, not once
  }
}

TEST(AccountingProperties, SensitivityAndNoiseScaledAlikeCostTheSame) {
  Random random(104);
  for (int i = 0; i < 500; ++i) {
    const PartPlan part = AnyPart(&random);
    const std::uint64_t scale = 2 + random.Below(9);
    ASSERT_EQ(CostOf(FullPart(part.left_norm_steps * scale,
                              part.right_norm_steps * scale,
                              part.stddev_steps * scale)),
              CostOf(part));
    // Twice the noise alone is a quarter of the cost.
    const MuSquared quarter = CostOf(FullPart(
        part.left_norm_steps, part.right_norm_steps, 2 * part.stddev_steps));
    ASSERT_GE(4 * quarter.units(), CostOf(part).units());
    ASSERT_LE(4 * quarter.units(), CostOf(part).units() + 4);
  }
}

// The same law read as epsilon, over the whole range.
TEST(AccountingProperties, EpsilonOfManyReleasesIsThatOfTheScaledOne) {
  Random random(105);
  for (int i = 0; i < 400; ++i) {
    const double delta = random.Delta();
    const auto n =
        static_cast<std::uint32_t>(random.LogUniformInteger(1, 100'000));
    const double mu =
        random.LogUniform(1e-4, kMostMu) / std::sqrt(static_cast<double>(n));
    const MuSquared one = *MuSquared::RoundUp(mu * mu);
    const double scaled = std::sqrt(static_cast<double>(n) * one.ToDouble());
    for (const Conversion conversion : kConversions) {
      const double many =
          *Epsilon(conversion, *MuSquared::Multiply(one, n), delta);
      const double single = *Epsilon(conversion, scaled * scaled, delta);
      ASSERT_NEAR(many, single, 4e-12 * std::max(single, scaled))
          << NameOf(conversion) << " n " << n << " mu " << mu << " delta "
          << delta;
    }
  }
}

TEST(AccountingProperties, RenyiDivergencesAddAtEveryOrder) {
  Random random(106);
  for (int i = 0; i < 500; ++i) {
    const MuSquared a = *MuSquared::RoundUp(std::pow(random.Mu(), 2)),
                    b = *MuSquared::RoundUp(std::pow(random.Mu(), 2));
    const double order = 1 + random.LogUniform(1e-3, 1e6);
    const double sum = RdpAtOrder(a, order) + RdpAtOrder(b, order);
    ASSERT_NEAR(RdpAtOrder(*MuSquared::Add(a, b), order) / sum, 1, 1e-15);
  }
}

TEST(AccountingProperties, EveryReadingIsANumberAndGrowsWithEveryRelease) {
  Random random(107);
  for (int i = 0; i < 300; ++i) {
    const double delta = random.Delta();
    MuSquared spent;
    Epsilons before = *AllEpsilons(spent, delta);
    ASSERT_EQ(before.rdp + before.rdp_optimal + before.gaussian, 0);
    for (int release = 0; release < 6; ++release) {
      const double mu = random.Mu();
      spent = *MuSquared::Add(spent, *MuSquared::RoundUp(mu * mu));
      const Epsilons now = *AllEpsilons(spent, delta);
      for (const auto reading :
           {&Epsilons::rdp, &Epsilons::rdp_optimal, &Epsilons::gaussian}) {
        ASSERT_TRUE(std::isfinite(now.*reading)) << mu << " " << delta;
        ASSERT_GE(now.*reading, before.*reading) << mu << " " << delta;
      }
      ASSERT_GT(now.rdp, before.rdp) << "a release for nothing";
      ASSERT_TRUE(std::isfinite(now.rdp_order) && now.rdp_order > 1);
      ASSERT_TRUE(std::isfinite(now.rdp_optimal_order) &&
                  now.rdp_optimal_order > 1);
      before = now;
    }
  }
}

// The corners, where doubles under- or overflow if they are let to.
TEST(AccountingProperties, TheCornersAreNumbersInOrder) {
  for (const double mu : {kLeastMu, 1e-3, 1.0, 37.0, kMostMu}) {
    for (const double delta : {kLeastDelta, 1e-100, 1e-5, 0.1, kMostDelta}) {
      SCOPED_TRACE(testing::Message() << "mu " << mu << " delta " << delta);
      double readings[3];
      for (int c = 0; c < 3; ++c) {
        readings[c] = *Epsilon(kConversions[c], mu * mu, delta);
        EXPECT_TRUE(std::isfinite(readings[c]));
        EXPECT_GE(readings[c], 0);
      }
      EXPECT_LE(readings[2], readings[1] * (1 + 1e-12));
      EXPECT_LE(readings[1], readings[0] * (1 + 1e-12));
    }
  }
}

// The exact curve obeys basic composition: what two parts are worth separately
// bounds what they are worth together.
TEST(AccountingProperties, PartsReadSeparatelyBoundTheWhole) {
  Random random(108);
  for (int i = 0; i < 300; ++i) {
    const double a = std::pow(random.Mu(), 2), b = std::pow(random.Mu(), 2);
    const double delta_a = random.Delta() / 2, delta_b = random.Delta() / 2;
    const double parts =
        *EpsilonGaussian(a, delta_a) + *EpsilonGaussian(b, delta_b);
    const double whole = *EpsilonGaussian(a + b, delta_a + delta_b);
    ASSERT_LE(whole, parts + 1e-12 * (parts + std::sqrt(a + b)))
        << a << " " << delta_a << " " << b << " " << delta_b;
  }
}

// delta(epsilon) <= delta: the exact reading is rounded up wherever it is
// asked. LogDeltaGaussian errs by 1e-11 at most here.
TEST(AccountingProperties, TheExactReadingIsRoundedUp) {
  Random random(109);
  for (int i = 0; i < 600; ++i) {
    const double mu = random.Mu(), delta = random.Delta();
    const double epsilon = *EpsilonGaussian(mu * mu, delta);
    ASSERT_LE(LogDeltaGaussian(mu, epsilon), std::log(delta) + 1e-11)
        << mu << " " << delta;
  }
}

// From a cost to its epsilon and back: no more than what was spent fits, but
// for a relative 1e-9, and what fits stays within the epsilon.
TEST(AccountingProperties, BudgetsAndReadingsAreInverse) {
  Random random(110);
  for (int i = 0; i < 200; ++i) {
    const double mu = random.LogUniform(1e-3, 20), delta = random.Delta();
    const MuSquared cost = *MuSquared::RoundUp(mu * mu);
    for (const Conversion conversion : kConversions) {
      const double epsilon = *Epsilon(conversion, cost, delta);
      if (epsilon <= 1e-6) continue;  // delta covers it
      const MuSquared back = *LargestCost(conversion, epsilon, delta);
      ASSERT_GE(back.ToDouble(), cost.ToDouble() * (1 - 1e-9));
      ASSERT_LE(*Epsilon(conversion, back, delta), epsilon);
    }
  }
}

}  // namespace
}  // namespace dpnmf
