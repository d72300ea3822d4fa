// `dpnmf-lab evaluate` as it is installed, in a process of its own.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/curator/data/scratch.h"
#include "tests/curator/lab/evaluate/evaluate_fixtures.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// A running evaluation whose standard error is read line by line.
class Process {
 public:
  Process(std::vector<std::string> arguments, const std::string& output_file) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) std::abort();
    arguments.insert(arguments.begin(), {DPNMF_PROGRAM, "evaluate"});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const int out = open(output_file.c_str(), O_WRONLY | O_CREAT, 0600);
      dup2(out, STDOUT_FILENO);
      dup2(pipe_ends[1], STDERR_FILENO);
      close(pipe_ends[0]);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    close(pipe_ends[1]);
    errors_ = fdopen(pipe_ends[0], "r");
  }
  ~Process() {
    fclose(errors_);
    if (!ended_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  // The next line with `word`; empty at the end.
  std::string LineWith(const std::string& word) {
    char line[4096];
    while (fgets(line, sizeof line, errors_) != nullptr) {
      if (std::string(line).find(word) != std::string::npos) return line;
    }
    return "";
  }

  void Interrupt() { kill(pid_, SIGINT); }

  int Wait() {
    while (fgetc(errors_) != EOF) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  FILE* errors_ = nullptr;
  bool ended_ = false;
};

class EvaluateCommand : public ::testing::Test {
 protected:
  EvaluateCommand()
      : input_(
            scratch_.Write("data.csv", CsvOf(GeneratedColumns(8, 100, 3, 1)))),
        output_(scratch_.path() + "/out"),
        printed_(scratch_.path() + "/printed") {}

  std::vector<std::string> Arguments(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"--input",   input_, "--users",   "rows",
                                    "--rank",    "2",    "--epsilon", "2,8",
                                    "--repeats", "1",    "--output",  output_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Scratch scratch_;
  std::string input_, output_, printed_;
};

TEST_F(EvaluateCommand, WritesEverythingAndSaysThatItIsNotPrivate) {
  Process process(Arguments(), printed_);
  EXPECT_EQ(process.Wait(), kExitOk);
  for (const char* file : {"results.csv", "curves.csv", "results.json",
                           "report.html", "evaluations.log"}) {
    EXPECT_TRUE(std::filesystem::exists(output_ + "/" + file)) << file;
  }
  const std::string printed = ReadAll(printed_);
  EXPECT_THAT(printed, HasSubstr("Not private"));
  EXPECT_THAT(printed, HasSubstr("statistics, 30 rounds"));
  EXPECT_EQ(Json::parse(ReadAll(output_ + "/results.json"))["complete"], true);
}

TEST_F(EvaluateCommand, RecordsItsUseInTheDataDirectory) {
  const Scratch data;
  Process process(Arguments({"--mechanism", "none", "--data-dir", data.path()}),
                  printed_);
  EXPECT_EQ(process.Wait(), kExitOk);
  const Json line = Json::parse(ReadAll(data.path() + "/evaluations.log"));
  EXPECT_EQ(line["input"], input_);
  EXPECT_FALSE(std::filesystem::exists(output_ + "/evaluations.log"));
}

TEST_F(EvaluateCommand, RefusesBeforeItWritesOrRecords) {
  Process process(Arguments({"--mechanism", "paper-nndsvd"}), printed_);
  EXPECT_THAT(process.LineWith("dpnmf-lab:"),
              HasSubstr("[evaluate-public-missing]"));
  EXPECT_EQ(process.Wait(), kExitState);
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(EvaluateCommand, RefusesADataDirectoryThatIsNotThere) {
  Process process(Arguments({"--data-dir", scratch_.path() + "/nowhere"}),
                  printed_);
  EXPECT_THAT(process.LineWith("dpnmf-lab:"), HasSubstr("[data-dir-missing]"));
  EXPECT_EQ(process.Wait(), kExitNotFound);
}

// The second trial takes seconds, and it is interrupted as it begins.
TEST_F(EvaluateCommand, InterruptedItWritesWhatIsDone) {
  Process process(
      Arguments({"--mechanism", "none,statistics", "--rounds", "10000"}),
      printed_);
  EXPECT_THAT(process.LineWith("trial 2 of"), HasSubstr("statistics"));
  process.Interrupt();
  EXPECT_EQ(process.Wait(), kExitInterrupted);
  const Json json = Json::parse(ReadAll(output_ + "/results.json"));
  EXPECT_EQ(json["complete"], false);
  EXPECT_GE(json["results"].size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(output_ + "/report.html"));
  EXPECT_THAT(ReadAll(printed_), HasSubstr("interrupted after"));
}

}  // namespace
}  // namespace dpnmf::curator::lab
