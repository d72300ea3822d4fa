// The H step and the exact statistics against plain matrix products of the same
// shapes in the same run. Rates are flops a second of processor time, so that a
// busy machine disturbs little; `of_gemm` is the share of Eigen's double GEMM.
//
//   dpnmf_factor_bench --benchmark_filter=...
//
// Arguments of every row: features D, rank K, users N, threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "Eigen/Core"
#include "common/base/parallel.h"
#include "common/nmf/dictionary.h"
#include "curator/data/dataset.h"
#include "curator/factor/statistics.h"

namespace dpnmf::curator {
namespace {

struct Shape {
  int features, rank, users, threads;
  auto operator<=>(const Shape&) const = default;
};

Shape ShapeOf(const benchmark::State& state) {
  return {static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
          static_cast<int>(state.range(2)), static_cast<int>(state.range(3))};
}

// Processor time of all threads.
double SecondsOf(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Users in parts of this many for the plain product.
constexpr int kGemmUsers = 2048;

// W'V over all users, every thread its own parts.
void PlainProduct(const Shape& shape, const Eigen::MatrixXd& w,
                  const Eigen::MatrixXd& v, Eigen::MatrixXd* c) {
  const int parts = (shape.users + kGemmUsers - 1) / kGemmUsers;
  ParallelFor(parts, shape.threads, [&](std::size_t part, int) {
    const int first = static_cast<int>(part) * kGemmUsers;
    const int count = std::min(kGemmUsers, shape.users - first);
    c->middleCols(first, count).noalias() =
        w.transpose() * v.middleCols(first, count);
  });
}

// The rate of the plain product, GFLOP/s; the median of five, once a shape.
double GemmRate(const Shape& shape) {
  static std::map<Shape, double> known;
  if (const auto found = known.find(shape); found != known.end()) {
    return found->second;
  }
  const Eigen::MatrixXd w = Eigen::MatrixXd::Random(shape.features, shape.rank);
  const Eigen::MatrixXd v =
      Eigen::MatrixXd::Random(shape.features, shape.users);
  Eigen::MatrixXd c(shape.rank, shape.users);
  PlainProduct(shape, w, v, &c);
  const double flops = 2.0 * shape.features * shape.rank * shape.users;
  std::vector<double> rates;
  const int repeats = static_cast<int>(2e9 / flops) + 1;
  for (int run = 0; run < 5; ++run) {
    rates.push_back(flops * repeats * 1e-9 / SecondsOf([&] {
                      for (int i = 0; i < repeats; ++i) {
                        PlainProduct(shape, w, v, &c);
                      }
                    }));
  }
  std::nth_element(rates.begin(), rates.begin() + 2, rates.end());
  return known[shape] = rates[2];
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
    seconds += SecondsOf([&] {
      benchmark::DoNotOptimize(
          ComputeStatistics(data, request, {.threads = shape.threads}, &h));
    });
  }
  if (flops == 0) return;
  const double rate =
      flops * 1e-9 * static_cast<double>(state.iterations()) / seconds;
  state.counters["GFLOP/s"] = rate;
  state.counters["of_gemm"] = rate / GemmRate(shape);
}

double ProductFlops(const Shape& shape) {
  return 2.0 * shape.features * shape.rank * shape.users;
}

double SweepFlops(const Shape& shape) {
  return 2.0 * shape.rank * shape.rank * shape.users;
}

// A plain product W'V.
void BM_Gemm(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  const Eigen::MatrixXd w = Eigen::MatrixXd::Random(shape.features, shape.rank);
  const Eigen::MatrixXd v =
      Eigen::MatrixXd::Random(shape.features, shape.users);
  Eigen::MatrixXd c(shape.rank, shape.users);
  for (auto _ : state) PlainProduct(shape, w, v, &c);
  state.counters["GFLOP/s"] = benchmark::Counter(
      ProductFlops(shape) * 1e-9 * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

// Exact sums A and B, clipping, quantising and the gate; the H step left out.
// (c = W'v is formed once and counts.)
void BM_Statistics(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  Run(state, *DenseData(shape), false, 0,
      2 * ProductFlops(shape) + SweepFlops(shape) / 2);
}

// A whole round without outliers: ten sweeps in Gram form.
void BM_RoundGram(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  Run(state, *DenseData(shape), false, 10,
      2 * ProductFlops(shape) + 10.5 * SweepFlops(shape));
}

// A whole round with outliers: ten passes over the residual and its clip.
void BM_RoundOutliers(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  Run(state, *DenseData(shape), true, 10,
      22 * ProductFlops(shape) + 10.5 * SweepFlops(shape));
}

// Without outliers, 100 nonzeros a user: the time follows the nonzeros.
void BM_RoundSparse(benchmark::State& state) {
  Run(state, *SparseData(ShapeOf(state), 100), false, 10, 0);
}

// With outliers, 100 nonzeros a user: so does this.
void BM_RoundSparseOutliers(benchmark::State& state) {
  Run(state, *SparseData(ShapeOf(state), 100), true, 10, 0);
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

BENCHMARK(BM_Gemm)->Apply(Shapes);
BENCHMARK(BM_Statistics)->Apply(Shapes);
BENCHMARK(BM_RoundGram)->Apply(Shapes);
BENCHMARK(BM_RoundOutliers)->Apply(Shapes);
BENCHMARK(BM_RoundSparse)->Apply(SparseShapes);
BENCHMARK(BM_RoundSparseOutliers)->Apply(SparseShapes);

}  // namespace
}  // namespace dpnmf::curator

BENCHMARK_MAIN();
