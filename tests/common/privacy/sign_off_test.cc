// The table of docs/reference/sign_off.md is what the accounting says.
#include <cmath>
#include <fstream>
#include <regex>
#include <string>

#include "common/privacy/accounting.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

// Standard normal distribution function.
double Phi(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// By bisection; p in (0, 1).
double PhiInverse(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (Phi(middle) < p ? low : high) = middle;
  }
  return low;
}

// Most that is found at this rate of false alarms (Dong, Roth and Su 2022).
double Power(double false_alarms, double mu) {
  return Phi(PhiInverse(false_alarms) + mu);
}

TEST(SignOff, TheTableIsTheAccountings) {
  constexpr double kDelta = 1e-5;
  std::ifstream page(DPNMF_DOCS "/reference/sign_off.md");
  const std::regex row(
      R"(\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \|)");
  std::smatch cells;
  int rows = 0;
  for (std::string line; std::getline(page, line);) {
    if (!std::regex_match(line, cells, row)) continue;
    ++rows;
    const double epsilon = std::stod(cells[1]);
    const double mu_squared =
        LargestCost(Conversion::kGaussian, epsilon, kDelta).value().ToDouble();
    const double mu = std::sqrt(mu_squared);
    EXPECT_NEAR(std::stod(cells[2]), mu, 0.0006) << line;
    EXPECT_NEAR(std::stod(cells[3]), EpsilonRdp(mu_squared, kDelta)->epsilon,
                0.006)
        << line;
    EXPECT_NEAR(std::stod(cells[4]), 100 * Phi(mu / 2), 0.06) << line;
    EXPECT_NEAR(std::stod(cells[5]), 100 * Power(0.01, mu), 0.06) << line;
    EXPECT_NEAR(std::stod(cells[6]), 100 * Power(0.001, mu), 0.006) << line;
  }
  EXPECT_EQ(rows, 6);
}

}  // namespace
}  // namespace dpnmf
