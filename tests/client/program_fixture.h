// The commands of `dpnmf` as functions, against a fake server in this process.
#ifndef DPNMF_TESTS_CLIENT_PROGRAM_FIXTURE_H_
#define DPNMF_TESTS_CLIENT_PROGRAM_FIXTURE_H_

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/program.h"
#include "gtest/gtest.h"
#include "tests/client/fake_analyst.h"

namespace dpnmf::cli {

class Program : public ::testing::Test {
 protected:
  Program() {
    std::string name = ::testing::TempDir() + "dpnmf_program_XXXXXX";
    directory_ = mkdtemp(name.data());
    // No configuration of the machine's user gets in.
    setenv("HOME", directory_.c_str(), 1);
    environment_.out = &out_;
    environment_.err = &err_;
    environment_.version = "1.2.3";
    environment_.connect = [this](const ConnectionOptions& options)
        -> absl::StatusOr<std::shared_ptr<grpc::Channel>> {
      server_name_ = options.server;
      return server_.Channel();
    };
    environment_.retry.first_pause = absl::Milliseconds(1);
    environment_.retry.largest_pause = absl::Milliseconds(4);
    environment_.retry.give_up_after = absl::Milliseconds(20);
  }
  ~Program() override {
    for (const char* variable :
         {"DPNMF_SERVER", "DPNMF_FORMAT", "DPNMF_CONFIG"})
      unsetenv(variable);
    std::filesystem::remove_all(directory_);
  }

  int Run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    std::vector<const char*> argv = {"dpnmf"};
    for (const std::string& argument : arguments)
      argv.push_back(argument.c_str());
    return RunProgram(static_cast<int>(argv.size()), argv.data(), environment_);
  }

  // plan or train with the flags that are required, and more.
  int RunWith(const std::string& command, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {command, "--dataset", "digits", "--rank",
                                    "2",     "--epsilon", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return Run(all);
  }

  std::string Path(const std::string& name) const {
    return (directory_ / name).string();
  }

  FakeAnalyst& analyst() { return server_.analyst; }
  const v1::RunParameters& parameters() {
    return analyst().last_specification.parameters();
  }

  std::filesystem::path directory_;
  FakeServer server_;
  Environment environment_;
  std::string server_name_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// W: 6 features x 2 parts.
inline Eigen::MatrixXd ApplesAndFigs() {
  Eigen::MatrixXd w(6, 2);
  w << .8, 0, .4, 0, 0, .5, 0, 1, .2, 0, 0, 0;
  return w;
}

}  // namespace dpnmf::cli

#endif  // DPNMF_TESTS_CLIENT_PROGRAM_FIXTURE_H_
