// The program, as it is installed, run in a directory that disappears.
#ifndef DPNMF_TESTS_CURATOR_COMMANDS_TERMINAL_H_
#define DPNMF_TESTS_CURATOR_COMMANDS_TERMINAL_H_

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/tables/scratch.h"

namespace dpnmf::curator {

class Terminal : public ::testing::Test {
 protected:
  // Five people, two features.
  Terminal() { scratch_.Write("v.csv", "1,2\n3,4\n5,1\n3,2\n0,1\n"); }

  // Runs `dpnmf-curator ARGUMENTS` in the directory; returns its exit code.
  // Words are split as a shell does.
  int Run(const std::string& arguments) {
    const int status = std::system(("cd '" + scratch_.path() +
                                    "' && exec '" DPNMF_PROGRAM "' " +
                                    arguments + " >out 2>err")
                                       .c_str());
    out_ = ReadAll(scratch_.path() + "/out");
    err_ = ReadAll(scratch_.path() + "/err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // An import of v.csv into the directory z.
  int Import(const std::string& more) {
    return Run(
        "import --name v --population people --input v.csv --users rows "
        "--epsilon 1 --data-dir z " +
        more);
  }

  bool Exists(const std::string& name) const {
    return std::filesystem::exists(scratch_.path() + "/" + name);
  }

  Scratch scratch_;
  std::string out_, err_;
};

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_COMMANDS_TERMINAL_H_
