// dpnmf-lab as an operator types it.
#include "absl/strings/str_cat.h"
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
      {"", "A command is required; see 'dpnmf-lab --help'. [usage]\n"},
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

TEST_F(LabCommands, EntriesThatLookLikeNamesAreNoted) {
  std::string ids;
  for (int i = 0; i < 80; ++i)
    absl::StrAppend(&ids, 1000 + i * 7 % 97, ",", i / 2 % 2, "\n");
  scratch_.Write("ids.csv", ids);
  const std::string more = " --input ids.csv --users rows --rank 1 ";
  for (const std::string& line :
       {"factorize" + more + "--iterations 2 --output f.npy",
        "evaluate" + more +
            "--epsilon 1 --public --mechanism mean --repeats 1 "
            "--output done"}) {
    EXPECT_EQ(Run(line), kExitOk) << err_;
    EXPECT_THAT(err_, HasSubstr("dpnmf-lab: note: Column 1 is read as data"));
  }
}

TEST_F(LabCommands, AReportIsReplacedOnlyByForce) {
  std::string many;
  for (int i = 0; i < 40; ++i) many += "1,2\n3,1\n";
  scratch_.Write("many.csv", many);
  const std::string evaluate =
      "evaluate --input many.csv --users rows --rank 1 --epsilon 1 --public "
      "--mechanism mean --repeats 1 --output done";
  EXPECT_EQ(Run(evaluate), kExitOk) << err_;
  const std::string report = ReadAll(scratch_.path() + "/done/report.html");
  scratch_.Write("done/report.html", "mine");
  EXPECT_EQ(Run(evaluate), kExitState);
  EXPECT_THAT(err_, HasSubstr("[report-exists]"));
  EXPECT_EQ(ReadAll(scratch_.path() + "/done/report.html"), "mine");
  EXPECT_EQ(Run(evaluate + " --force"), kExitOk) << err_;
  EXPECT_GT(ReadAll(scratch_.path() + "/done/report.html").size(),
            report.size() / 2);
}

TEST_F(LabCommands, AReportOfRatingsIsKeptToo) {
  ASSERT_TRUE(std::filesystem::create_directory(scratch_.path() + "/done"));
  scratch_.Write("done/results.json", "{}");
  scratch_.Write("r.csv", "a,x,1\nb,y,2\nb,x,1\n");
  EXPECT_EQ(Run("evaluate --ratings r.csv --items r.csv --rating-range 1,2 "
                "--epsilon 1 --output done"),
            kExitState);
  EXPECT_THAT(err_, HasSubstr("[report-exists]"));
  EXPECT_EQ(ReadAll(scratch_.path() + "/done/results.json"), "{}");
}

}  // namespace
}  // namespace dpnmf::curator::lab
