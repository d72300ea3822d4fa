// Two worlds that differ in one person, what the analyst sees of each, and the
// best guess at which it was.
#ifndef DPNMF_TESTS_ATTACKS_ATTACK_GAMES_H_
#define DPNMF_TESTS_ATTACKS_ATTACK_GAMES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "common/privacy/run_plan.h"
#include "curator/factor/statistics.h"
#include "tests/attacks/attack_statistics.h"

namespace dpnmf::curator {

// D x K, N people of whom the last but one is the target.
inline constexpr int kAttackFeatures = 6, kAttackRank = 2, kAttackUsers = 8;
inline constexpr int kTarget = kAttackUsers - 2;
inline constexpr double kAttackDelta = 1e-5;

// The plan of a run with the exact conversion.
RunPlan PlanFor(double epsilon, std::uint32_t rounds = 1,
                Adjacency adjacency = Adjacency::kReplaceOne);

// The unit vector with ones where `mask` has bits, scaled to `length`.
Eigen::VectorXf Direction(unsigned mask, double length = 1);
// Everyone else's random columns and the target's.
Eigen::MatrixXf PeopleWith(const Eigen::VectorXf& target);
// Columns e_first, e_second, times `scale`.
Eigen::MatrixXd AxesDictionary(int first, int second, double scale = 1);

// The first round's sums, as the session asks for them with this plan.
StatisticsRequest RequestWith(const RunPlan& plan, const Eigen::MatrixXd& w);
ExactSums SumsOf(const Eigen::MatrixXf& v, const StatisticsRequest& request);

// The same integers in both worlds but for sums[world]; independent noise of
// stddevs (0: none) on each. The attacker knows everything but the world.
struct LinearGame {
  std::array<std::vector<std::int64_t>, 2> sums;
  std::vector<std::uint64_t> stddevs;
};

// log P(view | world 1) - log P(view | world 0), the noise taken as normal;
// coordinates without noise decide alone if they tell the worlds apart.
double LogLikelihoodRatio(const LinearGame& game,
                          std::span<const std::int64_t> view);

// `plays` noise vectors one after another, from FillGaussian under a key of the
// seed.
std::vector<std::int64_t> DrawNoise(std::span<const std::uint64_t> stddevs,
                                    std::uint64_t plays, std::uint64_t seed);

// Plays each world `plays` times; says 1 where the ratio is above 0.
Guesses Play(const LinearGame& game, std::uint64_t plays, std::uint64_t seed);

// One line for the table of docs/research/attacks_measured.md.
void PrintFigure(const std::string& attack, const std::string& who,
                 const std::string& figure);

// The claim: of the run's whole cost.
double MuOf(const RunPlan& plan);

// Lower bounds on mu.
struct Bound {
  double surely;   // miss 1e-7
  double reading;  // miss 5 %
};

// A bound on the run's mu from the guesses, printed as epsilon.
Bound Report(const std::string& who, const RunPlan& plan,
             const Guesses& guesses);

}  // namespace dpnmf::curator

#endif  // DPNMF_TESTS_ATTACKS_ATTACK_GAMES_H_
