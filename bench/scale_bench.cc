// The time and the memory of one round as users grow:
//
//   dpnmf_scale_bench D K THREADS N ...
//
// Prints a line of JSON for each N (ascending, so that the peak of the process
// is that of the last): seconds of a round without and with outliers (the
// median of three, from a warm H), and the memory that the rounds took beyond
// the data set, H (8 K N bytes) included.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "Eigen/Core"
#include "common/nmf/dictionary.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"

namespace dpnmf::curator {
namespace {

// A line of /proc/self/status in MB.
double StatusMegabytes(const char* field) {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  double kilobytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, field, std::strlen(field)) == 0)
      kilobytes = std::atof(line + std::strlen(field));
  }
  std::fclose(file);
  return kilobytes / 1024;
}

// The peak of the resident memory starts again.
void ResetPeak() {
  if (std::FILE* const file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

// SplitMix64's output, a float in [0, 1 / sqrt(D)).
std::unique_ptr<Dataset> Generated(int features, std::uint64_t users) {
  DatasetDescription description;
  description.features = features;
  description.users = users;
  std::vector<float> values(users * features);
  const float scale = 0x1p-24f / std::sqrt(static_cast<float>(features));
  std::uint64_t state = 1;
  for (float& value : values) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    value = static_cast<float>((z ^ (z >> 31)) >> 40) * scale;
  }
  return *Dataset::FromDense(description, std::move(values));
}

double MedianSeconds(const Dataset& data, const StatisticsRequest& request,
                     int threads, Coefficients* h) {
  std::vector<double> seconds;
  for (int run = 0; run < 4; ++run) {
    const auto start = std::chrono::steady_clock::now();
    if (!ComputeStatistics(data, request, {.threads = threads}, h).ok())
      std::abort();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(seconds.begin() + 1, seconds.begin() + 2, seconds.end());
  return seconds[2];
}

void Measure(int features, int rank, int threads, std::uint64_t users) {
  const auto data = Generated(features, users);
  const Eigen::MatrixXd w = RandomDictionary(features, rank, 1);
  StatisticsRequest request;
  request.w = &w;
  request.lambda = 0.05;
  // Bits of a plan for ten million users: no sum reaches 2^62.
  request.coefficient_bits = request.data_bits = 19;
  request.outlier_bound = 1;
  ResetPeak();
  const double before = StatusMegabytes("VmRSS:");
  double off = 0, on = 0;
  {
    Coefficients h(rank, users);
    off = MedianSeconds(*data, request, threads, &h);
    request.outliers = true;
    on = MedianSeconds(*data, request, threads, &h);
  }
  std::printf(
      "{\"users\": %llu, \"features\": %d, \"rank\": %d, \"threads\": %d, "
      "\"seconds\": %.6f, \"seconds_outliers\": %.6f, \"megabytes\": %.1f, "
      "\"allowed\": %.1f}\n",
      static_cast<unsigned long long>(users), features, rank, threads, off, on,
      StatusMegabytes("VmHWM:") - before, 256 + 8e-6 * rank * users);
  std::fflush(stdout);
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: dpnmf_scale_bench D K THREADS N ...\n");
    return 2;
  }
  for (int i = 4; i < argc; ++i) {
    dpnmf::curator::Measure(std::atoi(argv[1]), std::atoi(argv[2]),
                            std::atoi(argv[3]),
                            std::strtoull(argv[i], nullptr, 10));
  }
}
