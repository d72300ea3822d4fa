#include "client/session/account.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "common/base/error.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dpnmf::cli {
namespace {

// Computed with mpmath at 50 digits: tests/golden/gaussian_accounting.json.
TEST(Account, AgreesWithGoldenValuesAndIsNeverBelow) {
  std::ifstream file(DPNMF_GOLDEN_ACCOUNTING);
  ASSERT_TRUE(file.is_open());
  const auto golden = nlohmann::json::parse(file);
  ASSERT_GT(golden["cases"].size(), 10u);
  for (const auto& golden_case : golden["cases"]) {
    SCOPED_TRACE(golden_case.dump());
    const auto report = Account(golden_case["compositions"].get<int>(),
                                golden_case["noise_multiplier"].get<double>(),
                                golden_case["delta"].get<double>());
    ASSERT_TRUE(report.ok()) << report.status();
    const auto expect = [&](const char* name, double actual) {
      const double truth = std::stod(golden_case[name].get<std::string>());
      EXPECT_GE(actual, truth) << name;
      EXPECT_LE(actual, truth * (1 + 1e-9) + 1e-300) << name;
    };
    expect("eps_rdp_mironov", report->epsilon().rdp());
    expect("eps_rdp_optimal", report->epsilon().rdp_optimal());
    expect("eps_gdp_exact", report->epsilon().gaussian());
    EXPECT_NEAR(report->mu() / std::stod(golden_case["mu"].get<std::string>()),
                1, 1e-12);
    EXPECT_NEAR(
        report->rho() / std::stod(golden_case["rho_zcdp"].get<std::string>()),
        1, 1e-12);
  }
}

TEST(Account, ExactCostsStayExact) {
  const auto report = Account(4, 2, 1e-5);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->mu(), 1);
  EXPECT_EQ(report->rho(), 0.5);
}

TEST(Account, MuAndRhoAreTheNearest) {
  const auto report = Account(30, 20, 1e-5);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->rho(), 0.0375);
}

TEST(Account, RefusesWhatIsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto code = [](std::uint32_t releases, double noise, double delta) {
    return ReasonCode(Account(releases, noise, delta).status());
  };
  EXPECT_EQ(code(0, 1, 0.1), "releases-out-of-range");
  for (const double noise : {0.0, -1.0, nan, infinity})
    EXPECT_EQ(code(1, noise, 0.1), "noise-multiplier-out-of-range") << noise;
  for (const double delta : {0.0, 1.0, -1.0, nan, infinity})
    EXPECT_EQ(code(1, 1, delta), "delta-out-of-range") << delta;
  EXPECT_EQ(code(1, 1e-200, 0.1), "mu-out-of-range");
}

}  // namespace
}  // namespace dpnmf::cli
