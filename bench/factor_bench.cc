// The kernels of curator/factor and whole rounds beside what the machine can do
// in the same run: `of_gemm` is the share of Eigen's double GEMM compiled for
// this very machine, on the same shape and thread count (dpnmf_roofline).
// Rates are flops a second of processor time times the threads, so that a busy
// machine disturbs little.
//
//   dpnmf_factor_bench --benchmark_filter=...
//
// Arguments of every row: features D, rank K, users N, threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "Eigen/Core"
#include "bench/machine.h"
#include "common/nmf/dictionary.h"
#include "curator/data/dataset.h"
#include "curator/factor/block_data.h"
#include "curator/factor/h_step.h"
#include "curator/factor/kernels/exact_products.h"
#include "curator/factor/kernels/quantise.h"
#include "curator/factor/moments.h"
#include "curator/factor/statistics.h"

namespace dpnmf::curator {
namespace {

struct Shape {
  int features, rank, users, threads;
};

Shape ShapeOf(const benchmark::State& state) {
  return {static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
          static_cast<int>(state.range(2)), static_cast<int>(state.range(3))};
}

std::unique_ptr<Dataset> DenseData(const Shape& shape) {
  DatasetDescription description;
  description.features = shape.features;
  description.users = shape.users;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> values(static_cast<std::size_t>(shape.features) *
                            shape.users);
  for (float& value : values) {
    value = uniform(random) / std::sqrt(static_cast<float>(shape.features));
  }
  return *Dataset::FromDense(description, std::move(values));
}

std::unique_ptr<Dataset> SparseData(const Shape& shape, int nonzeros_a_user) {
  DatasetDescription description;
  description.features = shape.features;
  description.users = shape.users;
  description.sparse = true;
  std::mt19937_64 random(1);
  std::vector<std::int64_t> indptr = {0};
  std::vector<std::int32_t> rows;
  std::vector<float> values;
  const int step = shape.features / nonzeros_a_user;
  for (int user = 0; user < shape.users; ++user) {
    for (int i = 0; i < nonzeros_a_user; ++i) {
      rows.push_back(i * step + static_cast<int>(random() % step));
      values.push_back(1 / std::sqrt(static_cast<float>(nonzeros_a_user)));
    }
    indptr.push_back(static_cast<std::int64_t>(rows.size()));
  }
  return *Dataset::FromSparse(description, std::move(indptr), std::move(rows),
                              std::move(values));
}

double ProductFlops(const Shape& shape) {
  return 2.0 * shape.features * shape.rank * shape.users;
}

double SweepFlops(const Shape& shape) {
  return 2.0 * shape.rank * shape.rank * shape.users;
}

void Report(benchmark::State& state, double flops, double seconds) {
  const Shape shape = ShapeOf(state);
  const double rate = flops * 1e-9 * static_cast<double>(state.iterations()) /
                      seconds * shape.threads;
  const double gemm =
      GemmRate(shape.features, shape.rank, shape.users, shape.threads);
  state.counters["GFLOP/s"] = rate;
  state.counters["gemm"] = gemm;
  state.counters["of_gemm"] = rate / gemm;
}

// ---- kernels, on one block of 64 users that stays in the cache

constexpr int kBlockUsers = 64;
constexpr int kBlockStrips = kBlockUsers / kStripUsers;

struct Block {
  Shape shape;
  Eigen::MatrixXd w;
  PackedDictionary packed;
  BlockBuffers buffers;
  OutlierRule rule{0.05, 1};

  Block(const benchmark::State& state, bool outliers)
      : shape(ShapeOf(state)),
        w(RandomDictionary(shape.features, shape.rank, 1)),
        packed(w, outliers, /*sparse=*/false) {
    const auto data =
        DenseData({shape.features, shape.rank, kBlockUsers, shape.threads});
    const UserRange users{0, kBlockUsers};
    LoadData(*data, users, &buffers.v);
    LoadData(*data, users, &buffers.u);
    buffers.h.assign(kBlockStrips * StripSize(shape.rank), 0.01);
    buffers.c.assign(kBlockStrips * StripSize(shape.rank), 0.0);
    shape.users = kBlockUsers;
  }
};

// Rates of kernels are for one thread; the shape of the GEMM beside is that of
// all users.
template <typename Work>
void RunKernel(benchmark::State& state, double flops, const Work& work) {
  work();
  double seconds = 0;
  for (auto _ : state) seconds += ProcessorSeconds(work);
  Report(state, flops, seconds);
}

// c = W'u.
void BM_KernelProduct(benchmark::State& state) {
  Block block(state, false);
  RunKernel(state, 16 * ProductFlops(block.shape), [&] {
    for (int i = 0; i < 16; ++i)
      Correlate(block.packed, kBlockStrips, &block.buffers);
  });
}

// One pass over the residual with its clip: 4 D K flops a user, and a sweep.
void BM_KernelOutliers(benchmark::State& state) {
  Block block(state, true);
  RunKernel(state,
            16 * (2 * ProductFlops(block.shape) + SweepFlops(block.shape)) +
                ProductFlops(block.shape),
            [&] {
              HStepWithOutliers(block.packed, block.rule, 16, kBlockStrips,
                                &block.buffers);
            });
}

// c = W'(W h), the products of the residual pass alone, panel by panel as
// there.
void ReconstructAndCorrelate(const PackedDictionary& w, BlockBuffers* block) {
  constexpr int kRowsAtOnce = 96;
  std::fill(block->c.begin(), block->c.end(), 0.0);
  block->partial.resize(StripSize(kRowsAtOnce));
  const RowCut& cut = w.by_feature->cut();
  for (int panel = 0; panel < cut.panels(); panel += 16) {
    const int first = cut.First(panel);
    const int count = cut.First(std::min(panel + 16, cut.panels())) - first;
    PanelView part = w.by_feature->view();
    part.values += static_cast<std::size_t>(first) * part.inner;
    part.rows = count;
    for (int strip = 0; strip < kBlockStrips; ++strip) {
      std::fill_n(block->partial.begin(), StripSize(count), 0.0);
      Kernels().add_product(part, 0, w.rank,
                            block->h.data() + strip * StripSize(w.rank),
                            block->partial.data());
      AddProduct(*w.by_component, first, count, block->partial.data(),
                 block->c.data() + strip * StripSize(w.rank));
    }
  }
}

// The same pass without the clip: u = W h, c = W'u. `clip` is what the clip
// costs: time with it over time without.
void BM_KernelClip(benchmark::State& state) {
  Block block(state, true);
  constexpr int kPasses = 16;
  const auto without = [&] {
    for (int pass = 0; pass < kPasses; ++pass)
      ReconstructAndCorrelate(block.packed, &block.buffers);
  };
  const auto with = [&] {
    for (int pass = 0; pass < kPasses; ++pass)
      CorrelateWithoutOutliers(block.packed, block.rule, kBlockStrips,
                               &block.buffers);
  };
  with();
  without();
  double with_seconds = 0, without_seconds = 0;
  for (auto _ : state) {
    with_seconds += ProcessorSeconds(with);
    without_seconds += ProcessorSeconds(without);
  }
  Report(state, kPasses * 2 * ProductFlops(block.shape), with_seconds);
  state.counters["clip"] = with_seconds / without_seconds;
}

// Sweeps of coordinate descent: 2 K^2 flops a user.
void BM_KernelSweep(benchmark::State& state) {
  Block block(state, false);
  Correlate(block.packed, kBlockStrips, &block.buffers);
  RunKernel(state, 64 * SweepFlops(block.shape), [&] {
    SweepBlock(block.packed, 64, kBlockStrips, &block.buffers);
  });
}

// From u and h to exact sums: clip, quantise, gate, A (its upper half) and B.
void BM_KernelExactSums(benchmark::State& state) {
  Block block(state, false);
  const int features = block.shape.features, rank = block.shape.rank;
  const int padded = PaddedColumns(rank);
  const LatticeBounds bounds = LatticeBoundsOf(1, 20).value();
  // Quantised in place, again and again: as much work as the first time.
  AlignedVector<double>& u = block.buffers.u;
  AlignedVector<double> k(kBlockStrips * StripSize(padded)), packed;
  std::vector<std::uint64_t> a(static_cast<std::size_t>(rank) * padded);
  std::vector<std::uint64_t> b(static_cast<std::size_t>(features) * padded);
  const auto work = [&] {
    std::fill(k.begin(), k.end(), 0.0);
    for (int strip = 0; strip < kBlockStrips; ++strip) {
      std::copy_n(block.buffers.h.data() + strip * StripSize(rank),
                  StripSize(rank), k.data() + strip * StripSize(padded));
    }
    QuantiseStrips(bounds, rank, padded, kBlockStrips, k.data());
    QuantiseStrips(bounds, features, features, kBlockStrips, u.data());
    const StripMatrix h{k.data(), rank, padded};
    AddExactProducts(h, h, kBlockStrips, bounds.largest_entry,
                     bounds.largest_entry, true, &packed, a.data());
    AddExactProducts({u.data(), features, features}, h, kBlockStrips,
                     bounds.largest_entry, bounds.largest_entry, false, &packed,
                     b.data());
  };
  RunKernel(state, ProductFlops(block.shape) + SweepFlops(block.shape) / 2,
            work);
}

// ---- whole rounds: from the data set to the sums

StatisticsRequest RequestFor(const Eigen::MatrixXd& w, bool outliers,
                             int iterations) {
  StatisticsRequest request;
  request.w = &w;
  request.outliers = outliers;
  request.lambda = 0.05;
  request.outlier_bound = 1;
  request.inner_iterations = iterations;
  return request;
}

void Run(benchmark::State& state, const Dataset& data, bool outliers,
         int iterations, double flops) {
  const Shape shape = ShapeOf(state);
  const Eigen::MatrixXd w = RandomDictionary(shape.features, shape.rank, 1);
  const StatisticsRequest request = RequestFor(w, outliers, iterations);
  Coefficients h(shape.rank, shape.users);
  double seconds = 0;
  for (auto _ : state) {
    seconds += ProcessorSeconds([&] {
      benchmark::DoNotOptimize(
          ComputeStatistics(data, request, {.threads = shape.threads}, &h));
    });
  }
  state.counters["cpu_ms"] =
      1e3 * seconds / static_cast<double>(state.iterations());
  if (flops > 0) Report(state, flops, seconds);
}

// The H step left out: c = W'v, quantising, the gate, A and B.
void BM_Statistics(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  Run(state, *DenseData(shape), false, 0,
      2 * ProductFlops(shape) + SweepFlops(shape) / 2);
}

// Without outliers: ten sweeps in Gram form.
void BM_RoundGram(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  Run(state, *DenseData(shape), false, 10,
      2 * ProductFlops(shape) + 10.5 * SweepFlops(shape));
}

// With outliers: ten passes over the residual and its clip.
void BM_RoundOutliers(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  Run(state, *DenseData(shape), true, 10,
      22 * ProductFlops(shape) + 10.5 * SweepFlops(shape));
}

// 100 nonzeros a user: the time follows the nonzeros and not D.
void BM_RoundSparse(benchmark::State& state) {
  Run(state, *SparseData(ShapeOf(state), 100), false, 10, 0);
}
void BM_RoundSparseOutliers(benchmark::State& state) {
  Run(state, *SparseData(ShapeOf(state), 100), true, 10, 0);
}

// S_G: N D^2 flops for the upper half of V V'.
void BM_Moments(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  const auto data = DenseData(shape);
  double seconds = 0;
  for (auto _ : state) {
    seconds += ProcessorSeconds([&] {
      benchmark::DoNotOptimize(
          ComputeMoments(*data, {}, 1, 20, {.threads = shape.threads}));
    });
  }
  Report(state, 1.0 * shape.users * shape.features * shape.features, seconds);
}

// A pass over more data than any cache holds: W'v and sums with K = 4, bytes of
// the data set a second against the triad's.
void BM_Stream(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  const auto data = DenseData(shape);
  const Eigen::MatrixXd w = RandomDictionary(shape.features, shape.rank, 1);
  const StatisticsRequest request = RequestFor(w, false, 1);
  Coefficients h(shape.rank, shape.users);
  double seconds = 0;
  for (auto _ : state) {
    seconds += ProcessorSeconds([&] {
      benchmark::DoNotOptimize(
          ComputeStatistics(*data, request, {.threads = shape.threads}, &h));
    });
  }
  const double rate = 4e-9 * shape.features * shape.users *
                      static_cast<double>(state.iterations()) / seconds *
                      shape.threads;
  state.counters["GB/s"] = rate;
  state.counters["triad"] =
      MachineRate("triad " + std::to_string(shape.threads));
  state.counters["of_triad"] = rate / state.counters["triad"];
}

double WallSeconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// Seconds on the wall and of all threads' processor time.
struct Times {
  std::vector<double> wall, processor;
  void Take(const std::function<void()>& work) {
    processor.push_back(0);
    wall.push_back(
        WallSeconds([&] { processor.back() = ProcessorSeconds(work); }));
  }
  static double Median(std::vector<double> values) {
    const auto middle =
        values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
};

// Measures the gain of two threads over one (`scaling`) and that of two
// independent GEMMs in the same run (`gemm_scaling`) by the clock on the wall,
// which other load disturbs; `ratio` is their quotient. `ratio_cpu` is the same
// by processor time: two threads take the time of both, and once more that of
// the serial part (a round of one strip), while one of them waits.
void BM_Scaling(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  const auto data = DenseData(shape);
  const auto strip_data =
      DenseData({shape.features, shape.rank, kStripUsers, 1});
  const Eigen::MatrixXd w = RandomDictionary(shape.features, shape.rank, 1);
  const StatisticsRequest request = RequestFor(w, true, 10);
  Coefficients h(shape.rank, shape.users);
  Coefficients strip_h(shape.rank, kStripUsers);
  const auto round = [&](int threads) {
    benchmark::DoNotOptimize(
        ComputeStatistics(*data, request, {.threads = threads}, &h));
  };
  // Independent: each has its own users and its own result.
  Eigen::MatrixXd v[2], c[2];
  for (int which = 0; which < 2; ++which) {
    v[which] = Eigen::MatrixXd::Random(shape.features, shape.users / 2);
    c[which].resize(shape.rank, shape.users / 2);
  }
  const auto product = [&](int which) {
    for (int i = 0; i < 20; ++i) c[which].noalias() = w.transpose() * v[which];
  };
  round(1);
  Times gemm_one, gemm_two, one, two, serial;
  for (auto _ : state) {
    gemm_one.Take([&] {
      product(0);
      product(1);
    });
    gemm_two.Take([&] {
      std::thread other([&] { product(1); });
      product(0);
      other.join();
    });
    one.Take([&] { round(1); });
    two.Take([&] { round(2); });
    serial.Take([&] {
      benchmark::DoNotOptimize(
          ComputeStatistics(*strip_data, request, {.threads = 1}, &strip_h));
    });
  }
  const auto gain = [](const std::vector<double>& before,
                       const std::vector<double>& after) {
    std::vector<double> gains;
    for (std::size_t i = 0; i < before.size(); ++i)
      gains.push_back(before[i] / after[i]);
    return Times::Median(gains);
  };
  state.counters["scaling"] = gain(one.wall, two.wall);
  state.counters["gemm_scaling"] = gain(gemm_one.wall, gemm_two.wall);
  state.counters["ratio"] =
      state.counters["scaling"] / state.counters["gemm_scaling"];
  std::vector<double> both = two.processor;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += serial.processor[i];
  state.counters["serial"] =
      Times::Median(serial.processor) / Times::Median(one.processor);
  state.counters["ratio_cpu"] =
      gain(one.processor, both) / gain(gemm_one.processor, gemm_two.processor);
}

void KernelShapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({361, 50, 2432, 1});
  benchmark->Args({1000, 30, 4096, 1});
  benchmark->Args({64, 10, 20000, 1});
  benchmark->UseRealTime()->Unit(benchmark::kMicrosecond);
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  for (const int threads : {1, 2}) {
    benchmark->Args({361, 50, 2432, threads});
    benchmark->Args({1000, 30, 4096, threads});
    benchmark->Args({64, 10, 20000, threads});
  }
  benchmark->UseRealTime()->Unit(benchmark::kMillisecond);
}

void SparseShapes(benchmark::internal::Benchmark* benchmark) {
  for (const int features : {1000, 4000, 16000}) {
    benchmark->Args({features, 30, 10000, 2});
  }
  benchmark->UseRealTime()->Unit(benchmark::kMillisecond);
}

// 138,000 users, 27,000 items, 13.8 million nonzeros (100 a user).
void LargeSparseShape(benchmark::internal::Benchmark* benchmark) {
  benchmark->Args({27000, 30, 138000, 2});
  benchmark->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_KernelProduct)->Apply(KernelShapes);
BENCHMARK(BM_KernelOutliers)->Apply(KernelShapes);
BENCHMARK(BM_KernelClip)->Apply(KernelShapes);
BENCHMARK(BM_KernelSweep)->Apply(KernelShapes);
BENCHMARK(BM_KernelExactSums)->Apply(KernelShapes);
BENCHMARK(BM_Statistics)->Apply(Shapes);
BENCHMARK(BM_RoundGram)->Apply(Shapes);
BENCHMARK(BM_RoundOutliers)->Apply(Shapes);
BENCHMARK(BM_RoundSparse)->Apply(SparseShapes)->Apply(LargeSparseShape);
BENCHMARK(BM_RoundSparseOutliers)->Apply(SparseShapes)->Apply(LargeSparseShape);
BENCHMARK(BM_Moments)
    ->Args({361, 50, 2432, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Stream)
    ->Args({256, 4, 1 << 20, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Scaling)
    ->Args({361, 50, 2432 * 4, 2})
    ->Args({361, 50, 2432, 2})
    ->UseRealTime()
    ->Iterations(11)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dpnmf::curator

BENCHMARK_MAIN();
