#include "common/privacy/accounting.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/privacy/test_values.h"

namespace dpnmf {
namespace {

nlohmann::json ReadGolden(const std::string& name) {
  std::ifstream in(std::string(DPNMF_GOLDEN_DIR) + "/" + name);
  return nlohmann::json::parse(in);
}

long double Number(const nlohmann::json& text) {
  return std::strtold(text.get<std::string>().c_str(), nullptr);
}

// The least double that is not below `value`.
double Up(long double value) {
  const auto rounded = static_cast<double>(value);
  return rounded < value ? std::nextafter(rounded, kInfinity) : rounded;
}

// Never below the truth; above it by at most 1e-12 max(epsilon, mu).
void ExpectJustAbove(double computed, long double truth, double mu_squared) {
  const long double slack =
      1e-12L * std::max(truth, static_cast<long double>(std::sqrt(mu_squared)));
  EXPECT_GE(computed, truth);
  EXPECT_LE(computed, truth + slack);
}

TEST(Accounting, AgreesWithGoldenValuesAndIsNeverBelowThem) {
  const auto golden = ReadGolden("gaussian_accounting.json");
  ASSERT_EQ(golden["cases"].size(), 60u);
  for (const auto& item : golden["cases"]) {
    SCOPED_TRACE(item.dump());
    const long double mu = Number(item["mu"]);
    // The least double above mu^2, as a stored cost would be.
    const double mu_squared = std::nextafter(Up(mu * mu), kInfinity);
    const double delta = item["delta"];
    const auto rdp = EpsilonRdp(mu_squared, delta);
    const auto optimal = EpsilonRdpOptimal(mu_squared, delta);
    ASSERT_TRUE(rdp.ok() && optimal.ok());
    ExpectJustAbove(rdp->epsilon, Number(item["eps_rdp_mironov"]), mu_squared);
    ExpectJustAbove(optimal->epsilon, Number(item["eps_rdp_optimal"]),
                    mu_squared);
    ExpectJustAbove(*EpsilonGaussian(mu_squared, delta),
                    Number(item["eps_gdp_exact"]), mu_squared);
    const auto order = static_cast<double>(Number(item["rdp_optimal_order"]));
    EXPECT_NEAR(optimal->order, order, 1e-6 * order);
  }
}

TEST(Accounting, ChargesCompositionsAsTheGoldenValuesDo) {
  const auto golden = ReadGolden("gaussian_accounting.json");
  for (const auto& item : golden["cases"]) {
    SCOPED_TRACE(item.dump());
    const long double multiplier = item["noise_multiplier"].get<double>();
    const auto one = MuSquared::RoundUp(Up(1 / (multiplier * multiplier)));
    const auto cost =
        MuSquared::Multiply(*one, item["compositions"].get<std::uint32_t>());
    const auto epsilons = AllEpsilons(*cost, item["delta"]);
    ASSERT_TRUE(epsilons.ok());
    EXPECT_NEAR(
        epsilons->rdp / static_cast<double>(Number(item["eps_rdp_mironov"])), 1,
        1e-9);
    EXPECT_NEAR(epsilons->rdp_optimal /
                    static_cast<double>(Number(item["eps_rdp_optimal"])),
                1, 1e-9);
    EXPECT_NEAR(
        epsilons->gaussian / static_cast<double>(Number(item["eps_gdp_exact"])),
        1, 1e-9);
    EXPECT_GE(epsilons->rdp, Number(item["eps_rdp_mironov"]));
    EXPECT_GE(epsilons->rdp_optimal, Number(item["eps_rdp_optimal"]));
    EXPECT_GE(epsilons->gaussian, Number(item["eps_gdp_exact"]));
  }
}

TEST(Accounting, HoldsAtTheEndsOfItsRange) {
  const auto golden = ReadGolden("gaussian_accounting_extremes.json");
  ASSERT_GT(golden["cases"].size(), 200u);
  for (const auto& item : golden["cases"]) {
    SCOPED_TRACE(item.dump());
    const double mu_squared = item["mu_squared"], delta = item["delta"];
    ExpectJustAbove(EpsilonRdp(mu_squared, delta)->epsilon, Number(item["rdp"]),
                    mu_squared);
    ExpectJustAbove(EpsilonRdpOptimal(mu_squared, delta)->epsilon,
                    Number(item["rdp_optimal"]), mu_squared);
    ExpectJustAbove(*EpsilonGaussian(mu_squared, delta),
                    Number(item["gaussian"]), mu_squared);
  }
}

// e^epsilon overflows and Phi underflows here; plain doubles report half the
// truth. Phi(-5.97) = 1.2e-9 and Phi(-6) = 9.9e-10 enclose it.
TEST(Accounting, IsRightWhereTheTailsUnderflow) {
  const double epsilon = *EpsilonGaussian(2500, 1e-9);
  EXPECT_GT(epsilon, 1250 + 50 * 5.97);
  EXPECT_LT(epsilon, 1250 + 50 * 6.0);
}

TEST(Accounting, IsFiniteAndOrderedOverTheWholeRange) {
  for (double mu = 1e-6; mu <= 50; mu *= 1.7) {
    for (double delta = 0.5; delta >= 1e-300; delta *= 1e-7) {
      const auto epsilons = AllEpsilons(*MuSquared::RoundUp(mu * mu), delta);
      ASSERT_TRUE(epsilons.ok());
      ASSERT_TRUE(std::isfinite(epsilons->rdp));
      ASSERT_GE(epsilons->gaussian, 0);
      // Exact is the least, and the better Renyi conversion the next.
      ASSERT_LE(epsilons->gaussian, epsilons->rdp_optimal * (1 + 1e-12))
          << mu << " " << delta;
      ASSERT_LE(epsilons->rdp_optimal, epsilons->rdp * (1 + 1e-12))
          << mu << " " << delta;
      ASSERT_GT(epsilons->rdp_order, 1);
      ASSERT_GT(epsilons->rdp_optimal_order, 1);
    }
  }
}

TEST(Accounting, GrowsWithMuAndFallsWithDelta) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> log_mu(std::log(1e-6), std::log(50.0));
  std::uniform_real_distribution<double> log_delta(std::log(1e-300),
                                                   std::log(0.5));
  std::uniform_real_distribution<double> log_factor(std::log(1e-9),
                                                    std::log(1.0));
  for (int i = 0; i < 600; ++i) {
    const double mu = std::exp(log_mu(random)),
                 delta = std::exp(log_delta(random));
    const double factor = 1 + std::exp(log_factor(random));
    for (const Conversion conversion : kConversions) {
      const double here = *Epsilon(conversion, mu * mu, delta);
      const double more_mu = *Epsilon(conversion, mu * mu * factor, delta);
      const double more_delta =
          *Epsilon(conversion, mu * mu, std::min(0.9, delta * factor));
      ASSERT_LE(here, more_mu)
          << NameOf(conversion) << " " << mu << " " << delta;
      ASSERT_GE(here, more_delta)
          << NameOf(conversion) << " " << mu << " " << delta;
    }
  }
}

// delta -> epsilon -> delta: the curve read in both directions.
TEST(Accounting, ExactCurveReturnsTheDeltaItWasAskedFor) {
  for (const double mu : {1e-4, 0.01, 0.3, 1.0, 7.0, 50.0, 1000.0}) {
    for (const double delta : {1e-300, 1e-50, 1e-9, 1e-5}) {
      const double epsilon = *EpsilonGaussian(mu * mu, delta);
      if (epsilon == 0) continue;
      const double log_delta = LogDeltaGaussian(mu, epsilon);
      EXPECT_LE(log_delta, std::log(delta) + 1e-9) << mu << " " << delta;
      EXPECT_NEAR(log_delta, std::log(delta), 1e-7) << mu << " " << delta;
    }
  }
}

// Theorem 8 as it is printed, where doubles can still compute it.
TEST(Accounting, ExactCurveEqualsTheTheoremAsPrinted) {
  const auto phi = [](long double x) {
    return std::erfc(-x / std::sqrt(2.0L)) / 2;
  };
  for (const double mu : {0.1, 0.5, 1.0, 3.0, 8.0}) {
    for (const double epsilon : {0.0, 0.1, 1.0, 4.0}) {
      const long double delta = phi(-epsilon / mu + mu / 2) -
                                std::exp(static_cast<long double>(epsilon)) *
                                    phi(-epsilon / mu - mu / 2);
      if (delta < 1e-6L) continue;
      const auto expected = static_cast<double>(std::log(delta));
      EXPECT_NEAR(LogDeltaGaussian(mu, epsilon), expected, 1e-11)
          << mu << " " << epsilon;
    }
  }
}

// The ledger adds mu^2: n releases are one with sqrt(n) times the sensitivity,
// in whatever order they come.
TEST(Accounting, ManyReleasesCostWhatOneOfScaledSensitivityDoes) {
  for (const std::uint32_t n : {1u, 2u, 10u, 5000u}) {
    const double z = 7.25;  // 1 / z^2 is not a whole number of units
    const MuSquared one = *MuSquared::RoundUp(1 / (z * z));
    const MuSquared many = *MuSquared::Multiply(one, n);
    const double scaled = std::sqrt(static_cast<double>(n)) / z;
    for (const Conversion conversion : kConversions) {
      const double expected = *Epsilon(conversion, scaled * scaled, 1e-6);
      EXPECT_NEAR(*Epsilon(conversion, many, 1e-6) / expected, 1, 1e-12);
    }
  }
}

TEST(Accounting, DoesNotDependOnTheOrderOfReleases) {
  std::mt19937_64 random(12);
  std::vector<MuSquared> costs;
  for (int i = 0; i < 200; ++i) costs.push_back(MuSquared::FromUnits(random()));
  const auto total = [&] {
    MuSquared sum;
    for (const MuSquared cost : costs) sum = *MuSquared::Add(sum, cost);
    return sum;
  };
  const MuSquared before = total();
  std::shuffle(costs.begin(), costs.end(), random);
  EXPECT_EQ(total(), before);
}

TEST(Accounting, CostsNothingWhereNothingWasReleased) {
  const auto epsilons = AllEpsilons(MuSquared(), 1e-5);
  ASSERT_TRUE(epsilons.ok());
  EXPECT_EQ(epsilons->rdp, 0);
  EXPECT_EQ(epsilons->rdp_optimal, 0);
  EXPECT_EQ(epsilons->gaussian, 0);
  EXPECT_EQ(epsilons->rdp_order, kInfinity);
  EXPECT_EQ(epsilons->rdp_optimal_order, kInfinity);
}

// delta alone covers these: total variation is about mu / sqrt(2 pi).
TEST(Accounting, IsExactlyZeroWhereDeltaCoversEverything) {
  EXPECT_EQ(*EpsilonGaussian(1e-12, 1e-5), 0);
  EXPECT_EQ(*EpsilonGaussian(1, 0.5), 0);
  EXPECT_EQ(*EpsilonGaussian(100, 1 - 1e-9), 0);
  EXPECT_EQ(EpsilonRdpOptimal(1e-12, 1e-5)->epsilon, 0);
}

TEST(Accounting, TakesTheSmallestCosts) {
  for (const double mu_squared : {5e-324, 1e-310, 1e-300, 0x1p-60}) {
    for (const double delta : {5e-324, 1e-300, 0.5}) {
      for (const Conversion conversion : kConversions) {
        const double epsilon = *Epsilon(conversion, mu_squared, delta);
        // rdp has no delta that covers it: it is 0 at mu = 0 alone.
        EXPECT_TRUE(conversion == Conversion::kRdp ? epsilon > 0
                                                   : epsilon >= 0);
        EXPECT_LT(epsilon, 1e-7) << mu_squared << " " << delta;
      }
    }
  }
}

TEST(Accounting, RefusesDeltaOutsideTheOpenUnitInterval) {
  for (const double delta : {0.0, -0.0, -1e-9, 1.0, 2.0, kInfinity, kNan}) {
    for (const Conversion conversion : kConversions) {
      EXPECT_EQ(ReasonCode(Epsilon(conversion, 1.0, delta).status()),
                "delta-out-of-range");
      EXPECT_EQ(ReasonCode(Epsilon(conversion, 0.0, delta).status()),
                "delta-out-of-range");
      EXPECT_EQ(ReasonCode(LargestCost(conversion, 1.0, delta).status()),
                "delta-out-of-range");
    }
    EXPECT_EQ(ReasonCode(AllEpsilons(MuSquared(), delta).status()),
              "delta-out-of-range");
  }
}

TEST(Accounting, RefusesMuOutOfRange) {
  for (const double mu_squared : {-1.0, -5e-324, 1.0001e15, kInfinity, kNan}) {
    for (const Conversion conversion : kConversions) {
      const auto status = Epsilon(conversion, mu_squared, 1e-5).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(ReasonCode(status), "mu-out-of-range");
    }
  }
  EXPECT_EQ(
      ReasonCode(
          AllEpsilons(MuSquared::FromUnits(Uint128{1} << 119), 0.1).status()),
      "mu-out-of-range");
}

TEST(Accounting, RefusesEpsilonOutOfRange) {
  for (const double epsilon : {0.0, -1.0, 1000.1, kInfinity, kNan}) {
    const auto status = LargestCost(Conversion::kRdp, epsilon, 1e-5).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonCode(status), "epsilon-out-of-range");
  }
}

TEST(LargestCost, StaysWithinEpsilonAndWastesNothing) {
  for (const Conversion conversion : kConversions) {
    for (const double epsilon : {1e-6, 0.01, 0.5, 1.0, 10.0, 1000.0}) {
      for (const double delta : {1e-300, 1e-9, 1e-5, 0.4}) {
        SCOPED_TRACE(testing::Message()
                     << NameOf(conversion) << " " << epsilon << " " << delta);
        const auto cost = LargestCost(conversion, epsilon, delta);
        ASSERT_TRUE(cost.ok());
        EXPECT_LE(*Epsilon(conversion, *cost, delta), epsilon);
        // A relative 1e-10 (or one unit) more is too much.
        const MuSquared more = MuSquared::FromUnits(
            cost->units() + cost->units() / 10'000'000'000u + 1);
        EXPECT_GT(*Epsilon(conversion, more, delta), epsilon);
      }
    }
  }
}

// Its bits are in plans: they are those of a plain bisection.
TEST(LargestCost, IsWhatBisectionFinds) {
  const auto bisected = [](Conversion conversion, double epsilon,
                           double delta) {
    const auto fits = [&](Uint128 units) {
      return Epsilon(conversion, MuSquared::FromUnits(units), delta).value() <=
             epsilon;
    };
    const double l = -std::log(delta);
    const double root = epsilon / (std::sqrt(l + epsilon) + std::sqrt(l));
    Uint128 good = 0;
    Uint128 bad = MuSquared::RoundUp(2 * root * root).value().units() + 1;
    while (fits(bad)) good = std::exchange(bad, 2 * bad);
    while (bad - good > 1 + (good >> 46)) {
      const Uint128 middle = good + (bad - good) / 2;
      (fits(middle) ? good : bad) = middle;
    }
    return MuSquared::FromUnits(good);
  };
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> exponent(-12, 3), level(-14, -0.01);
  for (const Conversion conversion :
       {Conversion::kRdp, Conversion::kRdpOptimal, Conversion::kGaussian}) {
    for (int trial = 0; trial < 300; ++trial) {
      const double epsilon = std::pow(10.0, exponent(random));
      const double delta = std::pow(10.0, level(random));
      EXPECT_EQ(LargestCost(conversion, epsilon, delta)->units(),
                bisected(conversion, epsilon, delta).units())
          << NameOf(conversion) << ", epsilon " << epsilon << ", delta "
          << delta;
    }
    for (const double epsilon : {0.05, 0.5, 1.0, 4.0, 8.0, 16.0, 1000.0}) {
      EXPECT_EQ(LargestCost(conversion, epsilon, 1e-5)->units(),
                bisected(conversion, epsilon, 1e-5).units());
    }
  }
}

TEST(LargestCost, IsFiniteWhereDeltaAloneCoversAlmostEverything) {
  for (const Conversion conversion : kConversions) {
    const auto cost = LargestCost(conversion, 1000, 1 - 0x1p-52);
    ASSERT_TRUE(cost.ok());
    EXPECT_LT(cost->ToDouble(), 10'000);
    EXPECT_LE(*Epsilon(conversion, *cost, 1 - 0x1p-52), 1000);
  }
}

// sqrt(rho) = sqrt(l + epsilon) - sqrt(l): Proposition 1.3 solved for rho.
TEST(LargestCost, HasTheClosedFormOfRdp) {
  for (const double epsilon : {0.1, 1.0, 20.0}) {
    const double l = std::log(1e6);
    const double root = std::sqrt(l + epsilon) - std::sqrt(l);
    EXPECT_NEAR(LargestCost(Conversion::kRdp, epsilon, 1e-6)->ToDouble() /
                    (2 * root * root),
                1, 1e-12);
  }
}

TEST(LargestCost, GivesTheExactConversionTheMost) {
  const MuSquared rdp = *LargestCost(Conversion::kRdp, 1, 1e-6);
  const MuSquared optimal = *LargestCost(Conversion::kRdpOptimal, 1, 1e-6);
  const MuSquared gaussian = *LargestCost(Conversion::kGaussian, 1, 1e-6);
  EXPECT_LT(rdp, optimal);
  EXPECT_LT(optimal, gaussian);
}

TEST(RdpAtOrder, IsHalfTheOrderTimesMuSquared) {
  EXPECT_EQ(RdpAtOrder(*MuSquared::RoundUp(0.5), 8), 2);
  EXPECT_EQ(RdpAtOrder(MuSquared(), 8), 0);
}

// At its order, rdp is the Renyi bound plus log(1/delta) / (alpha - 1).
TEST(RdpAtOrder, GivesRdpAtTheOrderThatIsReported) {
  const MuSquared cost = *MuSquared::RoundUp(0.37);
  const auto rdp = EpsilonRdp(0.37, 1e-7);
  EXPECT_NEAR(RdpAtOrder(cost, rdp->order) + std::log(1e7) / (rdp->order - 1),
              rdp->epsilon, 1e-12);
}

TEST(Names, ReturnFromText) {
  for (const Conversion conversion : kConversions) {
    EXPECT_EQ(ConversionOfName(NameOf(conversion)), conversion);
  }
  for (const Adjacency adjacency :
       {Adjacency::kReplaceOne, Adjacency::kAddRemoveOne}) {
    EXPECT_EQ(AdjacencyOfName(NameOf(adjacency)), adjacency);
  }
  for (const char* name : {"", "RDP", "rdp ", "replace", "zcdp"}) {
    EXPECT_FALSE(ConversionOfName(name).has_value()) << name;
    EXPECT_FALSE(AdjacencyOfName(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace dpnmf
