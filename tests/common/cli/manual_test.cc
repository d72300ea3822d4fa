#include "common/cli/manual.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct PageValues {
  std::string host, file, colour = "red", label;
  bool quick = false;
  int threads = 4;
  std::vector<double> epsilons;
};

class Manual : public ::testing::Test {
 protected:
  Manual() {
    std::string name = ::testing::TempDir() + "dpnmf_manual_XXXXXX";
    directory_ = mkdtemp(name.data());
    const auto nothing = [] { return kExitOk; };
    program_.root = {
        .name = "my-tool",
        .summary = "A tool for tests: it has flags. And more.",
        .footer = ".begins like a request\nback\\slash",
        .flags = {Flag("--host", &values_.host, "Where to", {.env = true})},
        .commands = {
            {.name = "run",
             .summary = "Does the work",
             .footer = "Example:\n  my-tool run in.csv",
             .flags = {Flag("FILE", &values_.file, "File to read",
                            {.required = true}),
                       Flag("--colour,-c", &values_.colour, "Of the paint",
                            {.one_of = "red|green", .shown = true}),
                       Flag("--quick", &values_.quick, "'Tis soon over",
                            {.needs = "--colour"}),
                       Flag("--epsilon", &values_.epsilons, "Epsilons")},
             .run = nothing},
            {.name = "keep",
             .summary = "Keeps",
             .commands = {{.name = "show",
                           .summary = "Shows.",
                           .flags = {Flag("--label", &values_.label, "A label"),
                                     Flag("--threads", &values_.threads,
                                          "How many", {.range = {1, 64}})},
                           .run = nothing}}}}};
    program_.version = "1.2.3";
    program_.env_prefix = "TOOL_";
    program_.config = {.help = "A file"};
  }
  ~Manual() override { std::filesystem::remove_all(directory_); }

  // Returns the words that bash offers in place of the last word.
  std::vector<std::string> Offers(const std::vector<std::string>& words) const {
    const std::string file = (directory_ / "completion").string();
    std::ofstream(file) << BashCompletion(program_);
    std::string array;
    for (const std::string& word : words) array += " '" + word + "'";
    const std::string line =
        "bash --norc -euc 'source " + file +
        " 2>/dev/null; COMP_WORDS=($0 \"$@\"); COMP_CWORD=$#; _my_tool; "
        "printf \"%s\\n\" \"${COMPREPLY[@]}\"' my-tool" +
        array;
    std::vector<std::string> offers;
    FILE* const pipe = popen(line.c_str(), "r");
    std::string text;
    for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0) << line;
    std::istringstream lines(text);
    for (std::string one; std::getline(lines, one);)
      if (!one.empty()) offers.push_back(one);
    return offers;
  }

  std::filesystem::path directory_;
  PageValues values_;
  Program program_;
};

TEST_F(Manual, ThePageTellsWhatTheTablesTell) {
  const std::string page = ManualPage(program_);
  EXPECT_THAT(page,
              StartsWith(R"(.TH MY\-TOOL 1 "" "dpnmf 1.2.3" "User Commands"
.nh
.ad l
.SH NAME
my\-tool \- A tool for tests
.SH SYNOPSIS
\fBmy\-tool\fR \fICOMMAND\fR [\fIFLAG\fR]...
.SH DESCRIPTION
A tool for tests: it has flags. And more.
.SH OPTIONS
)"));
  EXPECT_THAT(page, HasSubstr(R"(.TP
\fB\-\-host\fR \fITEXT\fR
Where to. Variable: TOOL_HOST.
)"));
  EXPECT_THAT(page, HasSubstr(R"(.SS "run"
Does the work.
.TP
\fBFILE\fR
File to read. Required.
.TP
\fB\-\-colour\fR, \fB\-c\fR \fIred|green\fR
Of the paint. Default: red.
.TP
\fB\-\-quick\fR
\&'Tis soon over. Needs \-\-colour.
.TP
\fB\-\-epsilon\fR \fIFLOAT\fR ...
Epsilons.
.PP
.EX
Example:
  my\-tool run in.csv
.EE
.SS "keep"
Keeps.
.SS "keep show"
Shows.
)"));
  EXPECT_THAT(page, HasSubstr("\\&.begins like a request\nback\\eslash\n"));
}

TEST_F(Manual, CompletionKnowsCommandsAndFlagsOfThePlace) {
  EXPECT_THAT(Offers({"r"}), ElementsAre("run"));
  EXPECT_THAT(Offers({"k"}), ElementsAre("keep"));
  EXPECT_THAT(Offers({"keep", ""}),
              ElementsAre("show", "--help", "--version", "--config", "--host"));
  EXPECT_THAT(Offers({"keep", "show", "--l"}), ElementsAre("--label"));
  EXPECT_THAT(Offers({"run", "--l"}), IsEmpty());
  EXPECT_THAT(Offers({"run", "--q"}), ElementsAre("--quick"));
}

TEST_F(Manual, CompletionKnowsTheWordsOfAFlag) {
  EXPECT_THAT(Offers({"run", "--colour", ""}), ElementsAre("red", "green"));
  EXPECT_THAT(Offers({"run", "-c", "g"}), ElementsAre("green"));
  EXPECT_THAT(Offers({"run", "--colour", "="}), ElementsAre("red", "green"));
  EXPECT_THAT(Offers({"run", "--colour", "=", "r"}), ElementsAre("red"));
}

TEST_F(Manual, CompletionLeavesOtherValuesToBash) {
  for (const char* flag : {"--host", "--config", "--epsilon"})
    EXPECT_THAT(Offers({"run", flag, "r"}), IsEmpty()) << flag;
  EXPECT_THAT(BashCompletion(program_),
              HasSubstr("complete -o default -F _my_tool my-tool\n"));
}

TEST_F(Manual, CompletionTakesAValueForNoCommand) {
  EXPECT_THAT(Offers({"--host", "run", "--q"}), IsEmpty());
  EXPECT_THAT(Offers({"--host", "=", "run", "--q"}), IsEmpty());
  EXPECT_THAT(Offers({"--host", "x", "run", "--q"}), ElementsAre("--quick"));
}

TEST_F(Manual, AreBothPrintedByTheProgram) {
  for (const auto& [flag, text] :
       {std::pair<const char*, std::string>{"--manual", ManualPage(program_)},
        {"--completion", BashCompletion(program_)}}) {
    std::ostringstream out, err;
    const char* const argv[] = {"my-tool", flag};
    EXPECT_EQ(Main(program_, 2, argv, &out, &err), kExitOk);
    EXPECT_EQ(out.str(), text);
    EXPECT_EQ(err.str(), "");
  }
  // Anywhere else they are flags that there are not.
  std::ostringstream out, err;
  const char* const argv[] = {"my-tool", "run", "--manual"};
  EXPECT_EQ(Main(program_, 3, argv, &out, &err), kExitUsage);
  EXPECT_THAT(err.str(), HasSubstr("`--manual`"));
  EXPECT_THAT(out.str(), Not(HasSubstr(".TH")));
}

}  // namespace
}  // namespace dpnmf
