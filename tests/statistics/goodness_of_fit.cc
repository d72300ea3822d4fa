#include "tests/statistics/goodness_of_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

namespace dpnmf::curator {
namespace {

// Two-sided normal quantile of 1e-10.
constexpr double kNormalCritical = 6.4669;

// A statistic that must not exceed its critical value; NaN does not pass.
Verdict AtMost(const char* name, double statistic, double critical) {
  std::ostringstream detail;
  detail << name << ": " << statistic << ", critical " << critical;
  return {statistic <= critical, detail.str()};
}

}  // namespace

Verdict ChiSquare(std::span<const std::uint64_t> counts,
                  std::span<const double> probability, double critical) {
  double n = 0;
  for (const std::uint64_t count : counts) n += static_cast<double>(count);
  double statistic = 0;
  for (std::size_t cell = 0; cell < counts.size(); ++cell) {
    const double expected = n * probability[cell];
    const double gap = static_cast<double>(counts[cell]) - expected;
    statistic += gap * gap / expected;
  }
  return AtMost("chi-square", statistic, critical);
}

Verdict MatchesCells(std::span<const std::int64_t> samples,
                     const GaussianCase& expected) {
  std::vector<std::uint64_t> counts(expected.probability.size());
  for (const std::int64_t sample : samples) {
    const auto cell =
        std::lower_bound(expected.last.begin(), expected.last.end(), sample);
    ++counts[static_cast<std::size_t>(cell - expected.last.begin())];
  }
  return ChiSquare(counts, expected.probability, expected.critical);
}

Verdict HasUniformLowBits(std::span<const std::int64_t> samples) {
  std::array<std::uint64_t, 64> counts{};
  for (const std::int64_t sample : samples) {
    ++counts[static_cast<std::uint64_t>(sample) % 64];
  }
  std::array<double, 64> uniform;
  uniform.fill(1.0 / 64);
  return ChiSquare(counts, uniform, kChiSquareCritical63);
}

Verdict MatchesDistribution(std::span<const std::int64_t> samples,
                            double sigma) {
  std::vector<std::int64_t> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double n = static_cast<double>(sorted.size());
  double distance = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i + 1 < sorted.size() && sorted[i + 1] == sorted[i]) continue;
    // P(round(sigma Z) <= sample), against the share of samples up to it. Both
    // functions are constant between integers; below the sample, the count of
    // the integer before applies.
    const double at = static_cast<double>(sorted[i]) + 0.5;
    const double cdf = std::erfc(-at / sigma * M_SQRT1_2) / 2;
    distance =
        std::max(distance, std::abs(static_cast<double>(i + 1) / n - cdf));
    if (i + 1 == sorted.size()) break;
    const double next = static_cast<double>(sorted[i + 1]) - 0.5;
    const double cdf_next = std::erfc(-next / sigma * M_SQRT1_2) / 2;
    distance =
        std::max(distance, std::abs(static_cast<double>(i + 1) / n - cdf_next));
  }
  return AtMost("sqrt(n) D", std::sqrt(n) * distance,
                std::sqrt(std::log(2 / 1e-9) / 2));
}

Verdict HasNormalMoments(std::span<const std::int64_t> samples, double sigma) {
  constexpr std::array<double, 13> kMoment{1, 0,   1, 0,   3, 0,    15,
                                           0, 105, 0, 945, 0, 10395};
  std::array<double, 7> sum{};
  for (const std::int64_t sample : samples) {
    const double z = static_cast<double>(sample) / sigma;
    double power = 1;
    for (std::size_t m = 1; m <= 6; ++m) sum[m] += power *= z;
  }
  const double n = static_cast<double>(samples.size());
  Verdict all{true, ""};
  for (std::size_t m = 1; m <= 6; ++m) {
    const double variance = kMoment[2 * m] - kMoment[m] * kMoment[m];
    const double gap = (sum[m] / n - kMoment[m]) / std::sqrt(variance / n);
    const Verdict one =
        AtMost("moment, in standard errors", std::abs(gap), kNormalCritical);
    all.passes = all.passes && one.passes;
    all.detail += one.detail + "\n";
  }
  return all;
}

Verdict IsUncorrelated(std::span<const std::int64_t> a,
                       std::span<const std::int64_t> b, double sigma) {
  const std::size_t size = std::min(a.size(), b.size());
  double product = 0, squares = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double x = static_cast<double>(a[i]) / sigma;
    const double y = static_cast<double>(b[i]) / sigma;
    product += x * y;
    squares += (x * x - 1) * (y * y - 1) / 2;
  }
  const double worst = std::fmax(std::abs(product), std::abs(squares));
  return AtMost("correlation, in standard errors",
                worst / std::sqrt(static_cast<double>(size)), kNormalCritical);
}

Verdict MatchesPoisson(std::uint64_t count, double mean) {
  // P(X <= count) and P(X >= count), summed term by term.
  double below = 0, above = 0;
  const auto end =
      static_cast<std::uint64_t>(mean + 50 * std::sqrt(mean + 10)) + count + 50;
  for (std::uint64_t i = 0; i <= end; ++i) {
    const double x = static_cast<double>(i);
    const double term =
        std::exp(x * std::log(mean) - mean - std::lgamma(x + 1));
    if (i <= count) below += term;
    if (i >= count) above += term;
  }
  std::ostringstream detail;
  detail << "count " << count << ", mean " << mean;
  return {std::min(below, above) > kFalseAlarm / 4, detail.str()};
}

Verdict MatchesBinomial(std::uint64_t successes, std::uint64_t n, double p) {
  const double trials = static_cast<double>(n);
  const double gap = static_cast<double>(successes) - trials * p;
  return AtMost("share, in standard errors",
                std::abs(gap) / std::sqrt(trials * p * (1 - p)),
                kNormalCritical);
}

std::uint64_t CountBeyond(std::span<const std::int64_t> samples, double z,
                          double sigma) {
  const auto limit = static_cast<std::int64_t>(z * sigma);
  return static_cast<std::uint64_t>(std::count_if(
      samples.begin(), samples.end(), [limit](std::int64_t sample) {
        return sample > limit || sample < -limit;
      }));
}

}  // namespace dpnmf::curator
