// Bounds proved by counts of right and wrong guesses, at a stated confidence.
#ifndef DPNMF_TESTS_ATTACKS_ATTACK_STATISTICS_H_
#define DPNMF_TESTS_ATTACKS_ATTACK_STATISTICS_H_

#include <cstdint>

namespace dpnmf::curator {

// The chance that a sound mechanism is accused, of each verdict.
inline constexpr double kAccusation = 1e-7;
// Chance of error of the figures that are printed for reading.
inline constexpr double kReading = 0.05;

double NormalCdf(double x);
// p in (0, 1).
double NormalQuantile(double p);

// P(X <= successes) for X binomial.
double BinomialCdf(std::uint64_t successes, std::uint64_t trials, double p);

// The largest probability of success that `successes` of `trials` leave
// possible: below the true one with probability at most `miss` (Clopper and
// Pearson 1934).
double LargestProbability(std::uint64_t successes, std::uint64_t trials,
                          double miss);
// The smallest, likewise.
double SmallestProbability(std::uint64_t successes, std::uint64_t trials,
                           double miss);

// Guesses of an attacker whose rule was fixed before the plays.
struct Guesses {
  std::uint64_t plays_of_0 = 0;
  std::uint64_t said_1_in_0 = 0;
  std::uint64_t plays_of_1 = 0;
  std::uint64_t said_0_in_1 = 0;
  double SuccessRate() const;
};

// A lower bound on mu: with probability at least 1 - miss over the plays, no
// mechanism of a smaller mu made them. *Proof.* Let a and b be the true rates
// of the two errors. mu-Gaussian DP is b >= Phi(Phi^-1(1 - a) - mu) (Dong, Roth
// and Su 2022, Def. 2.6), so that mu >= -Phi^-1(a) - Phi^-1(b), which falls in
// a and in b. Each of the Clopper-Pearson bounds at miss / 2 is below its rate
// with probability at most miss / 2. (Nasr et al. 2023, "Tight auditing of
// differentially private machine learning", section 4.)
double MuLowerBound(const Guesses& guesses, double miss);

// Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training
// run", Corollary 5.4 and Appendix D: under (epsilon, delta)-DP, m canaries,
// each in one of two states by a fair coin of its own, r guesses, the chance of
// at least v right ones is at most this.
double OneRunPValue(std::uint64_t m, std::uint64_t r, std::uint64_t v,
                    double epsilon, double delta);
// The largest epsilon that the counts refute at level `miss`.
double OneRunEpsilon(std::uint64_t m, std::uint64_t r, std::uint64_t v,
                     double delta, double miss);

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_ATTACK_STATISTICS_H_
