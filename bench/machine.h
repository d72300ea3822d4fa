// The machine's own rates, from dpnmf_roofline (roofline.cc) run beside the
// benchmark that asks.
#ifndef DPNMF_BENCH_MACHINE_H_
#define DPNMF_BENCH_MACHINE_H_

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>

#include "benchmark/benchmark.h"

namespace dpnmf {

// Output of dpnmf_roofline for these arguments: the rate by processor time,
// once a run for each. 0 if the program does not run.
inline double MachineRate(const std::string& arguments) {
  static std::map<std::string, double> known;
  if (const auto found = known.find(arguments); found != known.end())
    return found->second;
  double rate = 0;
  const std::string command = std::string(DPNMF_ROOFLINE) + " " + arguments;
  if (std::FILE* const pipe = popen(command.c_str(), "r"); pipe != nullptr) {
    if (std::fscanf(pipe, "%lf", &rate) != 1) rate = 0;
    pclose(pipe);
  }
  return known[arguments] = rate;
}

// GFLOP/s of a double GEMM W'V of this shape on `threads` threads together.
inline double GemmRate(int features, int rank, int users, int threads) {
  return MachineRate("gemm " + std::to_string(features) + " " +
                     std::to_string(rank) + " " + std::to_string(users) + " " +
                     std::to_string(threads));
}

// Seconds of processor time of all threads.
inline double ProcessorSeconds(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace dpnmf

#endif  // DPNMF_BENCH_MACHINE_H_
