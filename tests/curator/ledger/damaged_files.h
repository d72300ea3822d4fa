// Reading, overwriting and putting back files, for tests of damage.
#ifndef DPNMF_TESTS_CURATOR_LEDGER_DAMAGED_FILES_H_
#define DPNMF_TESTS_CURATOR_LEDGER_DAMAGED_FILES_H_

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace dpnmf::curator {

inline std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

inline void Spill(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Removes everything at `to` first.
inline void ReplaceDirectory(const std::string& from, const std::string& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_CURATOR_LEDGER_DAMAGED_FILES_H_
