#include "lab/evaluate/paper.h"

#include <cmath>

namespace dpnmf::curator::lab {

double PaperSensitivityOfA(double users) { return 2 / users; }

double PaperSensitivityOfB(double users, bool outliers) {
  return (outliers ? 4 : 2) / users;
}

double PaperStddev(double sensitivity, double epsilon_per_round, double delta) {
  return sensitivity * std::sqrt(2 * std::log(1.25 / delta)) /
         epsilon_per_round;
}

double PaperOverallEpsilon(double epsilon_per_round, std::uint32_t rounds,
                           double delta) {
  const double rho = rounds * epsilon_per_round * epsilon_per_round /
                     (2 * std::log(1.25 / delta));
  return rho + 2 * std::sqrt(rho * std::log(1 / delta));
}

double PaperEpsilonPerRound(double overall, std::uint32_t rounds,
                            double delta) {
  // overall + L = (sqrt(rho) + sqrt(L))^2 with L = log(1/delta).
  const double log_delta = std::log(1 / delta);
  const double root = overall / (std::sqrt(log_delta + overall) +
                                 std::sqrt(log_delta));  // sqrt(rho)
  return root * std::sqrt(2 * std::log(1.25 / delta) / rounds);
}

}  // namespace dpnmf::curator::lab
