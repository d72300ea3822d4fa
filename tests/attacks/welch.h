// Two classes of measurements, and whether their means differ.
#ifndef DPNMF_TESTS_ATTACKS_WELCH_H_
#define DPNMF_TESTS_ATTACKS_WELCH_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace dpnmf {

struct Measurement {
  int kind = 0;  // 0 or 1
  double value = 0;
};

// Welch's t of the measurements that are at most `largest`.
inline double WelchT(const std::vector<Measurement>& measurements,
                     double largest) {
  std::array<double, 2> count{}, mean{}, squares{};  // Welford's recurrence
  for (const Measurement& m : measurements) {
    if (!(m.value <= largest)) continue;
    const double difference = m.value - mean[m.kind];
    mean[m.kind] += difference / ++count[m.kind];
    squares[m.kind] += difference * (m.value - mean[m.kind]);
  }
  double variance = 0;
  for (int kind : {0, 1})
    variance += squares[kind] / (count[kind] - 1) / count[kind];
  return mean[0] == mean[1] ? 0 : (mean[0] - mean[1]) / std::sqrt(variance);
}

// The value that a `share` of all measurements does not exceed.
inline double Percentile(const std::vector<Measurement>& measurements,
                         double share) {
  std::vector<double> values;
  for (const Measurement& m : measurements) values.push_back(m.value);
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * (values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The larger |t| of all measurements and of those below the 90th percentile of
// both classes together, which is without what the scheduler adds (dudect:
// Reparaz, Balasch and Verbauwhede 2017).
inline double LargestT(const std::vector<Measurement>& measurements) {
  return std::max(
      std::abs(WelchT(measurements, INFINITY)),
      std::abs(WelchT(measurements, Percentile(measurements, 0.9))));
}

}  // namespace dpnmf

#endif  // DPNMF_TESTS_ATTACKS_WELCH_H_
