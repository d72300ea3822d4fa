// A directory of one test, which no other process of the tests knows.
#ifndef DPNMF_TESTS_COMMON_BASE_SCRATCH_DIRECTORY_H_
#define DPNMF_TESTS_COMMON_BASE_SCRATCH_DIRECTORY_H_

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace dpnmf {

// It disappears with the test.
class ScratchDirectory {
 public:
  ScratchDirectory() : path_(testing::TempDir() + "dpnmf-test-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_BASE_SCRATCH_DIRECTORY_H_
