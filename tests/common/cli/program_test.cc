#include "common/cli/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/threads/interruption.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct Values {
  std::string name = "none";
  std::string colour = "red";
  std::string file;
  std::string label;
  std::string output;
  std::string state;
  std::string start;
  std::vector<std::string> inputs;
  bool quick = false;
  double rate = 0.5;
  int threads = 4;
  std::uint64_t seed = 1;
  std::optional<std::uint32_t> rounds;
  std::optional<double> lambda;
  std::vector<std::string> words = {"all"};
  std::vector<double> epsilons;
};

// A program with the flags of all kinds:
//   tool [--name] run [--colour] ... FILE
//   tool keep show, tool health, tool fail
class CommandLine : public ::testing::Test {
 protected:
  CommandLine() {
    std::string name = ::testing::TempDir() + "dpnmf_cli_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~CommandLine() override {
    for (const char* variable : {"TOOL_NAME", "TOOL_THREADS", "TOOL_QUICK",
                                 "TOOL_COLOUR", "TOOL_OUTPUT"})
      unsetenv(variable);
    std::filesystem::remove_all(directory_);
  }

  Command RunCommand() {
    return {
        .name = "run",
        .summary = "Does the work",
        .footer = "Example:\n  tool run in.csv",
        .flags =
            {Flag("FILE", &values_.file, "File to read", {.required = true}),
             Flag("--colour", &values_.colour, "Of the paint",
                  {.one_of = "red|green|blue", .env = true, .shown = true}),
             Flag("--quick,-q", &values_.quick, "In a hurry", {.env = true}),
             Flag("--rate", &values_.rate, "A rate", {.shown = true}),
             Flag("--threads", &values_.threads, "Threads that work",
                  {.range = {1, 64}, .env = true, .shown = true}),
             Flag("--seed", &values_.seed, "Of the start"),
             Flag("--rounds", &values_.rounds, "How many",
                  {.needs = "--lambda"}),
             Flag("--lambda", &values_.lambda, "A bound"),
             Flag("--words", &values_.words, "Words", {.shown = true}),
             Flag("--epsilon", &values_.epsilons, "Epsilons")},
        .run = Noted("run")};
  }

  std::function<absl::StatusOr<ExitCode>()> Noted(const std::string& command) {
    return [this, command] {
      ran_.push_back(command);
      return kExitOk;
    };
  }

  int Run(const std::vector<std::string>& arguments) {
    values_ = {};
    out_.str("");
    err_.str("");
    ran_.clear();
    Program program = {
        .root = {.name = "tool",
                 .summary = "A tool for tests.",
                 .footer = "The end.",
                 .flags = {Flag("--name", &values_.name, "A name",
                                {.env = true, .shown = true})},
                 .commands = {RunCommand()}},
        .version = "1.2.3",
        .env_prefix = "TOOL_",
        .config = {.help = "A file"}};
    const Command show = {
        .name = "show",
        .summary = "Shows",
        .flags = {Flag("--label", &values_.label, "A label"),
                  Flag("--output", &values_.output, "A file",
                       {.value = "FILE", .env = true}),
                  Flag("--state", &values_.state, "A state", {.value = "DIR"}),
                  Flag("--start", &values_.start, "A start",
                       {.value = "random|public:FILE"}),
                  Flag("--inputs", &values_.inputs, "Files",
                       {.value = "DIR|table:FILE|run:ID"})},
        .run = Noted("keep show")};
    program.root.commands.push_back(
        {.name = "keep", .summary = "Keeps", .commands = {show}});
    program.root.commands.push_back(
        {.name = "health", .summary = "Asks", .run = Noted("health")});
    program.root.commands.push_back(
        {.name = "fail",
         .summary = "Fails",
         .flags = {Flag("--format", &values_.label, "Format")},
         .run = []() -> absl::StatusOr<ExitCode> {
           return Refusal(absl::StatusCode::kNotFound, "thing-unknown",
                          "There is no such thing.");
         }});
    program.root.commands.push_back(
        {.name = "throw",
         .summary = "Throws",
         .run = []() -> absl::StatusOr<ExitCode> { throw std::bad_alloc(); }});
    program.root.commands.push_back(
        {.name = "check",
         .summary = "Checks",
         .flags = {Flag("--rate", &values_.rate, "A rate"),
                   Flag("--threads", &values_.threads, "Threads"),
                   Flag("--dataset", &values_.label, "A data set")},
         .run = Noted("check"),
         .also_section = "run"});
    const auto stopped = []() -> absl::StatusOr<ExitCode> {
      return Refusal(absl::StatusCode::kCancelled, "cancelled",
                     "The work was interrupted; nothing was written.");
    };
    program.root.commands.push_back(
        {.name = "stopped", .summary = "Was told to stop", .run = stopped});
    program.root.commands.push_back(
        {.name = "wait",
         .summary = "Waits for Ctrl-C",
         .run = [stopped]() -> absl::StatusOr<ExitCode> {
           InterruptGently();
           std::raise(SIGINT);
           return stopped();
         }});
    std::vector<const char*> argv = {"tool"};
    for (const std::string& argument : arguments)
      argv.push_back(argument.c_str());
    return Main(program, static_cast<int>(argv.size()), argv.data(), &out_,
                &err_);
  }

  // Returns the error about a wrong command line, without name and code.
  std::string Complaint(const std::vector<std::string>& arguments) {
    EXPECT_EQ(Run(arguments), kExitUsage);
    EXPECT_THAT(ran_, IsEmpty());
    EXPECT_EQ(out_.str(), "");
    const std::string text = err_.str();
    EXPECT_THAT(text, StartsWith("tool: "));
    EXPECT_THAT(text, ::testing::EndsWith(" [usage]\n"));
    return text.size() < 15 ? text : text.substr(6, text.size() - 15);
  }

  std::string Config(const std::string& text) {
    const std::string path = (directory_ / "c.toml").string();
    std::ofstream(path) << text;
    return path;
  }

  std::filesystem::path directory_;
  Values values_;
  std::ostringstream out_, err_;
  std::vector<std::string> ran_;
};

TEST_F(CommandLine, SetsTargetsOfEveryKind) {
  ASSERT_EQ(
      Run({"run", "in.csv", "--colour", "blue", "-q", "--rate=1e-3",
           "--threads", "64", "--seed", "18446744073709551615", "--rounds", "0",
           "--lambda", "-0.5", "--words", "a,b", "c", "--epsilon", "1,nan"}),
      kExitOk)
      << err_.str();
  EXPECT_THAT(ran_, ElementsAre("run"));
  EXPECT_EQ(values_.file, "in.csv");
  EXPECT_EQ(values_.colour, "blue");
  EXPECT_TRUE(values_.quick);
  EXPECT_EQ(values_.rate, 1e-3);
  EXPECT_EQ(values_.threads, 64);
  EXPECT_EQ(values_.seed, 18446744073709551615u);
  EXPECT_EQ(values_.rounds, 0u);
  EXPECT_EQ(values_.lambda, -0.5);
  EXPECT_THAT(values_.words, ElementsAre("a", "b", "c"));
  ASSERT_EQ(values_.epsilons.size(), 2u);
  EXPECT_TRUE(std::isnan(values_.epsilons[1]));
}

TEST_F(CommandLine, LeavesWhatIsNotGiven) {
  ASSERT_EQ(Run({"run", "in.csv"}), kExitOk) << err_.str();
  EXPECT_EQ(values_.name, "none");
  EXPECT_EQ(values_.threads, 4);
  EXPECT_FALSE(values_.quick);
  EXPECT_FALSE(values_.rounds.has_value());
  EXPECT_THAT(values_.words, ElementsAre("all"));
}

TEST_F(CommandLine, AnArgumentMayBeEmpty) {
  ASSERT_EQ(Run({"run", "in.csv", "--name", ""}), kExitOk) << err_.str();
  EXPECT_EQ(values_.name, "");
}

TEST_F(CommandLine, ValuesThatAreWrongAreRefusedInOneSentence) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--colour", "pink"}, "--colour must be red, green or blue"},
      {{"--threads", "65"},
       "--threads must be a whole number from 1 to 64, not 65"},
      {{"--threads", "0"},
       "--threads must be a whole number from 1 to 64, not 0"},
      {{"--threads", "two"},
       "--threads must be a whole number from 1 to 64, not two"},
      {{"--seed", "-1"},
       "--seed must be a whole number from 0 to 18446744073709551615, not -1"},
      {{"--seed", "18446744073709551616"},
       "--seed must be a whole number from 0 to 18446744073709551615, not "
       "18446744073709551616"},
      {{"--rounds", "4294967296", "--lambda", "1"},
       "--rounds must be a whole number from 0 to 4294967295, not 4294967296"},
      {{"--rate", "much"}, "--rate must be a number, not `much`"},
      {{"--quick=perhaps"}, "--quick must be on or off, not `perhaps`"},
      {{"--epsilon", "1,x"}, "--epsilon must be a number, not `x`"},
      {{"--rate", "1", "--rate", "2"}, "--rate takes one value, not 2"},
      {{"--rounds", "3"}, "--rounds requires --lambda"},
      {{"--rate"}, "--rate needs a value"},
      {{"--rate="}, "--rate needs a value"},
      {{"two.csv"}, "Unexpected `two.csv`"},
      {{"--ra\tte", "1"}, "There is no flag `--ra te`"},
  };
  for (const auto& [flags, sentence] : wrong) {
    std::vector<std::string> arguments = {"run", "in.csv"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_THAT(Complaint(arguments),
                AllOf(StartsWith(sentence), HasSubstr("; see 'tool run "
                                                      "--help'.")));
  }
}

TEST_F(CommandLine, WhatIsMissingIsNamedLast) {
  EXPECT_EQ(Complaint({}), "A command is required; see 'tool --help'.");
  EXPECT_EQ(Complaint({"keep"}),
            "A command is required; see 'tool keep --help'.");
  EXPECT_EQ(Complaint({"run"}),
            "Give the file to read: tool run FILE; see 'tool run --help'.");
  EXPECT_EQ(Complaint({"run", "--rte", "1"}),
            "There is no flag `--rte` (did you mean `--rate`?); see 'tool run "
            "--help'.");
  EXPECT_EQ(Complaint({"run", "--rate", "x"}),
            "--rate must be a number, not `x`; see 'tool run --help'.");
}

TEST_F(CommandLine, UnknownNamesComeWithTheNearestOfTheirPlace) {
  EXPECT_THAT(Complaint({"rnu"}), HasSubstr("There is no command `rnu`; see"));
  EXPECT_THAT(Complaint({"ru"}), HasSubstr("`ru` (did you mean `run`?)"));
  EXPECT_THAT(Complaint({"keep", "shwo"}),
              HasSubstr("`shwo`; see 'tool keep --help'"));
  EXPECT_THAT(Complaint({"keep", "shows"}),
              HasSubstr("`shows` (did you mean `show`?)"));
  // A flag of another command is not proposed, one of the program is.
  EXPECT_THAT(Complaint({"keep", "show", "--colours", "x"}),
              HasSubstr("There is no flag `--colours`; see"));
  EXPECT_THAT(Complaint({"keep", "show", "--nam", "x"}),
              HasSubstr("(did you mean `--name`?)"));
  EXPECT_THAT(Complaint({"run", "--hepl"}),
              HasSubstr("(did you mean `--help`?)"));
}

TEST_F(CommandLine, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  const std::string config = Config(
      "name = \"file\"\n[run]\nthreads = 2\ncolour = \"green\"\n"
      "epsilon = [1, 2]\nquick = true\n");
  const std::vector<std::string> run = {"run", "x", "--config", config};
  ASSERT_EQ(Run(run), kExitOk) << err_.str();
  EXPECT_EQ(values_.name, "file");
  EXPECT_EQ(values_.threads, 2);
  EXPECT_EQ(values_.colour, "green");
  EXPECT_TRUE(values_.quick);
  EXPECT_THAT(values_.epsilons, ElementsAre(1, 2));
  setenv("TOOL_NAME", "environment", 1);
  setenv("TOOL_THREADS", "3", 1);
  setenv("TOOL_QUICK", "false", 1);
  setenv("TOOL_COLOUR", "", 1);  // as if it were not there
  ASSERT_EQ(Run(run), kExitOk) << err_.str();
  EXPECT_EQ(values_.name, "environment");
  EXPECT_EQ(values_.threads, 3);
  EXPECT_EQ(values_.colour, "green");
  EXPECT_FALSE(values_.quick);
  ASSERT_EQ(Run({"--name", "flag", "run", "x", "--config", config, "--threads",
                 "9", "-q"}),
            kExitOk)
      << err_.str();
  EXPECT_EQ(values_.name, "flag");
  EXPECT_EQ(values_.threads, 9);
  EXPECT_TRUE(values_.quick);
}

TEST_F(CommandLine, ValuesOfTheEnvironmentAndTheFileAreCheckedAlike) {
  setenv("TOOL_THREADS", "65", 1);
  EXPECT_THAT(Complaint({"run", "x"}), StartsWith("--threads must be a whole"));
  unsetenv("TOOL_THREADS");
  EXPECT_THAT(
      Complaint({"run", "x", "--config", Config("[run]\ncolour = \"pink\"\n")}),
      StartsWith("--colour must be red, green or blue"));
  // Values for a command that does not run are not checked.
  EXPECT_EQ(Run({"health", "--config", Config("[run]\ncolour = \"pink\"\n")}),
            kExitOk);
}

TEST_F(CommandLine, PathsInTheFileAreRelativeToItsDirectory) {
  const std::string config = Config(
      "name = \"a\"\n[keep.show]\noutput = \"out/a.csv\"\n"
      "label = \"a.csv\"\nstart = \"public:../W.npy\"\n"
      "inputs = [\"a\", \"/b\", \"~/c\", \"table:d\", \"table:/e\", "
      "\"run:3f\", \"-\", \"\"]\n");
  const std::vector<std::string> show = {"keep", "show", "--config", config};
  const std::string in = directory_.string() + "/";
  setenv("HOME", "/home/ann", 1);
  ASSERT_EQ(Run(show), kExitOk) << err_.str();
  EXPECT_EQ(values_.output, in + "out/a.csv");
  EXPECT_EQ(values_.label, "a.csv");  // no path
  EXPECT_EQ(values_.name, "a");
  EXPECT_EQ(values_.start, "public:" + in + "../W.npy");
  EXPECT_THAT(values_.inputs,
              ElementsAre(in + "a", "/b", "/home/ann/c", "table:" + in + "d",
                          "table:/e", "run:3f", "-", ""));
  // Elsewhere they are relative to the working directory.
  setenv("TOOL_OUTPUT", "b.csv", 1);
  ASSERT_EQ(
      Run({"keep", "show", "--config", config, "--start", "public:W.npy"}),
      kExitOk)
      << err_.str();
  EXPECT_EQ(values_.output, "b.csv");
  EXPECT_EQ(values_.start, "public:W.npy");
  // A file in the working directory leaves them as they are.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  unsetenv("TOOL_OUTPUT");
  EXPECT_EQ(Run({"keep", "show", "--config", "c.toml"}), kExitOk);
  std::filesystem::current_path(before);
  EXPECT_EQ(values_.output, "out/a.csv");
}

TEST_F(CommandLine, EachPathOfAListInTheFileIsRelative) {
  const std::filesystem::path in = directory_ / "a,b";
  std::filesystem::create_directories(in);
  const std::string config = in / "c.toml";
  std::ofstream(config) << "[keep.show]\ninputs = \"table:c,d\"\n";
  ASSERT_EQ(Run({"keep", "show", "--config", config}), kExitOk) << err_.str();
  EXPECT_THAT(values_.inputs,
              ElementsAre("table:" + (in / "c").string(), (in / "d").string()));
  ASSERT_EQ(
      Run({"keep", "show", "--config", config, "--inputs", "table:c,table:d"}),
      kExitOk);
  EXPECT_THAT(values_.inputs, ElementsAre("table:c", "table:d"));
}

TEST_F(CommandLine, PathsOfAStreamAreRelativeToTheWorkingDirectory) {
  const int file =
      open(Config("[keep.show]\noutput = \"a.csv\"\n").c_str(), O_RDONLY);
  const std::string stream = "/dev/fd/" + std::to_string(file);
  EXPECT_EQ(Run({"keep", "show", "--config", stream}), kExitOk) << err_.str();
  EXPECT_EQ(values_.output, "a.csv");
  close(file);
}

TEST_F(CommandLine, ADirectoryThatIsInTheWorkingDirectoryOnlyIsRefused) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directories(directory_ / "now/data");
  std::filesystem::current_path(directory_ / "now");
  const std::string config = Config("[keep.show]\nstate = \"data\"\n");
  const std::vector<std::string> show = {"keep", "show", "--config", config};
  EXPECT_THAT(
      Complaint(show),
      StartsWith("--state is `data` in the configuration file, that is " +
                 (directory_ / "data").string() +
                 ", which does not exist; the working directory has "
                 "one of that name: write the whole path; "));
  std::filesystem::create_directories(directory_ / "data");
  EXPECT_EQ(Run(show), kExitOk) << err_.str();
  EXPECT_EQ(values_.state, (directory_ / "data").string());
  std::filesystem::current_path(before);
}

TEST_F(CommandLine, APathInTheHomeNeedsAHome) {
  const std::string config = Config("[keep.show]\noutput = \"~/a\"\n");
  const std::vector<std::string> show = {"keep", "show", "--config", config};
  setenv("HOME", "", 1);
  EXPECT_THAT(Complaint(show), HasSubstr("HOME is not set"));
  unsetenv("HOME");
  EXPECT_THAT(Complaint(show), HasSubstr("HOME is not set"));
}

TEST_F(CommandLine, AKeyThatNoFlagIsCalledIsRefused) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"nam = \"x\"\n", "`nam` (did you mean `name`?)"},
      {"[run]\nthread = 2\n", "`run.thread` (did you mean `threads`?)"},
      {"[keep.show]\nlabl = 2\n", "`keep.show.labl` (did you mean `label`?)"},
      {"[keep]\nlabel = 2\n", "`keep.label`;"},
      {"[runn]\nthreads = 2\n", "`runn.threads`;"},
      {"config = \"other.toml\"\n", "`config`;"},
  };
  for (const auto& [text, named] : wrong) {
    const std::string path = Config(text);
    EXPECT_THAT(
        Complaint({"run", "x", "--config", path}),
        AllOf(StartsWith("The configuration file " + path +
                         " has a key that is not the name of a flag: " + named),
              HasSubstr("see 'tool run --help'")));
  }
}

TEST_F(CommandLine, ReadsAllOfToml) {
  const std::string config = Config(
      "# a comment\n"
      "name = 'a # \\ \"b\"'  # literal\n"
      "[run]\n"
      "seed = 0x10\n"
      "rate = 1_000.5e-3\n"
      "threads = +7\n"
      "colour = \"\"\"\nblue\"\"\"\n"
      "words = [ \"a,b\",\n  'c', ]\n"
      "quick = false\n"
      "epsilon = [1, 2.5, inf]\n");
  ASSERT_EQ(Run({"run", "x", "--config", config}), kExitOk) << err_.str();
  EXPECT_EQ(values_.name, "a # \\ \"b\"");
  EXPECT_EQ(values_.seed, 16u);
  EXPECT_EQ(values_.rate, 1.0005);
  EXPECT_EQ(values_.threads, 7);
  EXPECT_EQ(values_.colour, "blue");
  EXPECT_THAT(values_.words, ElementsAre("a", "b", "c"));
  EXPECT_FALSE(values_.quick);
  EXPECT_THAT(values_.epsilons,
              ElementsAre(1, 2.5, std::numeric_limits<double>::infinity()));
  // A table that dotted keys made is not declared again: TOML 1.0.
  ASSERT_EQ(Run({"run", "x", "--config", Config("run.seed = 3\n")}), kExitOk)
      << err_.str();
  EXPECT_EQ(values_.seed, 3u);
}

TEST_F(CommandLine, AFileThatIsNotTomlIsRefusedWithItsLine) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"name = \"x\"\n[run]\nthreads = two\n", "line 3, column 12: "},
      {"name = file\n", "line 1, column "},
      {"[run\nthreads = 2\n", "line 1, column 5: "},
      {"[=]\n", "a table header or a key is malformed"},
      {std::string("[\0\0run]\n", 8), "a table header or a key is malformed"},
      {"\n[run]\nthreads = 2\nthreads = 3\n", "line 4, column 11: "},
      {"[run]\nseed = 18446744073709551615\n", "line 2, column "},
      {"[run]\nwords = [\"a\"\n", "line 2, column 14: "},
      {"[run]\nwords = [[\"a\"]]\n",
       "line 2, column 9: the value of `words` must be text, a number, true, "
       "false or an array of these"},
      {"[[run]]\nthreads = 2\n", "line 1, column 1: the value of `run` must"},
      {"name \xc3\xa9 = 1\n", "line 1, column 6: "},
      {std::string(2 << 20, '\n'), "it is larger than 1 MiB"},
      {"a" + std::string(2000, '.') + "b = 1\n",
       "line 1: it has too many dots"},
  };
  for (const auto& [text, problem] : wrong) {
    const std::string path = Config(text);
    EXPECT_THAT(Complaint({"run", "x", "--config", path}),
                StartsWith("The configuration file " + path +
                           " is not TOML that can be read: " + problem));
  }
}

TEST_F(CommandLine, AFileThatIsNotThereIsRefused) {
  EXPECT_EQ(Complaint({"--config", "/nowhere/c.toml", "health"}),
            "The configuration file /nowhere/c.toml cannot be read; see 'tool "
            "health --help'.");
  EXPECT_EQ(Complaint({"health", "--config"}),
            "--config needs a value; see 'tool health --help'.");
}

TEST_F(CommandLine, ACommandReadsTheSectionOfAnother) {
  const std::string file =
      Config("[run]\nrate = 3\nthreads = 5\nquick = true\n");
  EXPECT_EQ(Run({"check", "--config", file}), kExitOk) << err_.str();
  EXPECT_EQ(values_.rate, 3);
  EXPECT_EQ(values_.threads, 5u);
  // Its own section and the command line win.
  const std::string both =
      Config("[run]\nrate = 3\nthreads = 5\n[check]\nrate = 4\n");
  EXPECT_EQ(Run({"check", "--threads", "2", "--config", both}), kExitOk)
      << err_.str();
  EXPECT_EQ(values_.rate, 4);
  EXPECT_EQ(values_.threads, 2u);
}

TEST_F(CommandLine, HelpIsNotForCommandsThatThereAreNot) {
  EXPECT_THAT(Complaint({"nonsense", "--help"}),
              StartsWith("There is no command `nonsense`"));
  EXPECT_THAT(Complaint({"keep", "shw", "--help"}),
              StartsWith("There is no command `shw` (did you mean `show`?)"));
  EXPECT_EQ(Run({"keep", "--help"}), kExitOk);
  EXPECT_EQ(Run({"run", "in.csv", "--help"}), kExitOk);
}

TEST_F(CommandLine, AWordThatMayBeADataSetIsAskedAbout) {
  EXPECT_EQ(Complaint({"check", "visits"}),
            "Unexpected `visits` (did you mean --dataset visits?); see 'tool "
            "check --help'.");
  EXPECT_EQ(Complaint({"check", "10"}),
            "Unexpected `10`; see 'tool check --help'.");
}

TEST_F(CommandLine, HealthIsAlsoAFlag) {
  EXPECT_EQ(Run({"--health"}), kExitOk);
  EXPECT_THAT(ran_, ElementsAre("health"));
}

TEST_F(CommandLine, AnErrorOfTheCommandHasItsCodeAndExitCode) {
  EXPECT_EQ(Run({"fail"}), kExitNotFound);
  EXPECT_EQ(err_.str(), "tool: There is no such thing. [thing-unknown]\n");
  EXPECT_EQ(ErrorText("tool", absl::InternalError("Broken.")),
            "tool: Broken. [internal-error]\n");
}

TEST_F(CommandLine, AnErrorIsALineOfJsonIfJsonIsAskedFor) {
  EXPECT_EQ(Run({"fail", "--format", "json"}), kExitNotFound);
  EXPECT_EQ(err_.str(),
            "{\"error\":{\"code\":\"thing-unknown\",\"message\":\"There is no "
            "such thing.\",\"exit_code\":4}}\n");
  err_.str("");
  EXPECT_EQ(Run({"fail", "--format=json", "--nothing"}), kExitUsage);
  EXPECT_THAT(err_.str(), StartsWith("{\"error\":{\"code\":\"usage\","));
  EXPECT_THAT(err_.str(),
              HasSubstr("see 'tool fail --help'.\",\"exit_code\":2"));
}

TEST_F(CommandLine, AnExceptionOfTheCommandIsAnErrorToo) {
  EXPECT_EQ(Run({"throw"}), kExitInternal);
  EXPECT_EQ(err_.str(),
            "tool: The program failed: std::bad_alloc. [internal-error]\n");
}

// The code of a signal is the same, whichever layer found that it has to stop.
TEST_F(CommandLine, WorkThatCtrlCEndedIsInterrupted) {
  EXPECT_EQ(Run({"stopped"}), kExitInterrupted);  // no signal: told otherwise
  EXPECT_THAT(err_.str(), HasSubstr("[cancelled]"));
  EXPECT_EXIT(
      {
        const int code = Run({"wait"});
        std::cerr << err_.str();
        std::exit(code);
      },
      ::testing::ExitedWithCode(kExitInterrupted),
      "nothing was written. .interrupted.");
}

TEST_F(CommandLine, OutputThatCannotBeWrittenIsAnError) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{
           {"--help"}, {"--version"}, {"--manual"}, {"health"}}) {
    out_.setstate(std::ios::badbit);
    EXPECT_EQ(Run(arguments), kExitInternal) << arguments.front();
    EXPECT_THAT(err_.str(),
                AllOf(StartsWith("tool: Standard output cannot be written: "),
                      ::testing::EndsWith("[output-not-written]\n")));
  }
  // Another error is the only one: in JSON there is one object.
  EXPECT_EQ(Run({"fail"}), kExitNotFound);
  EXPECT_EQ(err_.str(), "tool: There is no such thing. [thing-unknown]\n");
  out_.clear();
  EXPECT_EQ(Run({"health"}), kExitOk);
}

TEST_F(CommandLine, HelpIsMadeOfTheTables) {
  EXPECT_EQ(Run({"--version"}), kExitOk);
  EXPECT_EQ(out_.str(), "tool 1.2.3\n");
  EXPECT_EQ(Run({"--help"}), kExitOk);
  EXPECT_THAT(out_.str(),
              AllOf(StartsWith("A tool for tests."), HasSubstr("--config FILE"),
                    HasSubstr("--health"), HasSubstr("keep"),
                    HasSubstr("Does the work"), HasSubstr("The end.")));
  EXPECT_EQ(Run({"run", "--help"}), kExitOk);
  EXPECT_THAT(
      out_.str(),
      AllOf(StartsWith("Does the work"), HasSubstr("FILE TEXT REQUIRED"),
            HasSubstr("--colour red|green|blue=red (Env:TOOL_COLOUR)"),
            HasSubstr("-q,--quick (Env:TOOL_QUICK)"),
            HasSubstr("--rate FLOAT=0.5"),
            HasSubstr("--threads INT in [1 - 64]=4 (Env:TOOL_THREADS)"),
            HasSubstr("--seed UINT"), HasSubstr("Needs: --lambda"),
            HasSubstr("--words TEXT=all ..."),
            HasSubstr("Example:\n  tool run in.csv"),
            Not(HasSubstr("The end."))));
  EXPECT_EQ(err_.str(), "");
  EXPECT_THAT(ran_, IsEmpty());
}

}  // namespace
}  // namespace dpnmf
