// Flags, configuration, help and usage errors of the commands.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/program_fixture.h"

namespace dpnmf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Flags.

TEST_F(Program, HelpTeachesEpsilonExamplesAndExitCodes) {
  EXPECT_EQ(Run({"--help"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("What epsilon means"), HasSubstr("Examples:"),
                    HasSubstr("Exit codes:"), HasSubstr("DPNMF_SERVER")));
}

TEST_F(Program, EverySubcommandHasHelpWithAnExample) {
  for (const char* command :
       {"datasets", "plan", "train", "watch", "runs", "show", "cancel",
        "forget", "budget", "model", "account", "doctor", "refit", "export",
        "add-release"}) {
    EXPECT_EQ(Run({command, "--help"}), kExitOk) << command;
    EXPECT_THAT(out_.str(), HasSubstr(std::string("dpnmf ") + command));
    EXPECT_THAT(out_.str(), HasSubstr("Example")) << command;
  }
}

TEST_F(Program, HelpFitsEightyColumns) {
  for (const char* command :
       {"", "datasets", "plan", "train", "watch", "runs", "show", "cancel",
        "forget", "budget", "model", "account", "doctor", "refit", "export",
        "add-release"}) {
    EXPECT_EQ(*command == '\0' ? Run({"--help"}) : Run({command, "--help"}),
              kExitOk);
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 88u) << line;
  }
}

TEST_F(Program, BadFlagsAreUsageErrors) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"no-such-command"},
      {"datasets", "--no-such-flag"},
      {"plan"},
      {"plan", "--dataset", "d", "--rank", "-1", "--epsilon", "1"},
      {"plan", "--dataset", "d", "--rank", "2.5", "--epsilon", "1"},
      {"plan", "--dataset", "d", "--rank", "2", "--epsilon", "much"},
      {"plan", "--dataset", "d", "--rank", "2", "--epsilon", "1", "--outliers",
       "maybe"},
      {"datasets", "--format", "xml"},
      {"train", "--dataset", "digits", "--rank", "2"},
      {"train", "--datasets", "jan", "--rank", "2"},
      {"train", "--datasets", "jan,jan", "--rank", "2"},
      {"train", "--datasets", "jan,feb", "--rank", "2", "--dataset", "jan"},
      {"train", "--datasets", "jan,feb", "--rank", "2", "--federation", "all"},
      {"train", "--datasets", "jan,feb", "--rank", "2", "--mechanism",
       "statistics"},
      {"show"}};
  for (const auto& arguments : wrong) {
    EXPECT_EQ(Run(arguments), kExitUsage)
        << ::testing::PrintToString(arguments);
    EXPECT_THAT(err_.str(),
                AllOf(StartsWith("dpnmf: "), HasSubstr("--help'. [usage]")));
    EXPECT_THAT(out_.str(), IsEmpty());
  }
}

TEST_F(Program, WhatIsUnknownIsNamedBeforeWhatIsMissing) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"plan", "--dataset", "visits", "--rnk", "4", "--epsilon", "1"},
       "There is no flag `--rnk` (did you mean `--rank`?); see 'dpnmf plan "
       "--help'."},
      {{"plan", "--rnk=4"},
       "There is no flag `--rnk` (did you mean `--rank`?); see 'dpnmf plan "
       "--help'."},
      {{"pln"},
       "There is no command `pln` (did you mean `plan`?); see 'dpnmf --help'."},
      {{"pln", "--dataset", "visits"},
       "There is no command `pln` (did you mean `plan`?); see 'dpnmf --help'."},
      {{"receipts", "exprt"},
       "There is no command `exprt` (did you mean `export`?); see 'dpnmf "
       "receipts --help'."},
      {{"datasets", "--colour"},
       "There is no flag `--colour`; see 'dpnmf datasets --help'."},
      {{"datasets", "digits"},
       "Unexpected `digits`; see 'dpnmf datasets --help'."},
      {{"plan", "--dataset", "digits", "--epsilon", "1"},
       "--rank is required for a data set that does not hold ratings; see "
       "'dpnmf plan --help'."},
      {{"plan", "--rank"}, "--rank needs a value; see 'dpnmf plan --help'."},
      {{"plan", "--epsilon", "much"},
       "--epsilon must be a number, not `much`; see 'dpnmf plan --help'."},
      {{"datasets", "--format", "xml"},
       "--format must be text or json; see 'dpnmf datasets --help'."},
      {{"plan", "--outliers", "maybe"},
       "--outliers must be on or off; see 'dpnmf plan --help'."}};
  for (const auto& [arguments, sentence] : wrong) {
    EXPECT_EQ(Run(arguments), kExitUsage);
    EXPECT_EQ(err_.str(), "dpnmf: " + sentence + " [usage]\n");
  }
}

TEST_F(Program, RunsOnRatingsNeedNoRank) {
  analyst().datasets.mutable_datasets(0)->mutable_ratings()->set_high_units(5);
  EXPECT_EQ(Run({"plan", "--dataset", "digits", "--epsilon", "1"}), kExitOk);
  EXPECT_EQ(parameters().rank(), 0u);
  EXPECT_EQ(parameters().profile_directions(), 0u);
  EXPECT_EQ(parameters().shares_size(), 0);
  EXPECT_EQ(RunWith("plan", {"--shares", "0.25,0,0.5,0,0.25",
                             "--profile-directions", "3"}),
            kExitOk);
  EXPECT_EQ(parameters().rank(), 2u);
  EXPECT_EQ(parameters().profile_directions(), 3u);
  EXPECT_EQ(std::vector<double>(parameters().shares().begin(),
                                parameters().shares().end()),
            (std::vector<double>{0.25, 0, 0.5, 0, 0.25}));
}

TEST_F(Program, AFlagThatRunsOnRatingsDoNotUseIsRefused) {
  analyst().datasets.mutable_datasets(0)->mutable_ratings()->set_high_units(5);
  const std::vector<std::vector<std::string>> refused = {
      {"--outliers", "on"},
      {"--share-of-a", "0.2"},
      {"--step-size", "0.5"},
      {"--shares", "0.5,0.4,0.1,0,0", "--profile-directions", "3"}};
  for (const auto& flags : refused) {
    EXPECT_EQ(RunWith("plan", flags), kExitUsage);
    EXPECT_THAT(err_.str(),
                HasSubstr(" has no effect on a run with --mechanism ratings; "
                          "remove it. [flag-unused]"))
        << ::testing::PrintToString(flags);
  }
}

TEST_F(Program, SharesAreFiveNumbersThatAddUpToOneAtMost) {
  for (const char* shares :
       {"1", "0.5,0.5,0,0", "0.2,0.2,0.2,0.2,0.3", "-0.1,0.2,0.2,0.2,0.2",
        "0.1,0.1,0.1,0.1,0.1,0.1", "nan,0,0,0,0", "inf,0,0,0,0"}) {
    EXPECT_EQ(RunWith("plan", {"--shares", shares}), kExitUsage) << shares;
  }
  EXPECT_EQ(RunWith("plan", {"--shares", "0.5,0.5,0,0"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("[share-out-of-range]"));
  EXPECT_EQ(RunWith("plan", {"--rank", "0"}), kExitUsage);
  EXPECT_EQ(RunWith("plan", {"--profile-directions", "0"}), kExitUsage);
}

TEST_F(Program, NumbersThatAreNoneAreRefused) {
  for (const char* number :
       {"-1", "99999999999999999999", "18446744073709551616", "1.5", "x"}) {
    EXPECT_EQ(RunWith("plan", {"--seed", number}), kExitUsage) << number;
    EXPECT_EQ(err_.str(),
              "dpnmf: --seed must be a whole number from 0 to "
              "18446744073709551615, not " +
                  std::string(number) + "; see 'dpnmf plan --help'. [usage]\n");
  }
  EXPECT_EQ(RunWith("plan", {"--seed", "18446744073709551615"}), kExitOk);
  EXPECT_EQ(analyst().last_specification.learner().seed(),
            18446744073709551615u);
  // 1 after a turn around 2^64.
  EXPECT_EQ(RunWith("plan", {"--rounds", "-18446744073709551615"}), kExitUsage);
}

TEST_F(Program, AZeroThatWasGivenIsNoDefault) {
  const std::vector<std::array<std::string, 3>> refused = {
      {"--rounds", "0", "rounds-out-of-range"},
      {"--moment-rows", "0", "moment-rows-out-of-range"},
      {"--inner-iterations", "0", "inner-iterations-out-of-range"},
      {"--steps-per-round", "0", "steps-out-of-range"},
      {"--step-size", "0", "step-size-out-of-range"},
      {"--step-size", "nan", "step-size-out-of-range"},
      {"--share-of-a", "0", "share-out-of-range"},
      {"--share-of-a", "1", "share-out-of-range"},
      {"--share-of-moments", "0", "share-out-of-range"}};
  for (const auto& [flag, value, code] : refused) {
    EXPECT_EQ(RunWith("train", {flag, value}), kExitUsage) << flag;
    EXPECT_THAT(err_.str(), AllOf(HasSubstr("`" + flag + "` must "),
                                  HasSubstr("[" + code + "]")));
  }
  EXPECT_FALSE(analyst().last_specification.has_parameters());
}

TEST_F(Program, AnAddressThatIsNoneIsAUsageError) {
  for (const char* address : {"foo", "127.0.0.1:99999", "localhost:"}) {
    EXPECT_EQ(Run({"datasets", "--server", address}), kExitUsage) << address;
    EXPECT_THAT(err_.str(), HasSubstr("[address-malformed]"));
  }
}

TEST_F(Program, GlobalFlagsStandBeforeOrAfterTheCommand) {
  EXPECT_EQ(Run({"--server", "a:1", "datasets"}), kExitOk);
  EXPECT_EQ(server_name_, "a:1");
  EXPECT_EQ(Run({"datasets", "--server", "b:2"}), kExitOk);
  EXPECT_EQ(server_name_, "b:2");
}

TEST_F(Program, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
  std::ofstream(Path("c.toml")) << "server = \"file:3\"\n[plan]\nrounds = 77\n";
  const std::string config = Path("c.toml");
  EXPECT_EQ(RunWith("plan", {"--config", config}), kExitOk);
  EXPECT_EQ(server_name_, "file:3");
  EXPECT_EQ(parameters().rounds(), 77u);
  setenv("DPNMF_SERVER", "environment:2", 1);
  EXPECT_EQ(Run({"--config", config, "datasets"}), kExitOk);
  EXPECT_EQ(server_name_, "environment:2");
  EXPECT_EQ(Run({"--config", config, "datasets", "--server", "flag:1"}),
            kExitOk);
  EXPECT_EQ(server_name_, "flag:1");
}

TEST_F(Program, TheUsersConfigurationIsReadByItself) {
  std::filesystem::create_directories(Path(".config"));
  std::ofstream(Path(".config/dpnmf.toml")) << "server = \"home:4\"\n";
  EXPECT_EQ(Run({"datasets"}), kExitOk);
  EXPECT_EQ(server_name_, "home:4");
}

TEST_F(Program, AMissingOrWrongConfigurationIsAUsageError) {
  EXPECT_EQ(Run({"--config", Path("absent.toml"), "datasets"}), kExitUsage);
  std::ofstream(Path("c.toml")) << "sever = \"typo\"\n";
  EXPECT_EQ(Run({"--config", Path("c.toml"), "datasets"}), kExitUsage);
  EXPECT_EQ(err_.str(),
            "dpnmf: The configuration file " + Path("c.toml") +
                " has a key that is not the name of a flag: `sever` (did "
                "you mean `server`?); see 'dpnmf datasets --help'. "
                "[usage]\n");
  setenv("DPNMF_CONFIG", Path("absent.toml").c_str(), 1);
  EXPECT_EQ(Run({"datasets"}), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr(Path("absent.toml") + " cannot be read"));
}

TEST_F(Program, HelpRequiresNoConfigurationFile) {
  for (const std::string file : {"", "absent.toml"}) {
    setenv("DPNMF_CONFIG", file.c_str(), 1);
    EXPECT_EQ(Run({"--help"}), kExitOk);
    EXPECT_THAT(out_.str(), HasSubstr("--config FILE" +
                                      (file.empty() ? "" : "=" + file) + "  "));
    EXPECT_THAT(out_.str(), HasSubstr("[DPNMF_CONFIG,"));
    EXPECT_THAT(out_.str(), Not(HasSubstr("REQUIRED")));
  }
}

TEST_F(Program, DoctorReportsEachCheckAndFailsWithSeven) {
  EXPECT_EQ(Run({"doctor", "--ca", "/nowhere/ca.crt", "--server", "localhost:1",
                 "--format", "json"}),
            kExitState);
  const auto json = nlohmann::json::parse(out_.str());
  EXPECT_FALSE(json["ok"]);
  EXPECT_FALSE(json["checks"].empty());
}

}  // namespace
}  // namespace dpnmf::cli
