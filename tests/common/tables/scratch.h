// Files for tests of readers.
#ifndef DPNMF_TESTS_COMMON_TABLES_SCRATCH_H_
#define DPNMF_TESTS_COMMON_TABLES_SCRATCH_H_

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/tables/load.h"
#include "gtest/gtest.h"

namespace dpnmf {

// A directory that disappears with the test.
class Scratch {
 public:
  Scratch() {
    std::string path =
        (std::filesystem::temp_directory_path() / "dpnmf-data-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
    return path_ + "/" + name;
  }

  std::string WriteGzip(const std::string& name,
                        const std::string& content) const {
    const std::string path = path_ + "/" + name;
    const gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return path;
  }

 private:
  std::string path_;
};

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Every file and directory below a data directory but the lock and the key, in
// order: what an import has left.
inline std::vector<std::string> LeftBelow(const std::string& data_dir) {
  std::vector<std::string> left;
  if (!std::filesystem::exists(data_dir)) return left;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(data_dir)) {
    const std::string name = std::filesystem::relative(entry.path(), data_dir);
    if (name != "datasets" && name != "datasets/.lock" &&
        name != "fingerprint.key")
      left.push_back(name);
  }
  std::sort(left.begin(), left.end());
  return left;
}

// V as dense columns, whatever way it is held.
inline std::vector<std::vector<float>> ColumnsOf(const LoadedMatrix& matrix) {
  std::vector<std::vector<float>> columns(matrix.users,
                                          std::vector<float>(matrix.features));
  for (std::size_t n = 0; n < matrix.users; ++n) {
    if (!matrix.sparse) {
      const auto begin = matrix.values.begin() +
                         static_cast<std::ptrdiff_t>(n * matrix.features);
      columns[n].assign(begin,
                        begin + static_cast<std::ptrdiff_t>(matrix.features));
      continue;
    }
    for (auto i = static_cast<std::size_t>(matrix.indptr[n]);
         i < static_cast<std::size_t>(matrix.indptr[n + 1]); ++i) {
      columns[n][static_cast<std::size_t>(matrix.indices[i])] =
          matrix.values[i];
    }
  }
  return columns;
}

}  // namespace dpnmf

#endif  // DPNMF_TESTS_COMMON_TABLES_SCRATCH_H_
