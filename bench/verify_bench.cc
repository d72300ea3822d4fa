// dpnmf_verify_bench DIRECTORY GIGABYTES [FILES]
//
// Verification of a data set's files as `serve` does it on one disk: writes so
// many bytes to a new directory, computes their digests, and reads them back.
// Prints a line for each pass; the first one after pages were dropped from
// memory reads the disk. Removes what it wrote.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/write_digests.h"

namespace dpnmf::curator {
namespace {

double Seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

void WriteFile(const std::string& path, std::uint64_t bytes) {
  std::vector<std::uint64_t> block(std::size_t{1} << 17);
  std::ofstream file(path, std::ios::binary);
  std::uint64_t state = 1;
  for (std::uint64_t done = 0; done < bytes; done += 8 * block.size()) {
    for (std::uint64_t& word : block)
      word = state = state * 6364136223846793005u + 1442695040888963407u;
    file.write(reinterpret_cast<const char*>(block.data()),
               static_cast<std::streamsize>(8 * block.size()));
  }
  file.close();
  const int descriptor = open(path.c_str(), O_RDONLY);
  fsync(descriptor);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  close(descriptor);
}

int Run(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string directory = std::string(argv[1]) + "/verify_bench";
  const int files = argc > 3 ? std::atoi(argv[3]) : 1;
  const double bytes = std::atof(argv[2]) * 1e9;
  if (!std::filesystem::create_directory(directory)) return 1;
  std::vector<std::string> names;
  for (int i = 0; i < files; ++i) {
    names.push_back("values." + std::to_string(i) + ".npy");
    WriteFile(directory + "/" + names.back(),
              static_cast<std::uint64_t>(bytes / files));
  }
  const Digest key{};
  const Digest list = bench::WriteDigests(directory, key);
  for (int pass = 0; pass < 3; ++pass) {
    const double begin = Seconds(), processor = ProcessorSeconds();
    const auto checks = ChecksOfFiles(directory, list, names, key);
    if (!checks.ok() || !CheckFiles(*checks, key).ok()) return 1;
    const double took = Seconds() - begin,
                 used = ProcessorSeconds() - processor;
    std::printf("%.1f GB in %.2f s: %.2f GB/s, %.2f s of processor time\n",
                bytes / 1e9, took, bytes / 1e9 / took, used);
    std::fflush(stdout);
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) { return dpnmf::curator::Run(argc, argv); }
