// dpnmf_ranks_bench PROGRAM WORK D K N NONZEROS RANKS THREADS [REPEATS]
//
// One round (with outliers if OUTLIERS is set), in turn: of one process with
// THREADS threads, and of RANKS ranks of one thread. Generated people; NONZEROS
// a person, or 0: dense. WORK: a directory for the data set. A line of JSON:
// the medians, in milliseconds, and the median of the ratios of each pair.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench/write_digests.h"
#include "common/files/npy.h"
#include "common/nmf/dictionary.h"
#include "curator/data/description.h"
#include "curator/mechanism/mechanism.h"
#include "curator/ranks/rank_job.h"

namespace dpnmf::curator {
namespace {

struct Shape {
  std::uint64_t features = 0, rank = 0, people = 0, nonzeros = 0;
};

template <typename T>
void WriteNpy(const std::string& path, const char* dtype,
              std::vector<std::uint64_t> shape, const std::vector<T>& values) {
  NpyHeader header;
  header.dtype = dtype;
  header.fortran_order = shape.size() == 2;
  header.shape = std::move(shape);
  std::ofstream file(path, std::ios::binary);
  const std::string head = NpyHeaderBytes(header);
  file.write(head.data(), static_cast<std::streamsize>(head.size()));
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

std::unique_ptr<Dataset> Generated(const Shape& shape,
                                   const std::string& data_dir) {
  StoredDescription stored;
  DatasetDescription& description = stored.description;
  description.name = "generated";
  description.population = "p";
  description.features = shape.features;
  description.users = shape.people;
  description.epsilon = 1;
  description.delta = 1e-9;
  description.sparse = shape.nonzeros > 0;
  const std::string directory = DatasetDirectory(data_dir, description.name);
  if (std::system(("mkdir -p " + directory).c_str()) != 0) std::abort();
  std::ofstream(directory + "/dataset.json") << ToJson(stored);
  std::uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  std::vector<float> values;
  if (shape.nonzeros == 0) {
    values.resize(shape.people * shape.features);
    const double scale =
        0x1p-31 / std::sqrt(static_cast<double>(shape.features));
    for (float& value : values)
      value = static_cast<float>(static_cast<double>(next()) * scale);
    WriteNpy(directory + "/values.npy", "<f4", {shape.features, shape.people},
             values);
  } else {
    std::vector<std::int32_t> indices;
    std::vector<std::int64_t> indptr = {0};
    const std::uint64_t stride = shape.features / shape.nonzeros;
    for (std::uint64_t n = 0; n < shape.people; ++n) {
      for (std::uint64_t i = 0; i < shape.nonzeros; ++i) {
        indices.push_back(
            static_cast<std::int32_t>(i * stride + next() % stride));
        values.push_back(static_cast<float>(
            1 / std::sqrt(static_cast<double>(shape.nonzeros))));
      }
      indptr.push_back(static_cast<std::int64_t>(indices.size()));
    }
    WriteNpy(directory + "/data.npy", "<f4", {values.size()}, values);
    WriteNpy(directory + "/indices.npy", "<i4", {indices.size()}, indices);
    WriteNpy(directory + "/indptr.npy", "<i8", {indptr.size()}, indptr);
  }
  bench::WriteDigests(directory, {});
  auto data = Dataset::Open(directory);
  if (!data.ok()) std::abort();
  return *std::move(data);
}

// Milliseconds of processor time: of this process, and of the main threads of
// its ranks, which have no other.
double Processor(bool ranks) {
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  double all =
      1e3 * static_cast<double>(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
      1e-3 * static_cast<double>(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
  if (!ranks) return all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string name;
    std::ifstream(entry.path() / "comm") >> name;
    double nanoseconds = 0;
    if (name == "dpnmf-ranks" &&
        std::ifstream(entry.path() / "schedstat") >> nanoseconds)
      all += 1e-6 * nanoseconds;
  }
  return all;
}

double Median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

int Run(int argc, char** argv) {
  if (argc < 9) return 2;
  const Shape shape{
      std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10),
      std::strtoull(argv[5], nullptr, 10), std::strtoull(argv[6], nullptr, 10)};
  const int ranks = std::atoi(argv[7]), threads = std::atoi(argv[8]);
  const int repeats = argc > 9 ? std::atoi(argv[9]) : 15;
  const std::unique_ptr<Dataset> data = Generated(shape, argv[2]);
  RankJobOptions options;
  options.ranks = ranks;
  options.mpi_run = DefaultMpiRun(options);
  options.program = argv[1];
  options.data_dir = argv[2];
  const auto job = RankJob::Start(options);
  if (!job.ok()) {
    std::fprintf(stderr, "%s\n", std::string(job.status().message()).c_str());
    return 1;
  }
  RunParameters parameters;
  parameters.dataset = "generated";
  parameters.rank = static_cast<std::uint32_t>(shape.rank);
  parameters.rounds = 10;
  parameters.epsilon = 1;
  parameters.delta = 1e-9;
  parameters.lambda = 0.05;
  parameters.outlier_bound = 1;
  parameters.outliers = std::getenv("OUTLIERS") != nullptr;
  const auto plan = PlanRun(parameters, FactsOf(data->description()));
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", std::string(plan.status().message()).c_str());
    return 1;
  }
  const StagePlan& stage = plan->StageOf(1);
  const ReleaseKind& kind = ReleaseKindOf(stage.release);
  const RoundInput input(RandomDictionary(shape.features, shape.rank, 1));
  std::unique_ptr<Coefficients> h;
  std::unique_ptr<RankJob::RemoteCoefficients> remote;
  const RoundContext context{.data = *data,
                             .parameters = parameters,
                             .plan = *plan,
                             .execution = {.threads = threads},
                             .coefficients = &h};
  const auto milliseconds = [](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    if (!work().ok()) std::abort();
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  };
  std::vector<double> one, many, ratios, one_cpu, many_cpu;
  for (int repeat = -1; repeat < repeats; ++repeat) {
    const double before = Processor(false);
    const double here = milliseconds([&] { return kind.sums(input, context); });
    const double between = Processor(false), ranks_before = Processor(true);
    const double there = milliseconds([&] {
      return (*job)->Sums(kind, input, context, stage.parts, &remote);
    });
    const double after = Processor(true);
    if (repeat < 0) continue;  // the first opens data
    one.push_back(here);
    many.push_back(there);
    ratios.push_back(here / there);
    one_cpu.push_back(between - before);
    many_cpu.push_back(after - ranks_before);
  }
  std::printf(
      "{\"features\": %llu, \"rank\": %llu, \"people\": %llu, \"nonzeros\": "
      "%llu, \"ranks\": %d, \"threads\": %d, \"one_process_ms\": %.2f, "
      "\"ranks_ms\": %.2f, \"speed\": %.3f, \"one_process_cpu_ms\": %.2f, "
      "\"ranks_cpu_ms\": %.2f}\n",
      static_cast<unsigned long long>(shape.features),
      static_cast<unsigned long long>(shape.rank),
      static_cast<unsigned long long>(shape.people),
      static_cast<unsigned long long>(shape.nonzeros), ranks, threads,
      Median(one), Median(many), Median(ratios), Median(one_cpu),
      Median(many_cpu));
  return 0;
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) { return dpnmf::curator::Run(argc, argv); }
