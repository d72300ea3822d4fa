// `dpnmf-lab evaluate` as it is installed, in a process of its own.
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/tables/scratch.h"
#include "tests/lab/evaluate/evaluate_fixtures.h"
#include "tests/lab/evaluate/evaluate_process.h"

namespace dpnmf::curator::lab {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

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
