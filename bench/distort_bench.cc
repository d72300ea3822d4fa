// Distortion of tables by NMF, rank 7, tolerance 1e-4.
//
//   dpnmf_distort_bench            699 x 9, beside the same algorithm in numpy
//   in
//                                  the same run: medians of processor seconds
//                                  from ten random starts, on one core
//   dpnmf_distort_bench PEOPLE     PEOPLE x 100, generated: seconds, iterations
//                                  and peak memory over that of the table
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "lab/distort/nmf.h"
#include "lab/tables/draws.h"
#include "lab/tables/table.h"
#include "nlohmann/json.hpp"

namespace dpnmf::curator::lab {
namespace {

constexpr int kRank = 7;
constexpr int kStarts = 10;

double ProcessorSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

struct Run {
  double seconds = 0;
  double iterations = 0;
  double objective = 0;
};

double MedianOf(std::vector<Run> runs, double Run::*figure) {
  std::sort(runs.begin(), runs.end(), [figure](const Run& a, const Run& b) {
    return a.*figure < b.*figure;
  });
  return runs[runs.size() / 2].*figure;
}

void Print(const char* who, const std::vector<Run>& runs) {
  std::printf("%-8s %8.4f s  %5.0f iterations  |A - WH| %.3f\n", who,
              MedianOf(runs, &Run::seconds), MedianOf(runs, &Run::iterations),
              MedianOf(runs, &Run::objective));
}

std::vector<Run> PeerRuns(const std::string& table) {
  const std::string command = "/usr/bin/python3 " DPNMF_PEERS "/distort.py " +
                              table + " 7 1e-4 " + std::to_string(kStarts);
  std::string text;
  FILE* const peer = popen(command.c_str(), "r");
  for (int c = 0; peer != nullptr && (c = std::fgetc(peer)) != EOF;)
    text.push_back(static_cast<char>(c));
  if (peer == nullptr || pclose(peer) != 0) return {};
  std::vector<Run> runs;
  for (const auto& run : nlohmann::json::parse(text))
    runs.push_back({run[0], run[1], run[2]});
  return runs;
}

int OfWisconsin() {
  const std::string path = DPNMF_EXAMPLES "/wbc/wbc.csv";
  TableOptions options;
  options.class_column = 10;
  const auto table = ReadTable(path, options);
  if (!table.ok()) {
    std::fprintf(stderr, "%s\n", table.status().ToString().c_str());
    return 1;
  }
  const Eigen::MatrixXd& a = table->values;
  std::vector<Run> runs;
  for (int seed = 0; seed < kStarts; ++seed) {
    Draws draws(static_cast<std::uint64_t>(seed));
    NmfFactors start = NmfStart(a.rows(), a.cols(), kRank, &draws);
    const double begin = ProcessorSeconds();
    const NmfResult result = NmfProjectedGradient(a, std::move(start), {});
    runs.push_back({ProcessorSeconds() - begin,
                    static_cast<double>(result.iterations), result.objective});
  }
  Print("dpnmf", runs);
  const std::vector<Run> peer = PeerRuns(path);
  if (peer.empty()) {
    std::printf("numpy    not measured: python3-numpy is missing\n");
    return 0;
  }
  Print("numpy", peer);
  std::printf("ratio    %.1f\n",
              MedianOf(peer, &Run::seconds) / MedianOf(runs, &Run::seconds));
  return 0;
}

int OfManyPeople(Eigen::Index people) {
  constexpr Eigen::Index kColumns = 100;
  Draws draws(1);
  Eigen::MatrixXd a(people, kColumns);
  {
    const NmfFactors parts = NmfStart(people, kColumns, 10, &draws);
    a.noalias() = parts.w * parts.h;
  }
  for (double& entry : a.reshaped()) entry += draws.Uniform();
  NmfOptions options;
  options.progress = [](const NmfProgress& progress) {
    std::fprintf(stderr, "iteration %d, VD %.4f, %.1f s\n", progress.iteration,
                 progress.distortion, progress.seconds);
  };
  const double begin = ProcessorSeconds();
  const NmfResult result = NmfProjectedGradient(
      a, NmfStart(people, kColumns, kRank, &draws), options);
  const double seconds = ProcessorSeconds() - begin;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const double table = static_cast<double>(a.size()) * 8 / 1048576;
  std::printf(
      "%ld x %ld: %.1f s of the processor, %d iterations, VD %.4f; table %.0f "
      "MB, peak %.0f MB (%.2f times)\n",
      static_cast<long>(people), static_cast<long>(kColumns), seconds,
      result.iterations, result.objective / a.norm(), table,
      static_cast<double>(usage.ru_maxrss) / 1024,
      static_cast<double>(usage.ru_maxrss) / 1024 / table);
  return 0;
}

}  // namespace
}  // namespace dpnmf::curator::lab

int main(int argc, char** argv) {
  using dpnmf::curator::lab::OfManyPeople;
  return argc > 1 ? OfManyPeople(std::atol(argv[1]))
                  : dpnmf::curator::lab::OfWisconsin();
}
