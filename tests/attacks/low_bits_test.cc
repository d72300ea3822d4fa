// The low bits of the noise (Mironov 2012, "On significance of the least
// significant bits for differential privacy"; Jin, McMurtry, Rubinstein and
// Ohrimenko 2022, "Are we there yet? Timing and floating-point attacks on
// differential privacy systems"): floating-point noise reaches some outputs
// from one neighbour alone.
//
// The product's verdict: whatever the attack, a guess at the world is right
// with probability at most Phi(mu / 2), and mu is tiny here, so that more than
// Phi(mu / 2) + sqrt(log(1e7) / (2 n)) of n guesses are right with probability
// at most 1e-7 (Hoeffding). Seeds are fixed and printed.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/attacks/attack_games.h"
#include "tests/attacks/attack_statistics.h"
#include "tests/attacks/floating_point_noise.h"
#include "tests/attacks/gate_path.h"

namespace dpnmf::curator::low_bits {
namespace {

constexpr std::uint64_t kSeed = 20'120'000'000;
constexpr int kPlays = 10'000;  // of each world

// Noise so wide that only the low bits can tell.
RunPlan WidePlan() { return PlanFor(0.05); }

LinearGame GameOf(const RunPlan& plan) {
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  const StatisticsRequest request = RequestWith(plan, w);
  return {{Flat(SumsOf(PeopleWith(Direction(0b01)), request)),
           Flat(SumsOf(PeopleWith(Direction(0b10)), request))},
          StddevsOf(plan.stages[0].parts)};
}

// Coordinates 2 i and 2 i + 1 of a world, as doubles in steps.
FloatingPair PairOf(const LinearGame& game, int world, std::size_t pair) {
  FloatingPair found = {{}, {1, 1}};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t at = 2 * pair + i;
    if (at >= game.stddevs.size()) break;
    found.sums[i] = static_cast<double>(game.sums[world][at]);
    found.stddevs[i] = static_cast<double>(game.stddevs[at]);
  }
  return found;
}

std::size_t PairCount(const LinearGame& game) {
  return (game.stddevs.size() + 1) / 2;
}

// One published round, pair after pair.
using Published = std::vector<std::array<double, 2>>;

Published PublishFloating(const LinearGame& game, int world,
                          std::mt19937_64& random) {
  Published published;
  for (std::size_t pair = 0; pair < PairCount(game); ++pair) {
    const std::uint64_t first = random() >> 11, second = random() >> 11;
    published.push_back(Publish(PairOf(game, world, pair), first, second));
  }
  return published;
}

Published AsPairs(std::span<const std::int64_t> view) {
  Published published((view.size() + 1) / 2);
  for (std::size_t i = 0; i < view.size(); ++i)
    published[i / 2][i % 2] = static_cast<double>(view[i]);
  return published;
}

// The first pair that one world alone can reach decides; else a coin.
int GuessBySupport(const LinearGame& game, const Published& published,
                   std::mt19937_64& coin) {
  for (std::size_t pair = 0; pair < published.size(); ++pair) {
    const FloatingPair zero = PairOf(game, 0, pair),
                       one = PairOf(game, 1, pair);
    if (zero.sums == one.sums) continue;
    const bool from_0 = IsReachable(zero, published[pair]);
    const bool from_1 = IsReachable(one, published[pair]);
    if (from_0 != from_1) return from_1 ? 1 : 0;
  }
  return static_cast<int>(coin() >> 63);
}

std::string RateText(const Guesses& guesses) {
  const std::uint64_t plays = guesses.plays_of_0 + guesses.plays_of_1;
  const auto wrong = guesses.said_1_in_0 + guesses.said_0_in_1;
  return absl::StrFormat("success rate %.4f of %d plays (95 %%: %.4f to %.4f)",
                         guesses.SuccessRate(), plays,
                         1 - LargestProbability(wrong, plays, kReading / 2),
                         1 - SmallestProbability(wrong, plays, kReading / 2));
}

double MostOfASoundMechanism(const RunPlan& plan) {
  const double plays = 2 * kPlays;
  return NormalCdf(std::sqrt(plan.cost.ToDouble()) / 2) +
         std::sqrt(std::log(1 / kAccusation) / (2 * plays));
}

TEST(LowBitsAttack, SeesFloatingPointNoiseByItsSupport) {
  std::cout << "seed " << kSeed << "\n";
  const RunPlan plan = WidePlan();
  const LinearGame game = GameOf(plan);
  std::mt19937_64 random(kSeed), coin(kSeed + 1);
  Guesses guesses{kPlays / 10, 0, kPlays / 10, 0};
  for (int play = 0; play < kPlays / 10; ++play) {
    guesses.said_1_in_0 +=
        GuessBySupport(game, PublishFloating(game, 0, random), coin);
    guesses.said_0_in_1 +=
        1 - GuessBySupport(game, PublishFloating(game, 1, random), coin);
  }
  PrintFigure("low bits of the noise", "twin: Box and Muller in doubles",
              RateText(guesses));
  EXPECT_GT(guesses.SuccessRate(), 0.95);
}

TEST(LowBitsAttack, GainsNothingOnTheProduct) {
  std::cout << "seed " << kSeed << "\n";
  const RunPlan plan = WidePlan();
  const LinearGame game = GameOf(plan);
  std::mt19937_64 coin(kSeed + 2);
  Guesses guesses{kPlays, 0, kPlays, 0};
  for (int world = 0; world < 2; ++world) {
    std::vector<std::int64_t> views =
        DrawNoise(game.stddevs, kPlays, kSeed + world);
    const std::size_t size = game.stddevs.size();
    for (int play = 0; play < kPlays; ++play) {
      const auto view = std::span(views).subspan(play * size, size);
      for (std::size_t i = 0; i < size; ++i) view[i] += game.sums[world][i];
      const int guess = GuessBySupport(game, AsPairs(view), coin);
      (world == 0 ? guesses.said_1_in_0 : guesses.said_0_in_1) +=
          guess != world ? 1 : 0;
    }
  }
  PrintFigure("low bits of the noise", "product", RateText(guesses));
  EXPECT_LE(guesses.SuccessRate(), MostOfASoundMechanism(plan));
}

// ------------------------------------------- a step coarser than the sums

constexpr int kLowBits = 8;

// The target's columns are arbitrary, so that the sums' low bits differ.
LinearGame ArbitraryGame(const RunPlan& plan) {
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  const StatisticsRequest request = RequestWith(plan, w);
  Eigen::VectorXf one(kAttackFeatures), other(kAttackFeatures);
  one << 0.31f, 0.57f, 0.11f, 0.43f, 0.23f, 0.37f;
  other << 0.53f, 0.29f, 0.41f, 0.13f, 0.47f, 0.19f;
  return {{Flat(SumsOf(PeopleWith(one), request)),
           Flat(SumsOf(PeopleWith(other), request))},
          StddevsOf(plan.stages[0].parts)};
}

// The world whose sums share more low bits with what is published.
int GuessByRemainder(const LinearGame& game, std::span<const std::int64_t> view,
                     std::uint64_t coin) {
  constexpr std::int64_t kMask = (1 << kLowBits) - 1;
  int favour = 0;
  for (std::size_t i = 0; i < view.size(); ++i) {
    favour += (view[i] & kMask) == (game.sums[1][i] & kMask) ? 1 : 0;
    favour -= (view[i] & kMask) == (game.sums[0][i] & kMask) ? 1 : 0;
  }
  return favour == 0 ? static_cast<int>(coin >> 63) : favour > 0 ? 1 : 0;
}

// Noise drawn in steps of 2^shift of the sums' lattice.
Guesses PlayRemainders(const RunPlan& plan, int shift, const std::string& who) {
  std::cout << "seed " << kSeed << "\n";
  const LinearGame game = ArbitraryGame(plan);
  std::vector<std::uint64_t> stddevs = game.stddevs;
  for (std::uint64_t& stddev : stddevs) stddev >>= shift;
  std::mt19937_64 coin(kSeed);
  Guesses guesses{kPlays, 0, kPlays, 0};
  for (int world = 0; world < 2; ++world) {
    std::vector<std::int64_t> views =
        DrawNoise(stddevs, kPlays, kSeed + 10 + world);
    for (int play = 0; play < kPlays; ++play) {
      const auto view =
          std::span(views).subspan(play * stddevs.size(), stddevs.size());
      for (std::size_t i = 0; i < view.size(); ++i)
        view[i] = view[i] * (1 << shift) + game.sums[world][i];
      const int guess = GuessByRemainder(game, view, coin());
      (world == 0 ? guesses.said_1_in_0 : guesses.said_0_in_1) +=
          guess != world ? 1 : 0;
    }
  }
  PrintFigure("remainders of the sums", who, RateText(guesses));
  return guesses;
}

TEST(LowBitsAttack, SeesNoiseOnACoarserStepThanTheSums) {
  EXPECT_GT(PlayRemainders(WidePlan(), kLowBits,
                           "twin: noise in steps of 256 of the lattice")
                .SuccessRate(),
            0.99);
}

TEST(LowBitsAttack, FindsNoRemaindersInTheProduct) {
  const RunPlan plan = WidePlan();
  EXPECT_LE(PlayRemainders(plan, 0, "product").SuccessRate(),
            MostOfASoundMechanism(plan));
}

// ------------------------------------------------------- sets of outputs

struct Supports {
  std::size_t of_0 = 0, of_1 = 0, common = 0;
};

template <typename T>
void KeepDistinct(std::vector<T>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

template <typename T>
Supports Compare(std::vector<T> zero, std::vector<T> one) {
  KeepDistinct(&zero);
  KeepDistinct(&one);
  std::vector<T> common;
  std::set_intersection(zero.begin(), zero.end(), one.begin(), one.end(),
                        std::back_inserter(common));
  return {zero.size(), one.size(), common.size()};
}

std::string SupportsText(const Supports& supports) {
  return absl::StrFormat("%d and %d outputs, %d in common", supports.of_0,
                         supports.of_1, supports.common);
}

// All of them: with ten bits a uniform the twin's outputs can be counted.
TEST(LowBitsAttack, FloatingPointNoiseReachesOtherOutputsFromANeighbour) {
  constexpr int kBits = 10;
  constexpr double kStddev = 3;
  const auto outputs = [&](double sum) {
    std::vector<double> reached;
    for (std::uint64_t first = 0; first < (1 << kBits); ++first) {
      for (std::uint64_t second = 0; second < (1 << kBits); ++second)
        reached.push_back(sum + kStddev * BoxMuller(first, second, kBits)[0]);
    }
    return reached;
  };
  const Supports supports = Compare(outputs(7), outputs(8));
  PrintFigure("sets of outputs", "twin: Box and Muller on 10-bit uniforms",
              SupportsText(supports));
  EXPECT_LT(supports.common * 10, supports.of_0);
}

// An output is the sum plus an integer of the noise's, whose set does not
// depend on the sum. Every integer within 4 sigma of both sums is seen from
// both: the rarest has probability p > 1e-5 of n = 4e6 draws, and misses with
// probability (1 - p)^n < 1e-17, of at most 30 such twice.
TEST(LowBitsAttack, TheProductReachesTheSameOutputsFromANeighbour) {
  std::cout << "seed " << kSeed << "\n";
  constexpr std::int64_t kStddev = 3, kSum0 = 7, kSum1 = 8;
  constexpr std::int64_t kFirst = kSum1 - 4 * kStddev,
                         kLast = kSum0 + 4 * kStddev;
  const std::vector<std::uint64_t> stddevs = {kStddev};
  const auto outputs = [&](std::int64_t sum, std::uint64_t seed) {
    std::vector<std::int64_t> reached;
    for (const std::int64_t noise : DrawNoise(stddevs, 4'000'000, seed)) {
      const std::int64_t output = sum + noise;
      if (output >= kFirst && output <= kLast) reached.push_back(output);
    }
    return reached;
  };
  const Supports supports =
      Compare(outputs(kSum0, kSeed + 2), outputs(kSum1, kSeed + 3));
  PrintFigure("sets of outputs", "product, within 4 sigma",
              SupportsText(supports));
  EXPECT_EQ(supports.common, static_cast<std::size_t>(kLast - kFirst + 1));
  EXPECT_EQ(supports.of_0, supports.common);
  EXPECT_EQ(supports.of_1, supports.common);
}

}  // namespace
}  // namespace dpnmf::curator::low_bits
