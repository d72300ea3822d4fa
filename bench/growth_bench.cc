// dpnmf_growth_bench PROGRAM WORK N RANKS MECHANISM [D K NONZEROS PARTS]
//
// How rounds of ranks grow with the people: N generated ones, written to disk a
// part at a time, which no process ever has all of; the curator has none. WORK:
// a directory for them, empty. MECHANISM: moments or statistics. A line of
// JSON: the first round, which opens and checks the parts, and the median of
// three more; processor time and memory of the ranks. "anon": memory that is
// not of files, the most of one rank.
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
#include "curator/data/shards.h"
#include "curator/mechanism/mechanism.h"
#include "curator/ranks/rank_job.h"

namespace dpnmf::curator {
namespace {

struct GrowthShape {
  std::uint64_t people = 0, features = 50, rank = 10, nonzeros = 8, parts = 4;
};

// An array in Fortran order, written as it is made.
class ArrayFile {
 public:
  ArrayFile(const std::string& path, const char* dtype, std::uint64_t length)
      : file_(path, std::ios::binary) {
    NpyHeader header;
    header.dtype = dtype;
    header.shape = {length};
    const std::string head = NpyHeaderBytes(header);
    file_.write(head.data(), static_cast<std::streamsize>(head.size()));
  }
  template <typename T>
  void Append(const std::vector<T>& values) {
    file_.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(T)));
  }

 private:
  std::ofstream file_;
};

void WritePart(const std::string& directory, const GrowthShape& shape,
               const PartRange& range, const StoredDescription& whole) {
  std::filesystem::create_directories(directory);
  StoredDescription stored = whole;
  stored.description.users = range.columns;
  std::ofstream(directory + "/dataset.json") << ToJson(stored);
  ArrayFile data(directory + "/data.npy", "<f4",
                 range.columns * shape.nonzeros);
  ArrayFile indices(directory + "/indices.npy", "<i4",
                    range.columns * shape.nonzeros);
  ArrayFile indptr(directory + "/indptr.npy", "<i8", range.columns + 1);
  std::uint64_t state = range.first + 1;
  const std::uint64_t stride = shape.features / shape.nonzeros;
  const auto value =
      static_cast<float>(1 / std::sqrt(static_cast<double>(shape.nonzeros)));
  constexpr std::uint64_t kAtOnce = 1 << 16;
  std::vector<float> values(kAtOnce * shape.nonzeros, value);
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> offsets = {0};
  indptr.Append(offsets);
  std::int64_t offset = 0;
  for (std::uint64_t done = 0; done < range.columns; done += kAtOnce) {
    const std::uint64_t count = std::min(kAtOnce, range.columns - done);
    rows.clear();
    offsets.clear();
    for (std::uint64_t n = 0; n < count; ++n) {
      for (std::uint64_t i = 0; i < shape.nonzeros; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        rows.push_back(
            static_cast<std::int32_t>(i * stride + (state >> 33) % stride));
      }
      offsets.push_back(offset += static_cast<std::int64_t>(shape.nonzeros));
    }
    values.resize(rows.size(), value);
    data.Append(values);
    indices.Append(rows);
    indptr.Append(offsets);
  }
}

std::unique_ptr<Dataset> InParts(const GrowthShape& shape,
                                 const std::string& data_dir) {
  StoredDescription stored;
  DatasetDescription& description = stored.description;
  description.name = "generated";
  description.population = "p";
  description.features = shape.features;
  description.users = shape.people;
  description.epsilon = 1;
  description.delta = 1e-11;
  description.sparse = true;
  Shards shards;
  shards.nonzeros = shape.people * shape.nonzeros;
  std::uint64_t first = 0;
  for (std::uint64_t i = 0; i < shape.parts; ++i) {
    const std::uint64_t end = Share{i, shape.parts}.End(shape.people);
    const std::string place = PartsDirectory(data_dir, description.name) + "/" +
                              PartName(first, end - first);
    WritePart(place, shape, {first, end - first, shape.people}, stored);
    shards.columns.push_back(end - first);
    shards.parts.push_back(stored.fingerprint);
    shards.files.push_back(bench::WriteDigests(place, {}));
    first = end;
  }
  const std::string directory = DatasetDirectory(data_dir, description.name);
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/dataset.json") << ToJson(stored);
  std::ofstream(directory + "/shards.json") << ShardsJson(shards);
  bench::WriteDigests(directory, {});
  auto data = Dataset::Open(directory);
  if (!data.ok()) std::abort();
  return *std::move(data);
}

struct RanksUse {
  double processor_ms = 0;
  double most_anon_mib = 0;
};

// Use of the ranks of this process's job, which compute on their main threads.
RanksUse UseOfRanks(const std::string& data_dir) {
  RanksUse use;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string place = entry.path().string();
    std::string name, words, line;
    std::ifstream(place + "/comm") >> name;
    if (name != "dpnmf-ranks") continue;
    std::getline(std::ifstream(place + "/cmdline"), words);
    if (words.find(data_dir) == std::string::npos) continue;
    double nanoseconds = 0;
    std::ifstream(place + "/schedstat") >> nanoseconds;
    use.processor_ms += 1e-6 * nanoseconds;
    std::ifstream status(place + "/status");
    while (std::getline(status, line)) {
      double kibibytes = 0;
      if (std::sscanf(line.c_str(), "RssAnon: %lf", &kibibytes) == 1)
        use.most_anon_mib = std::max(use.most_anon_mib, kibibytes / 1024);
    }
  }
  return use;
}

int Run(int argc, char** argv) {
  if (argc < 6) return 2;
  GrowthShape shape;
  const std::string work = argv[2], mechanism = argv[5];
  shape.people = std::strtoull(argv[3], nullptr, 10);
  for (const auto& [at, to] :
       {std::pair(6, &shape.features), std::pair(7, &shape.rank),
        std::pair(8, &shape.nonzeros), std::pair(9, &shape.parts)})
    if (argc > at) *to = std::strtoull(argv[at], nullptr, 10);
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const auto begin = Clock::now();
  const std::unique_ptr<Dataset> data = InParts(shape, work);
  const double written = seconds_since(begin);
  RankJobOptions options;
  options.ranks = std::atoi(argv[4]);
  options.mpi_run = DefaultMpiRun(options);
  options.program = argv[1];
  options.data_dir = work;
  options.deadline = std::chrono::seconds(3600);
  const auto job = RankJob::Start(options);
  if (!job.ok()) {
    std::fprintf(stderr, "%s\n", std::string(job.status().message()).c_str());
    return 1;
  }
  RunParameters parameters;
  parameters.dataset = "generated";
  parameters.mechanism = mechanism;
  parameters.rank = static_cast<std::uint32_t>(shape.rank);
  parameters.rounds = mechanism == "moments" ? 1 : 10;
  parameters.moment_rows =
      mechanism == "moments" ? static_cast<std::uint32_t>(shape.features) : 0;
  parameters.epsilon = 1;
  parameters.delta = 1e-11;
  const auto plan = PlanRun(parameters, FactsOf(data->description()));
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", std::string(plan.status().message()).c_str());
    return 1;
  }
  const StagePlan& stage = plan->StageOf(1);
  RoundInput input;
  if (mechanism != "moments")
    input = RoundInput(RandomDictionary(shape.features, shape.rank, 1));
  std::unique_ptr<RankJob::RemoteCoefficients> h;
  const RoundContext context{
      .data = *data, .parameters = parameters, .plan = *plan, .execution = {}};
  const auto round = [&] {
    const auto start = Clock::now();
    const auto sums = (*job)->Sums(ReleaseKindOf(stage.release), input, context,
                                   stage.parts, &h);
    if (!sums.ok()) {
      std::fprintf(stderr, "%s\n",
                   std::string(sums.status().message()).c_str());
      std::exit(1);
    }
    return seconds_since(start);
  };
  const double first = round();
  const double before = UseOfRanks(work).processor_ms;
  std::vector<double> more = {round(), round(), round()};
  const RanksUse use = UseOfRanks(work);
  std::sort(more.begin(), more.end());
  std::printf(
      "{\"people\": %llu, \"features\": %llu, \"rank\": %llu, \"nonzeros\": "
      "%llu, \"parts\": %llu, \"ranks\": %d, \"mechanism\": \"%s\", "
      "\"write_s\": %.2f, \"first_round_s\": %.2f, \"round_s\": %.3f, "
      "\"round_cpu_s\": %.3f, \"anon_mib\": %.0f}\n",
      static_cast<unsigned long long>(shape.people),
      static_cast<unsigned long long>(shape.features),
      static_cast<unsigned long long>(shape.rank),
      static_cast<unsigned long long>(shape.nonzeros),
      static_cast<unsigned long long>(shape.parts), options.ranks,
      mechanism.c_str(), written, first, more[1],
      (use.processor_ms - before) / 3e3, use.most_anon_mib);
  return 0;
}

}  // namespace
}  // namespace dpnmf::curator

int main(int argc, char** argv) { return dpnmf::curator::Run(argc, argv); }
