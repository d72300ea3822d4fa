// A directory for one file at a time that goes with the process.
#ifndef DPNMF_TESTS_FUZZ_ONE_FILE_H_
#define DPNMF_TESTS_FUZZ_ONE_FILE_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace dpnmf::fuzz {

class OneFile {
 public:
  OneFile() {
    // Memory where there is some: thousands of files a second.
    const std::filesystem::path memory = "/dev/shm";
    const std::filesystem::path parent =
        access(memory.c_str(), W_OK) == 0
            ? memory
            : std::filesystem::temp_directory_path();
    std::string path = (parent / "dpnmf-fuzz-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) std::abort();
    directory_ = path;
  }
  ~OneFile() { std::filesystem::remove_all(directory_); }
  OneFile(const OneFile&) = delete;
  OneFile& operator=(const OneFile&) = delete;

  std::string Write(const std::string& name, std::string_view content) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

}  // namespace dpnmf::fuzz

#endif  // DPNMF_TESTS_FUZZ_ONE_FILE_H_
