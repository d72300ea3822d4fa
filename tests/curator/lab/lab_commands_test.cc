// dpnmf-lab as an operator types it.
#include "common/base/exit_code.h"
#include "tests/curator/commands/terminal.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LabCommands : public Terminal {};

TEST_F(LabCommands, OneSentenceWithCodeAndHint) {
  const struct {
    const char *arguments, *sentence;
  } cases[] = {
      {"", "A subcommand is required; see 'dpnmf-lab --help'. [usage]\n"},
      {"serve", "There is no command `serve`; see 'dpnmf-lab --help'"},
      {"evaluate --rnk 3", "no flag `--rnk` (did you mean `--rank`?); see "},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Run(c.arguments), kExitUsage) << c.arguments;
    EXPECT_THAT(err_, StartsWith("dpnmf-lab: ")) << c.arguments;
    EXPECT_THAT(err_, HasSubstr(c.sentence)) << c.arguments;
  }
}

TEST_F(LabCommands, HelpSaysThatNothingIsPrivate) {
  EXPECT_EQ(Run("--help"), kExitOk);
  EXPECT_THAT(out_, HasSubstr("WITHOUT PRIVACY"));
}

TEST_F(LabCommands, FactorizeWritesNpyAlone) {
  const std::string factorize =
      "factorize --input v.csv --users rows --rank 1 --iterations 2 --output ";
  EXPECT_EQ(Run(factorize + "f.csv"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("[file-type-unknown]"));
  EXPECT_FALSE(Exists("f.csv"));
  EXPECT_EQ(Run(factorize + "none/f.npy"), kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("[directory-not-found]"));
  EXPECT_EQ(Run(factorize + "f.npy"), kExitOk) << err_;
  EXPECT_TRUE(Exists("f.npy"));
}

}  // namespace
}  // namespace dpnmf::curator::lab
