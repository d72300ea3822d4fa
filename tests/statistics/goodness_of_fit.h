// Tests of samples against the rounded Gaussian. Each returns a Verdict; sound
// samples are rejected with probability at most kFalseAlarm.
#ifndef DPNMF_TESTS_STATISTICS_GOODNESS_OF_FIT_H_
#define DPNMF_TESTS_STATISTICS_GOODNESS_OF_FIT_H_

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "tests/statistics/gaussian_reference.h"

namespace dpnmf::curator {

// False-alarm rate of one verdict. Critical values are at 1e-10 by limit laws,
// so that the error of these laws at the sample sizes stays within the claim.
inline constexpr double kFalseAlarm = 1e-8;

inline constexpr std::uint64_t kTwo30 = std::uint64_t{1} << 30;

struct Verdict {
  bool passes = false;
  std::string detail;  // statistic and critical value

  explicit operator bool() const { return passes; }
  friend std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
    return out << verdict.detail;
  }
};

// Pearson's statistic of counts against probabilities.
Verdict ChiSquare(std::span<const std::uint64_t> counts,
                  std::span<const double> probability, double critical);
// Over the cells of a case.
Verdict MatchesCells(std::span<const std::int64_t> samples,
                     const GaussianCase& expected);
// The last six bits of the samples; for sigma of at least 64 steps they are
// uniform (to exp(-2 pi^2 sigma^2 / 64^2)).
Verdict HasUniformLowBits(std::span<const std::int64_t> samples);
// Kolmogorov and Smirnov's distance, with Massart's bound, which holds for any
// n and any distribution: P(sqrt(n) D > t) <= 2 exp(-2 t^2).
Verdict MatchesDistribution(std::span<const std::int64_t> samples,
                            double sigma);
// E Z^m for m = 1 to 6, sigma of many steps.
Verdict HasNormalMoments(std::span<const std::int64_t> samples, double sigma);
// sum a_i b_i / sigma^2 and sum (a_i^2 - sigma^2)(b_i^2 - sigma^2) / (2
// sigma^4) against 0.
Verdict IsUncorrelated(std::span<const std::int64_t> a,
                       std::span<const std::int64_t> b, double sigma);
// A count of rare events against its mean: both Poisson tails.
Verdict MatchesPoisson(std::uint64_t count, double mean);
// Successes of n trials of probability p, np and n(1-p) large.
Verdict MatchesBinomial(std::uint64_t successes, std::uint64_t n, double p);

// How many samples have |sample| > z sigma, to half a step.
std::uint64_t CountBeyond(std::span<const std::int64_t> samples, double z,
                          double sigma);

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_STATISTICS_GOODNESS_OF_FIT_H_
