// Gaussian noise on one core: values per second and random bits per value.
//
//   exact        what the product draws: Algorithm N on cells of 1/16 sigma,
//   rounded exact/fill   the same through FillGaussian, on 1 and 2 threads
//   published    Karney's Algorithm N as published (cells of 1 sigma), rounded
//   cks20        discrete Gaussian of Canonne, Kamath and Steinke 2020,
//   Algorithm 3;
//                another distribution, and the usual choice of other libraries
//   box_muller   doubles; what must not be used: its low bits leak the true sum
//
// All of them take their bits from the same cipher. Not shipped.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "curator/noise/noise.h"
#include "curator/noise/noise_keystream.h"
#include "curator/noise/noise_sampler.h"

namespace dpnmf::curator {
namespace {

constexpr std::array<std::uint8_t, 32> kBenchKey{1, 2, 3};

// Counts the words that a sampler asks for.
class CountingSource {
 public:
  std::uint64_t Next() {
    ++words_;
    return stream_.Next();
  }
  double bits() const { return 64.0 * static_cast<double>(words_); }

 private:
  KeyStream stream_{kBenchKey, 0, 0};
  std::uint64_t words_ = 0;
};

void Report(benchmark::State& state, double bits_used) {
  state.SetItemsProcessed(state.iterations());
  state.counters["bits_per_value"] =
      bits_used / static_cast<double>(state.iterations());
}

template <int kCellBits>
void Exact(benchmark::State& state) {
  CountingSource source;
  const Rounding rounding(static_cast<std::uint64_t>(state.range(0)),
                          static_cast<std::uint64_t>(state.range(1)));
  GaussianSampler<64, kCellBits, CountingSource> sampler(rounding, source);
  for (auto _ : state) benchmark::DoNotOptimize(sampler.Next());
  Report(state, source.bits());
}

// sigma = numerator / denominator: 0.3, 2^10, 2^30, 2^45, and one that is no
// multiple of a power of two near the upper end.
void Sigmas(benchmark::internal::Benchmark* b) {
  b->ArgNames({"numerator", "denominator"});
  b->Args({3, 10})->Args({1 << 10, 1})->Args({1 << 30, 1});
  b->Args({std::int64_t{1} << 45, 1})->Args({10'000'000'000'000'001, 9});
}
BENCHMARK_TEMPLATE(Exact, 4)->Name("exact")->Apply(Sigmas);
BENCHMARK_TEMPLATE(Exact, 0)->Name("published")->Apply(Sigmas);

void Fill(benchmark::State& state) {
  const NoiseKey key = NoiseKey::Fresh();
  std::vector<std::int64_t> noise(36771 * 30);
  std::uint32_t stream = 0;
  for (auto _ : state) {
    FillGaussian(key, stream++, 1'000'000'007, 3,
                 static_cast<int>(state.range(0)), noise);
    benchmark::DoNotOptimize(noise.data());
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(noise.size()));
}
BENCHMARK(Fill)
    ->Name("exact/fill")
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();

void FreshKey(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(NoiseKey::Fresh().bytes().data());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(FreshKey)->Name("fresh_key");

void BoxMuller(benchmark::State& state) {
  CountingSource source;
  const double sigma = static_cast<double>(state.range(0));
  double spare = 0;
  bool has_spare = false;
  auto next = [&] {
    if (std::exchange(has_spare, !has_spare)) return spare;
    const double u = (static_cast<double>(source.Next() >> 11) + 1) * 0x1p-53;
    const double angle = 2 * std::numbers::pi *
                         static_cast<double>(source.Next() >> 11) * 0x1p-53;
    const double radius = sigma * std::sqrt(-2 * std::log(u));
    spare = radius * std::sin(angle);
    return radius * std::cos(angle);
  };
  for (auto _ : state) benchmark::DoNotOptimize(std::llround(next()));
  Report(state, source.bits());
}
BENCHMARK(BoxMuller)
    ->Name("box_muller")
    ->Arg(1 << 10)
    ->Arg(std::int64_t{1} << 45);

// Canonne, Kamath and Steinke 2020 (arXiv 2004.00010), Algorithms 1 to 3, with
// 128-bit integers, for an integer sigma up to 2^30.
class DiscreteGaussian {
 public:
  DiscreteGaussian(std::uint64_t sigma, CountingSource& source)
      : sigma_(sigma), source_(source) {}

  std::int64_t Next() {
    const std::uint64_t t = sigma_ + 1;
    const Uint128 sigma_squared = Uint128{sigma_} * sigma_;
    for (;;) {
      const std::int64_t y = DiscreteLaplace(t);
      // Bernoulli(exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)))
      const Uint128 a = Uint128{static_cast<std::uint64_t>(y < 0 ? -y : y)} * t;
      const Uint128 gap =
          a > sigma_squared ? a - sigma_squared : sigma_squared - a;
      // gap / (t sigma) in 40 binary places keeps the square within 128 bits.
      const Uint128 ratio = (gap << 40) / (Uint128{t} * sigma_);
      if (BernoulliExp(ratio * ratio, Uint128{2} << 80)) return y;
    }
  }

 private:
  // Uniform in [0, n), n < 2^127, by rejection.
  Uint128 Below(Uint128 n) {
    const auto high = static_cast<std::uint64_t>(n >> 64);
    if (high == 0) {
      const auto small = static_cast<std::uint64_t>(n);
      const int shift = std::countl_zero(small);
      for (;;) {
        const std::uint64_t candidate = source_.Next() >> shift;
        if (candidate < small) return candidate;
      }
    }
    const int shift = std::countl_zero(high);
    for (;;) {
      const Uint128 candidate =
          Uint128{source_.Next() >> shift} << 64 | source_.Next();
      if (candidate < n) return candidate;
    }
  }

  // Bernoulli(exp(-p / q)).
  bool BernoulliExp(Uint128 p, Uint128 q) {
    for (; p > q; p -= q) {
      if (!BernoulliExpBelowOne(q, q)) return false;
    }
    return BernoulliExpBelowOne(p, q);
  }
  bool BernoulliExpBelowOne(Uint128 p, Uint128 q) {
    std::uint64_t k = 1;
    while (Below(q) < p && Below(k) == 0) ++k;
    return k % 2 == 1;
  }

  std::int64_t DiscreteLaplace(std::uint64_t t) {
    for (;;) {
      const auto u = static_cast<std::uint64_t>(Below(t));
      if (!BernoulliExpBelowOne(u, t)) continue;
      std::uint64_t v = 0;
      while (BernoulliExpBelowOne(1, 1)) ++v;
      const std::uint64_t x = u + t * v;
      const bool negative = (source_.Next() & 1) != 0;
      if (negative && x == 0) continue;
      return negative ? -static_cast<std::int64_t>(x)
                      : static_cast<std::int64_t>(x);
    }
  }

  const std::uint64_t sigma_;
  CountingSource& source_;
};

void Cks20(benchmark::State& state) {
  CountingSource source;
  DiscreteGaussian sampler(static_cast<std::uint64_t>(state.range(0)), source);
  for (auto _ : state) benchmark::DoNotOptimize(sampler.Next());
  Report(state, source.bits());
}
BENCHMARK(Cks20)->Name("cks20")->Arg(1 << 10)->Arg(1 << 30);

}  // namespace
}  // namespace dpnmf::curator
