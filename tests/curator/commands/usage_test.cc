// Command lines that cannot be understood, and files that cannot be used.
#include <sstream>
#include <string>

#include "common/base/exit_code.h"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Usage : public Terminal {};

TEST_F(Usage, OneSentenceWithCodeAndHint) {
  const struct {
    const char *arguments, *sentence;
  } cases[] = {
      {"", "A command is required; see 'dpnmf-curator --help'. [usage]\n"},
      {"ledger",
       "A command is required; see 'dpnmf-curator ledger --help'. "
       "[usage]\n"},
      {"frobnicate",
       "There is no command `frobnicate`; see 'dpnmf-curator --help'"},
      {"--epsilon abc", "There is no flag `--epsilon`"},
      {"import --inpt F", "no flag `--inpt` (did you mean `--input`?); see "},
      {"import --inpt=F", "no flag `--inpt` (did you mean `--input`?); see "},
      {"import",
       "--name is required, unless with --dry-run; see 'dpnmf-curator import "
       "--help'. [usage]"},
      {"import --users people", "--users must be rows or columns; see"},
      {"import --epsilon abc", "--epsilon must be a number, not `abc`; see"},
      {"serve --threads 9999",
       "--threads must be a whole number from 0 to 1024, not 9999; see"},
      {"--config nope.toml serve",
       "The configuration file nope.toml cannot be read"},
      {"ledger show --las 3",
       "no flag `--las` (did you mean `--last`?); see 'dpnmf-curator ledger "
       "show"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Run(c.arguments), kExitUsage) << c.arguments;
    EXPECT_EQ(out_, "") << c.arguments;
    EXPECT_THAT(err_, StartsWith("dpnmf-curator: ")) << c.arguments;
    EXPECT_THAT(err_, HasSubstr(c.sentence)) << c.arguments;
    EXPECT_THAT(err_, EndsWith("[usage]\n")) << c.arguments;
    EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
  }
}

TEST_F(Usage, HelpAndVersionAreNoErrors) {
  for (const char* arguments : {"--help", "import --help", "--version"}) {
    EXPECT_EQ(Run(arguments), kExitOk) << arguments;
    EXPECT_NE(out_, "") << arguments;
    EXPECT_EQ(err_, "") << arguments;
  }
}

// All but the names of flags, which cannot be broken.
TEST_F(Usage, HelpFitsATerminal) {
  for (const std::string command :
       {"", "import", "serve", "doctor", "transform", "synthesise", "publish",
        "recommend", "join-parts", "remove", "close", "forget"}) {
    ASSERT_EQ(Run(command + " --help"), kExitOk) << command;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  -")) continue;
      EXPECT_LE(line.size(), 88u) << command << ": " << line;
    }
  }
}

TEST_F(Usage, AddressesAreCheckedBeforeAnythingElse) {
  const std::string files =
      " --data-dir none --allow none --ca none --cert none --key none";
  for (const char* listen :
       {"127.0.0.1", "127.0.0.1:99999", "127.0.0.1:-1", ":7431"}) {
    for (const char* command : {"serve", "doctor"}) {
      EXPECT_EQ(Run(std::string(command) + " --listen " + listen + files),
                kExitUsage)
          << command << listen;
      EXPECT_THAT(err_, AllOf(HasSubstr("`--listen`: "),
                              HasSubstr("[address-malformed]")))
          << command << listen;
      EXPECT_EQ(out_, "");
    }
    EXPECT_EQ(Run(std::string("health --listen ") + listen +
                  " --ca none --cert none --key none"),
              kExitUsage);
    EXPECT_THAT(err_, AllOf(HasSubstr("`--listen`: "),
                            HasSubstr("[address-malformed]")))
        << listen;
  }
  for (const std::string flag : {"--metrics-listen", "--recommend-listen"}) {
    EXPECT_EQ(Run("serve " + flag + " 127.0.0.1:65536" + files), kExitUsage);
    EXPECT_THAT(err_, AllOf(HasSubstr("`" + flag + "`: "),
                            HasSubstr("[address-malformed]")));
  }
  Run("serve --listen 127.0.0.1:0" + files);
  EXPECT_THAT(err_, ::testing::Not(HasSubstr("address-malformed")));
}

TEST_F(Usage, OwnTlsFilesThatAreNoGoodAreExitCode6) {
  EXPECT_EQ(Run("health --ca none --cert none --key none"), kExitDenied);
  EXPECT_THAT(err_, HasSubstr("[tls-file-unreadable]"));
}

}  // namespace
}  // namespace dpnmf::curator
