#include "tests/attacks/attack_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace dpnmf::curator {
namespace {

double BinomialTerm(std::uint64_t k, std::uint64_t n, double p) {
  const double x = static_cast<double>(k), size = static_cast<double>(n);
  return std::exp(std::lgamma(size + 1) - std::lgamma(x + 1) -
                  std::lgamma(size - x + 1) + x * std::log(p) +
                  (size - x) * std::log1p(-p));
}

// The end of [low, high] on which the condition still holds, for a condition
// that holds at `low` and is lost somewhere.
double LastThatHolds(double low, double high,
                     const std::function<bool(double)>& holds) {
  for (int i = 0; i < 80; ++i) {
    const double middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

double NormalCdf(double x) { return std::erfc(-x * M_SQRT1_2) / 2; }

double NormalQuantile(double p) {
  return LastThatHolds(-40, 40, [p](double x) { return NormalCdf(x) <= p; });
}

double BinomialCdf(std::uint64_t successes, std::uint64_t trials, double p) {
  if (successes >= trials) return 1;
  // The tail beside the mean that has no mode in it, so that terms fall.
  const double n = static_cast<double>(trials);
  if (static_cast<double>(successes) < n * p) {
    double term = BinomialTerm(successes, trials, p), sum = term;
    for (std::uint64_t k = successes; k > 0 && term > 1e-18 * sum; --k) {
      term *= static_cast<double>(k) * (1 - p) /
              (static_cast<double>(trials - k + 1) * p);
      sum += term;
    }
    return std::min(sum, 1.0);
  }
  double term = BinomialTerm(successes + 1, trials, p), sum = term;
  for (std::uint64_t k = successes + 1; k < trials && term > 1e-18 * sum; ++k) {
    term *= static_cast<double>(trials - k) * p /
            (static_cast<double>(k + 1) * (1 - p));
    sum += term;
  }
  return 1 - std::min(sum, 1.0);
}

double LargestProbability(std::uint64_t successes, std::uint64_t trials,
                          double miss) {
  if (successes >= trials) return 1;
  const double rate =
      static_cast<double>(successes) / static_cast<double>(trials);
  return LastThatHolds(rate, 1, [&](double p) {
    return p <= 0 || BinomialCdf(successes, trials, p) >= miss;
  });
}

double SmallestProbability(std::uint64_t successes, std::uint64_t trials,
                           double miss) {
  return 1 - LargestProbability(trials - successes, trials, miss);
}

double Guesses::SuccessRate() const {
  return 1 - static_cast<double>(said_1_in_0 + said_0_in_1) /
                 static_cast<double>(plays_of_0 + plays_of_1);
}

double MuLowerBound(const Guesses& guesses, double miss) {
  const double a =
      LargestProbability(guesses.said_1_in_0, guesses.plays_of_0, miss / 2);
  const double b =
      LargestProbability(guesses.said_0_in_1, guesses.plays_of_1, miss / 2);
  return std::max(0.0, -NormalQuantile(a) - NormalQuantile(b));
}

double OneRunPValue(std::uint64_t m, std::uint64_t r, std::uint64_t v,
                    double epsilon, double delta) {
  // r - X, the wrong ones, are binomial of this probability.
  const double wrong = 1 / (1 + std::exp(epsilon));
  const double beta = BinomialCdf(r - v, r, wrong);
  // alpha = max over i of P(v > X >= v - i) / i.
  double alpha = 0, sum = 0;
  for (std::uint64_t i = 1; i <= v; ++i) {
    sum += BinomialTerm(r - v + i, r, wrong);
    alpha = std::max(alpha, sum / static_cast<double>(i));
  }
  return std::min(1.0, beta + 2 * static_cast<double>(m) * delta * alpha);
}

double OneRunEpsilon(std::uint64_t m, std::uint64_t r, std::uint64_t v,
                     double delta, double miss) {
  const auto refuted = [&](double epsilon) {
    return OneRunPValue(m, r, v, epsilon, delta) < miss;
  };
  return refuted(0) ? LastThatHolds(0, 50, refuted) : 0;
}

}  // namespace dpnmf::curator
