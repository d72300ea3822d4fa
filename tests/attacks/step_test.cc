// The precision of the outputs (Haney, Desfontaines, Hartman, Shrestha and Hay
// 2022, "Precision-based attacks and interval refining: how to break, then fix,
// differential privacy on finite computers"): if the step of the outputs
// follows the data, as the unit in the last place of a floating-point sum does,
// reading the step tells neighbours apart.
//
// The product's verdict as in low_bits_test.cc: false alarm at most 1e-7.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/attacks/attack_games.h"
#include "tests/attacks/attack_statistics.h"
#include "tests/attacks/gate_path.h"

namespace dpnmf::curator::one_step {
namespace {

constexpr std::uint64_t kSeed = 20'220'000'000;
constexpr int kPlays = 1000;  // of each world

// Everyone on one axis, and the target there too or on the other: the largest
// sum is 8, or 7, on either side of a power of two.
LinearGame StraddlingGame(const RunPlan& plan) {
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  LinearGame game;
  for (int world = 0; world < 2; ++world) {
    Eigen::MatrixXf v = Direction(0b01).replicate(1, kAttackUsers);
    if (world == 1) v.col(kTarget) = Direction(0b10);
    game.sums[world] = Flat(SumsOf(v, RequestWith(plan, w)));
  }
  game.stddevs = StddevsOf(plan.stages[0].parts);
  return game;
}

// 28 bits below the largest sum's first.
int StepOfLargestSum(const std::vector<std::int64_t>& sums) {
  const std::int64_t largest = *std::max_element(sums.begin(), sums.end());
  return std::bit_width(static_cast<std::uint64_t>(largest)) - 29;
}

std::int64_t RoundTo(std::int64_t value, int step) {
  const std::int64_t size = std::int64_t{1} << step;
  return (value + size / 2) & -size;
}

// The step that all outputs are multiples of.
int ReadStep(std::span<const std::int64_t> view) {
  std::uint64_t bits = 0;
  for (const std::int64_t value : view)
    bits |= static_cast<std::uint64_t>(value);
  return std::countr_zero(bits);
}

// Says the world whose step divides the outputs; both or none: a coin.
int GuessByStep(const LinearGame& game, std::span<const std::int64_t> view,
                std::mt19937_64& coin) {
  const int step = ReadStep(view);
  const int step_0 = StepOfLargestSum(game.sums[0]);
  const int step_1 = StepOfLargestSum(game.sums[1]);
  if (step >= std::max(step_0, step_1)) return step_0 > step_1 ? 0 : 1;
  if (step >= std::min(step_0, step_1)) return step_0 > step_1 ? 1 : 0;
  return static_cast<int>(coin() >> 63);
}

// Plays the published integers of both worlds against the attacker.
Guesses PlaySteps(
    const std::string& who, const LinearGame& game,
    const std::function<std::vector<std::int64_t>(int world)>& publish) {
  std::mt19937_64 coin(kSeed);
  Guesses guesses{kPlays, 0, kPlays, 0};
  for (int play = 0; play < kPlays; ++play) {
    guesses.said_1_in_0 += GuessByStep(game, publish(0), coin);
    guesses.said_0_in_1 += 1 - GuessByStep(game, publish(1), coin);
  }
  PrintFigure("the outputs' step", who,
              absl::StrFormat("success rate %.4f of %d plays",
                              guesses.SuccessRate(), 2 * kPlays));
  return guesses;
}

TEST(StepAttack, SeesAStepThatFollowsTheData) {
  std::cout << "seed " << kSeed << "\n";
  const LinearGame game = StraddlingGame(PlanFor(0.05));
  std::uint64_t seed = kSeed;
  const auto twin = [&](int world) {
    std::vector<std::int64_t> view = DrawNoise(game.stddevs, 1, seed++);
    const int step = StepOfLargestSum(game.sums[world]);
    for (std::size_t i = 0; i < view.size(); ++i)
      view[i] = RoundTo(view[i] + game.sums[world][i], step);
    return view;
  };
  EXPECT_GT(
      PlaySteps("twin: step of the largest sum", game, twin).SuccessRate(),
      0.99);
}

// Through the gate, which draws its own keys.
TEST(StepAttack, GainsNothingOnTheProduct) {
  const RunPlan plan = PlanFor(0.05);
  const LinearGame game = StraddlingGame(plan);
  GatePath gates[] = {GatePath(plan.stages[0].parts, kPlays),
                      GatePath(plan.stages[0].parts, kPlays)};
  const auto product = [&](int world) {
    return gates[world].Release(Unflat(plan.stages[0].parts, game.sums[world]));
  };
  EXPECT_LE(PlaySteps("product", game, product).SuccessRate(),
            NormalCdf(std::sqrt(plan.cost.ToDouble()) / 2) +
                std::sqrt(std::log(1 / kAccusation) / (4 * kPlays)));
}

// Sums of any size leave the gate on the plan's lattice, and no coarser: that
// the 15 integers of each of three rounds are all even has probability 2^-45.
TEST(StepAttack, TheStepThatLeavesTheGateIsThePlans) {
  const RunPlan plan = PlanFor(0.05);
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  const StatisticsRequest request = RequestWith(plan, w);
  const Eigen::MatrixXf columns[] = {
      Direction(0b01).replicate(1, kAttackUsers), PeopleWith(Direction(0b10)),
      Eigen::MatrixXf::Zero(kAttackFeatures, kAttackUsers)};
  for (const Eigen::MatrixXf& v : columns) {
    GatePath gate(plan.stages[0].parts, 3);
    int finest = 64;
    for (int round = 0; round < 3; ++round) {
      finest = std::min(finest, ReadStep(gate.Release(SumsOf(v, request))));
      ASSERT_EQ(gate.step_exponents().size(), plan.stages[0].parts.size());
      for (std::size_t part = 0; part < plan.stages[0].parts.size(); ++part) {
        EXPECT_EQ(gate.step_exponents()[part],
                  plan.stages[0].parts[part].step_exponent);
        // On the sums' lattice: a coarser step would tell the sum's remainder.
        EXPECT_EQ(plan.stages[0].parts[part].step_exponent,
                  -2 * plan.data_bits);
      }
    }
    EXPECT_EQ(finest, 0);
  }
}

}  // namespace
}  // namespace dpnmf::curator::one_step
