#include "lab/attack/figures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace dpnmf::curator::lab {
namespace {

// log of the beta function. std::lgamma writes a global sign.
double LogBeta(double a, double b) {
  int sign = 0;
  return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
}

// I_x(a, b) by its continued fraction (DLMF 8.17.22), evaluated from the front
// (Lentz 1976). It converges fast for x < (a + 1) / (a + b + 2).
double FrontOfBeta(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away = [](double y) { return std::abs(y) < kTiny ? kTiny : y; };
  double c = 1, d = 1 / away(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    fraction *= c * d;
    const double odd =
        -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    fraction *= c * d;
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return std::exp(a * std::log(x) + b * std::log1p(-x) - LogBeta(a, b)) *
         fraction / a;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  return x < (a + 1) / (a + b + 2) ? FrontOfBeta(a, b, x)
                                   : 1 - FrontOfBeta(b, a, 1 - x);
}

constexpr double kMiss = 0.025;  // at each end

// Clopper and Pearson (1934): the quantiles of Beta(x, n - x + 1) and of
// Beta(x + 1, n - x).
double LowEnd(double x, double n) {
  return x <= 0 ? 0 : BetaQuantile(x, n - x + 1, kMiss);
}
double HighEnd(double x, double n) {
  return x >= n ? 1 : BetaQuantile(x + 1, n - x, 1 - kMiss);
}

}  // namespace

double BetaQuantile(double a, double b, double p) {
  double low = 0, high = 1;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (IncompleteBeta(a, b, middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

Share ShareOfExpected(double count, std::int64_t of) {
  if (of <= 0) return {};
  const double n = static_cast<double>(of);
  // Sums of 1/m may miss a whole number by their rounding.
  const double near = std::round(count);
  const bool whole = std::abs(count - near) < 1e-9 * n;
  const double below = whole ? near : std::floor(count);
  const double above = whole ? near : std::ceil(count);
  return {.value = (whole ? near : count) / n,
          .low = LowEnd(below, n),
          .high = HighEnd(above, n),
          .of = of};
}

Share ShareOf(std::int64_t count, std::int64_t of) {
  return ShareOfExpected(static_cast<double>(count), of);
}

nlohmann::ordered_json ToJson(const Share& share) {
  return {{"value", share.value},
          {"low", share.low},
          {"high", share.high},
          {"of", share.of}};
}

Share AreaUnderCurve(std::span<const double> members,
                     std::span<const double> outsiders) {
  // For each score of one group: the share of the other that it exceeds, ties
  // by half (the structural components of DeLong).
  const auto components = [](std::span<const double> of,
                             std::span<const double> over) {
    std::vector<double> sorted(over.begin(), over.end());
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> shares;
    shares.reserve(of.size());
    for (const double score : of) {
      const auto [from, to] =
          std::equal_range(sorted.begin(), sorted.end(), score);
      shares.push_back((static_cast<double>(from - sorted.begin()) +
                        0.5 * static_cast<double>(to - from)) /
                       static_cast<double>(sorted.size()));
    }
    return shares;
  };
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  const auto variance_of_mean = [&mean](const std::vector<double>& values) {
    if (values.size() < 2) return 1.0;
    const double centre = mean(values);
    double sum = 0;
    for (const double value : values)
      sum += (value - centre) * (value - centre);
    const double n = static_cast<double>(values.size());
    return sum / (n - 1) / n;
  };
  const std::vector<double> v10 = components(members, outsiders);
  const std::vector<double> v01 = components(outsiders, members);
  const std::int64_t smaller =
      static_cast<std::int64_t>(std::min(v10.size(), v01.size()));
  Share area = {.value = mean(v10),
                .of = static_cast<std::int64_t>(v10.size() + v01.size())};
  const double variance = variance_of_mean(v10) + variance_of_mean(v01);
  if (!(variance > 0)) {
    const Share whole =
        ShareOfExpected(area.value * static_cast<double>(smaller), smaller);
    area.low = whole.low;
    area.high = whole.high;
    return area;
  }
  const double half = 1.959963984540054 * std::sqrt(variance);
  area.low = std::max(0.0, area.value - half);
  area.high = std::min(1.0, area.value + half);
  return area;
}

Share FoundAtOnePercent(std::span<const double> members,
                        std::span<const double> outsiders) {
  std::vector<double> sorted(outsiders.begin(), outsiders.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const std::size_t allowed = sorted.size() / 100;
  const std::int64_t found =
      std::count_if(members.begin(), members.end(), [&](double score) {
        return allowed >= sorted.size() || score > sorted[allowed];
      });
  return ShareOf(found, static_cast<std::int64_t>(members.size()));
}

}  // namespace dpnmf::curator::lab
