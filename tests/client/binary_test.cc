// The program as it is installed, in a process of its own.
#include <string>

#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/analyst/run_program.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Without a configuration of the machine's user.
Outcome RunBinary(const std::string& arguments) {
  return RunProgram(
      "env -u DPNMF_SERVER -u DPNMF_CA -u DPNMF_CERT -u DPNMF_KEY "
      "HOME=/nowhere " DPNMF_PROGRAM " " +
      arguments);
}

TEST(Binary, PrintsItsVersion) {
  const Outcome outcome = RunBinary("--version");
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_THAT(outcome.text, ::testing::MatchesRegex("dpnmf [0-9.]+\n"));
}

TEST(Binary, PrintsHelp) {
  const Outcome outcome = RunBinary("train --help");
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_THAT(outcome.text, HasSubstr("--epsilon"));
}

TEST(Binary, RefusesUnknownFlags) {
  const Outcome outcome = RunBinary("datasets --colour");
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.text,
              AllOf(StartsWith("dpnmf: "), HasSubstr("--colour")));
}

// 2 compositions, noise multiplier 1, delta 1e-6 of
// tests/golden/gaussian_accounting.json.
TEST(Binary, AccountNeedsNoServer) {
  const std::string arguments =
      "account --releases 2 --noise-multiplier 1 --delta 1e-6";
  const Outcome text = RunBinary(arguments);
  EXPECT_EQ(text.exit_code, kExitOk);
  EXPECT_THAT(text.text,
              AllOf(HasSubstr("epsilon.rdp          8.4338443777 "),
                    HasSubstr("epsilon.rdp_optimal  7.76621662532 "),
                    HasSubstr("epsilon.gaussian     7.28608096642\n"),
                    HasSubstr("mu                   1.41421356237\n"),
                    HasSubstr("rho                  1\n")));
  const Outcome json = RunBinary(arguments + " --format json");
  EXPECT_EQ(json.exit_code, kExitOk);
  EXPECT_NEAR(nlohmann::json::parse(json.text)["epsilon"]["gaussian"],
              7.2860809664186076594, 1e-8);
}

TEST(Binary, AccountRefusesNan) {
  const Outcome outcome =
      RunBinary("account --releases 2 --noise-multiplier nan --delta 1e-6");
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.text, HasSubstr("[noise-multiplier-out-of-range]"));
}

TEST(Binary, SaysWhichTlsFlagIsMissing) {
  const Outcome outcome = RunBinary("datasets");
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("--ca"), HasSubstr("DPNMF_CA"),
                                  HasSubstr("[tls-files-missing]")));
}

TEST(Binary, SaysWhichTlsFileCannotBeRead) {
  const Outcome outcome = RunBinary(
      "datasets --ca /nowhere/ca.pem --cert /nowhere/c.pem --key "
      "/nowhere/k.pem");
  EXPECT_EQ(outcome.exit_code, kExitDenied);
  EXPECT_THAT(outcome.text, HasSubstr("/nowhere/"));
}

}  // namespace
}  // namespace dpnmf::cli
