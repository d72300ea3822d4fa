// dpnmf-analyst as it is installed: what it says of its command line.
#include <array>
#include <fstream>
#include <string>

#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/analyst/run_program.h"
#include "tests/common/base/scratch_directory.h"

namespace dpnmf::analyst {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kFiles[] =
    " --state-dir /nowhere --clients /nowhere --ca /nowhere --cert /nowhere "
    "--key /nowhere";

Outcome RunBinary(const std::string& arguments) {
  return RunProgram(std::string(DPNMF_ANALYST_PROGRAM) + " " + arguments);
}

TEST(ServerBinary, UsageErrorsHaveNameCodeAndHint) {
  const std::array<std::array<std::string, 2>, 4> wrong = {{
      {"", "A command is required; see 'dpnmf-analyst --help'."},
      {"serv",
       "There is no command `serv` (did you mean `serve`?); see "
       "'dpnmf-analyst --help'."},
      {"serve --lsten a:1",
       "There is no flag `--lsten` (did you mean `--listen`?); see "
       "'dpnmf-analyst serve --help'."},
      {"serve --log-level loud",
       "--log-level must be info, warn, error or off; see 'dpnmf-analyst serve "
       "--help'."},
  }};
  for (const auto& [arguments, sentence] : wrong) {
    const Outcome outcome = RunBinary(arguments);
    EXPECT_EQ(outcome.exit_code, kExitUsage);
    EXPECT_EQ(outcome.text, "dpnmf-analyst: " + sentence + " [usage]\n");
  }
}

TEST(ServerBinary, AddressesThatAreNoneAreRefusedBeforeAnythingIsOpened) {
  for (const char* flags :
       {"--curator foo", "--curator localhost:99999", "--curator localhost:0",
        "--curator localhost:1 --listen foo",
        "--curator localhost:1 --listen 127.0.0.1:70000",
        "--curator localhost:1 --metrics-listen 127.0.0.1:70000"}) {
    const Outcome outcome = RunBinary(std::string("serve ") + flags + kFiles);
    EXPECT_EQ(outcome.exit_code, kExitUsage) << flags;
    EXPECT_THAT(outcome.text, AllOf(StartsWith("dpnmf-analyst: `--"),
                                    HasSubstr("[address-malformed]")));
  }
  EXPECT_THAT(RunBinary(std::string("serve --curator localhost:1 --listen "
                                    "127.0.0.1:0 --log-level warn") +
                        kFiles)
                  .text,
              AllOf(HasSubstr("/nowhere"), Not(HasSubstr("address"))));
}

TEST(ServerBinary, TheEnvironmentWinsOverTheFile) {
  const ScratchDirectory scratch;
  const std::string config = scratch.PathOf("dpnmf_analyst.toml");
  std::ofstream(config) << "[serve]\nlisten = \"foo\"\n"
                           "curator = \"localhost:1\"\n";
  const std::string arguments = DPNMF_ANALYST_PROGRAM " --config " + config +
                                " serve --log-level warn" + kFiles;
  EXPECT_THAT(RunProgram(arguments).text, HasSubstr("`foo` is not an address"));
  EXPECT_THAT(
      RunProgram("env DPNMF_ANALYST_LISTEN=127.0.0.1:0 " + arguments).text,
      AllOf(HasSubstr("/nowhere"), Not(HasSubstr("address"))));
  EXPECT_THAT(RunProgram("env DPNMF_ANALYST_LISTEN=127.0.0.1:0 " + arguments +
                         " --listen bar")
                  .text,
              HasSubstr("`bar` is not an address"));
}

TEST(ServerBinary, AKeyThatNoFlagIsCalledIsRefused) {
  const ScratchDirectory scratch;
  const std::string config = scratch.PathOf("dpnmf_analyst.toml");
  std::ofstream(config) << "[serve]\nclinets = \"clients.json\"\n";
  const Outcome outcome = RunBinary("--config " + config + " serve");
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.text,
              HasSubstr("`serve.clinets` (did you mean `clients`?)"));
}

TEST(ServerBinary, DoctorSaysThatAnAddressIsNone) {
  const Outcome outcome =
      RunBinary(std::string("doctor --curator foo --listen bar --audit-log "
                            "/nowhere/audit.jsonl") +
                kFiles);
  EXPECT_EQ(outcome.exit_code, kExitState);
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("`--curator`: `foo` is not an address"),
                    HasSubstr("`--listen`: `bar` is not an address")));
}

TEST(ServerBinary, HelpNamesEveryRole) {
  const Outcome outcome = RunBinary("serve --help");
  EXPECT_EQ(outcome.exit_code, kExitOk);
  for (const char* role : {"analyst", "operator", "auditor"})
    EXPECT_THAT(outcome.text, HasSubstr(role));
}

}  // namespace
}  // namespace dpnmf::analyst
