// Noise and accounting of the published algorithm (Saha and Imtiaz, arXiv
// 2211.01451), as published, for comparison. Nothing is released with it.
//
// Every round publishes A = HH'/N and B = (V-R)H'/N, each with Gaussian noise
// calibrated to (epsilon, delta) by itself, |h| <= 1 and |v| <= 1. T rounds are
// added in Renyi divergence.
#ifndef DPNMF_LAB_EVALUATE_PAPER_H_
#define DPNMF_LAB_EVALUATE_PAPER_H_

#include <cstdint>

namespace dpnmf::curator::lab {

// The paper's L2 sensitivities: A 2/N; B 2/N without outliers and 4/N with.
// (docs/reference/privacy.md: the true ones are sqrt(2)/N.)
double PaperSensitivityOfA(double users);
double PaperSensitivityOfB(double users, bool outliers);

// sigma = sensitivity sqrt(2 log(1.25/delta)) / epsilon (Dwork and Roth 2014,
// Theorem A.1, proven for epsilon < 1 alone; the accounting below needs no
// such condition).
double PaperStddev(double sensitivity, double epsilon_per_round, double delta);

// The overall epsilon of `rounds` rounds: each costs rho = 2 (Delta/sigma)^2 /
// 2 = epsilon^2 / (2 log(1.25/delta)); then min over alpha of
// rho alpha + log(1/delta)/(alpha - 1) = rho + 2 sqrt(rho log(1/delta)).
double PaperOverallEpsilon(double epsilon_per_round, std::uint32_t rounds,
                           double delta);

// The epsilon a round whose overall epsilon is `overall`.
double PaperEpsilonPerRound(double overall, std::uint32_t rounds, double delta);

}  // namespace dpnmf::curator::lab

#endif  // DPNMF_LAB_EVALUATE_PAPER_H_
