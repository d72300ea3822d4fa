// A fuzz target as a plain test: its seeds, what libFuzzer found (corpus/NAME;
// a target without that directory fails), then mutations of the seeds.
//
//   fuzz_replay NAME [--runs N] [--seed S]   seeds, corpus and N mutations
//   fuzz_replay NAME --write-seeds DIR       seeds as files, for libFuzzer
//   fuzz_replay NAME FILE...                 these inputs, as libFuzzer leaves
//                                            them
//
// An input that fails is printed in hexadecimal and left in ./failed-fuzz_NAME.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/outcomes.h"

namespace dpnmf::fuzz {
namespace {

struct Arguments {
  FuzzTarget target;
  std::uint64_t runs = 0;
  std::uint64_t seed = 20260101;
  std::string seed_directory;
  std::vector<std::string> files;
};

std::string target_name;
std::string current;        // the input under way
std::uint64_t current_run;  // 0: a seed or a file
double slowest_seconds;     // for the reader alone
std::uint64_t slowest_run;

// The process is about to die: what it writes need not be safe.
void ShowInput(int) {
  const std::string path = "failed-fuzz_" + target_name;
  std::ofstream(path, std::ios::binary) << current;
  std::cerr << "run " << current_run << ", " << current.size()
            << " bytes, left in " << path << "\n";
  for (const char byte : current.substr(0, 2048))
    std::cerr << "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4]
              << "0123456789abcdef"[byte & 15];
  std::cerr << std::endl;
  std::_Exit(1);
}

void RunInput(const FuzzTarget& target, std::string input) {
  current = std::move(input);
  // A copy of its own on the heap: a read past its end is seen.
  const std::vector<std::uint8_t> bytes(current.begin(), current.end());
  const auto begin = std::chrono::steady_clock::now();
  target.run_one(bytes.data(), bytes.size());
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  if (seconds.count() <= slowest_seconds) return;
  slowest_seconds = seconds.count();
  slowest_run = current_run;
}

int WriteSeeds(const FuzzTarget& target, const std::string& directory) {
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const std::string& seed : target.seeds()) {
    std::ofstream(directory + "/seed-" + std::to_string(number++),
                  std::ios::binary)
        << seed;
  }
  return 0;
}

// In the order of their names. Nothing if there is no such directory: then
// nobody has run libFuzzer on the target, or its inputs were lost.
std::optional<std::vector<std::string>> CorpusFiles(const FuzzTarget& target) {
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry :
       std::filesystem::directory_iterator(CorpusOf(target), missing)) {
    files.push_back(entry.path());
  }
  if (missing) return std::nullopt;
  std::sort(files.begin(), files.end());
  return files;
}

int ReplayFiles(const FuzzTarget& target,
                const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::cerr << path << " cannot be read\n";
      return 2;
    }
    RunInput(target, std::string((std::istreambuf_iterator<char>(file)), {}));
  }
  return 0;
}

int Replay(const Arguments& arguments) {
  const FuzzTarget& target = arguments.target;
  const std::vector<std::string> seeds = target.seeds();
  for (const std::string& seed : seeds) RunInput(target, seed);
  const auto corpus = CorpusFiles(target);
  if (!corpus.has_value()) {
    std::cerr << CorpusOf(target)
              << " cannot be read: run tests/fuzz/run.sh --keep " << target.name
              << "\n";
    return 2;
  }
  if (const int code = ReplayFiles(target, *corpus); code != 0) return code;
  std::mt19937_64 random(arguments.seed);
  for (current_run = 1; current_run <= arguments.runs; ++current_run)
    RunInput(target, Mutated(seeds, &random));
  std::cout << seeds.size() << " seeds, " << corpus->size()
            << " kept inputs and " << arguments.runs << " mutations, seed "
            << arguments.seed << "; the slowest, run " << slowest_run
            << ", took " << slowest_seconds << " s\n";
  for (const auto& [outcome, count] : Outcomes())
    std::cout << "  " << outcome << ": " << count << "\n";
  if (arguments.runs < target.runs) return 0;
  int missing = 0;
  for (const std::string& outcome : target.expected_outcomes()) {
    if (Outcomes().contains(outcome)) continue;
    std::cerr << "no input came to: " << outcome << "\n";
    ++missing;
  }
  return missing == 0 ? 0 : 1;
}

// Returns nullopt if no target has that name.
std::optional<FuzzTarget> TargetOf(std::string_view name) {
  for (const FuzzTarget& target : Targets())
    if (target.name == name) return target;
  return std::nullopt;
}

Arguments Parse(const FuzzTarget& target, int argc, char** argv) {
  Arguments arguments;
  arguments.target = target;
  arguments.runs = target.runs;
  for (int i = 2; i < argc; ++i) {
    const std::string flag = argv[i];
    const bool has_value = i + 1 < argc;
    if (flag == "--runs" && has_value) {
      arguments.runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--seed" && has_value) {
      arguments.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--write-seeds" && has_value) {
      arguments.seed_directory = argv[++i];
    } else {
      arguments.files.push_back(flag);
    }
  }
  return arguments;
}

int Main(int argc, char** argv) {
  const auto target = TargetOf(argc > 1 ? argv[1] : "");
  if (!target.has_value()) {
    std::cerr << "fuzz_replay NAME ...; the targets are:";
    for (const FuzzTarget& known : Targets()) std::cerr << " " << known.name;
    std::cerr << "\n";
    return 2;
  }
  target_name = target->name;
  const Arguments arguments = Parse(*target, argc, argv);
  if (!arguments.seed_directory.empty())
    return WriteSeeds(*target, arguments.seed_directory);
  std::signal(SIGABRT, ShowInput);
  const int code = arguments.files.empty()
                       ? Replay(arguments)
                       : ReplayFiles(*target, arguments.files);
  // No input is to blame for what is found at the process's end.
  std::signal(SIGABRT, SIG_DFL);
  return code;
}

}  // namespace
}  // namespace dpnmf::fuzz

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DPNMF_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define DPNMF_ADDRESS_SANITIZER
#endif
#ifdef DPNMF_ADDRESS_SANITIZER
// Findings of AddressSanitizer end in SIGABRT, so that the input is shown.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }
#endif

int main(int argc, char** argv) { return dpnmf::fuzz::Main(argc, argv); }
