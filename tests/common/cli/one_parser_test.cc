// Checks what the sources include: one file includes the parser of command
// lines, and commands include no transport.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dpnmf {
namespace {

namespace fs = std::filesystem;

// The files under the folders, by their paths from the top, with a line that
// includes one of the headers.
std::vector<std::string> FilesThatInclude(
    const std::vector<std::string>& folders,
    const std::vector<std::string>& headers, int* read) {
  const fs::path top = DPNMF_SOURCE_DIR;
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(top / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top / folder)) {
      const std::string type = entry.path().extension().string();
      if (type != ".cc" && type != ".h") continue;
      ++*read;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("#include")) continue;
        for (const std::string& header : headers)
          if (line.find(header) != std::string::npos)
            found.push_back(entry.path().lexically_relative(top).string());
      }
    }
  }
  return found;
}

TEST(Sources, OneFileIncludesTheParserOfCommandLines) {
  int read = 0;
  EXPECT_THAT(FilesThatInclude({"common", "curator", "analyst", "client", "lab",
                                "tests", "bench"},
                               {"CLI/"}, &read),
              ::testing::ElementsAre("common/cli/program.cc"));
  EXPECT_THAT(FilesThatInclude({"common", "curator", "analyst", "client", "lab",
                                "tests", "bench"},
                               {"toml++/"}, &read),
              ::testing::AllOf(::testing::Not(::testing::IsEmpty()),
                               ::testing::Each("common/cli/config_file.cc")));
  EXPECT_GT(read, 150);
}

TEST(Sources, CommandsIncludeNoTransport) {
  int read = 0;
  EXPECT_THAT(FilesThatInclude(
                  {"curator/commands", "analyst/commands", "client/commands"},
                  {"grpcpp/", ".grpc.pb.h"}, &read),
              ::testing::IsEmpty());
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace dpnmf
