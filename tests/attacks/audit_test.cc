// Membership, audited: a target is in the data or replaced by another, the
// analyst knows all else, and what thousands of plays prove about mu stands
// below the claim for the product and above it for each weak twin.
//
// Every verdict accuses a sound mechanism with probability at most 1e-7
// (MuLowerBound; rules fixed before the plays); 8 claims of the product. The
// plays' seeds are fixed and printed but where the gate draws its own keys.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/nmf/dictionary.h"
#include "common/privacy/accounting.h"
#include "gtest/gtest.h"
#include "tests/attacks/attack_games.h"
#include "tests/attacks/gate_path.h"
#include "tests/curator/factor/factor_fixtures.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kPlays = 1 << 20;
constexpr std::uint64_t kPlaysOfTwins = 1 << 18;
constexpr double kEpsilon = 1;

using Sums = std::vector<std::int64_t>;

// A target on one axis replaced by one on the other: h and u of full length
// and orthogonal, which attains the sensitivity of A and of B at once.
LinearGame WorstCase(const RunPlan& plan) {
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  const StatisticsRequest request = RequestWith(plan, w);
  return {{Flat(SumsOf(PeopleWith(Direction(0b01)), request)),
           Flat(SumsOf(PeopleWith(Direction(0b10)), request))},
          StddevsOf(plan.stages[0].parts)};
}

void ExpectAccused(const std::string& who, const RunPlan& plan,
                   const LinearGame& game, std::uint64_t seed) {
  EXPECT_GT(Report(who, plan, Play(game, kPlaysOfTwins, seed)).surely,
            MuOf(plan));
}

TEST(Audit, TheProductsBoundComesNearTheClaimFromBelow) {
  const RunPlan plan = PlanFor(kEpsilon);
  const Guesses guesses = Play(WorstCase(plan), kPlays, 1'000'000'000);
  const Bound bound = Report("product, worst neighbours", plan, guesses);
  EXPECT_LE(bound.surely, MuOf(plan));
  // It would notice a sigma short by a tenth.
  EXPECT_GT(bound.surely, 0.9 * MuOf(plan));
}

TEST(Audit, SeesHalvedNoise) {
  const RunPlan plan = PlanFor(kEpsilon);
  LinearGame game = WorstCase(plan);
  for (std::uint64_t& stddev : game.stddevs) stddev /= 2;
  ExpectAccused("twin: halved noise", plan, game, 2'000'000'000);
}

TEST(Audit, SeesADiagonalNoisedLikeTheRest) {
  const RunPlan plan = PlanFor(kEpsilon);
  LinearGame game = WorstCase(plan);
  for (std::uint64_t& stddev : game.stddevs) {
    if (stddev == plan.stages[0].parts[0].diagonal_stddev_steps)
      stddev = plan.stages[0].parts[0].stddev_steps;
  }
  ExpectAccused("twin: sigma of A's diagonal as off it", plan, game,
                3'000'000'000);
}

// The dictionary's short columns ask for h four times the bound.
TEST(Audit, SeesAMissingClipOfH) {
  const RunPlan plan = PlanFor(kEpsilon);
  const Eigen::MatrixXd w = AxesDictionary(0, 1, 0.25);
  const auto play = [&](double bound, std::uint64_t seed) {
    StatisticsRequest request = RequestWith(plan, w);
    request.coefficient_bound = bound;
    const LinearGame game = {
        {Flat(SumsOf(PeopleWith(Direction(0b01)), request)),
         Flat(SumsOf(PeopleWith(Direction(0b10)), request))},
        StddevsOf(plan.stages[0].parts)};
    return Play(game, kPlaysOfTwins, seed);
  };
  EXPECT_GT(Report("twin: h not clipped", plan, play(16, 4'000'000'000)).surely,
            MuOf(plan));
  EXPECT_LE(Report("product, h at four times the bound", plan,
                   play(plan.coefficient_bound, 5'000'000'000))
                .surely,
            MuOf(plan));
}

// A column four times as long as was declared.
TEST(Audit, SeesAMissingClipOfU) {
  const RunPlan plan = PlanFor(kEpsilon);
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  const auto play = [&](double bound, std::uint64_t seed) {
    StatisticsRequest request = RequestWith(plan, w);
    request.data_bound = bound;
    const LinearGame game = {
        {Flat(SumsOf(PeopleWith(Direction(0b01, 4)), request)),
         Flat(SumsOf(PeopleWith(Direction(0b10, 4)), request))},
        StddevsOf(plan.stages[0].parts)};
    return Play(game, kPlaysOfTwins, seed);
  };
  EXPECT_GT(Report("twin: u not clipped", plan, play(16, 6'000'000'000)).surely,
            MuOf(plan));
  EXPECT_LE(Report("product, v at four times the bound", plan,
                   play(plan.data_bound, 7'000'000'000))
                .surely,
            MuOf(plan));
}

// A is published whole: noise above the diagonal, the bare sums below it.
TEST(Audit, SeesATriangleWithoutNoise) {
  const RunPlan plan = PlanFor(kEpsilon);
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  const StatisticsRequest request = RequestWith(plan, w);
  LinearGame game = {{Flat(SumsOf(PeopleWith(Direction(0b11)), request)),
                      Flat(SumsOf(PeopleWith(Direction(0b01)), request))},
                     StddevsOf(plan.stages[0].parts)};
  constexpr std::size_t kOffDiagonal = 1;  // of a 2 x 2 triangle by columns
  for (Sums& sums : game.sums) sums.push_back(sums[kOffDiagonal]);
  game.stddevs.push_back(0);
  ExpectAccused("twin: the lower triangle without noise", plan, game,
                8'000'000'000);
}

// --------------------------------------------------------- in or not in

// The target's column is there or is not, under add or remove one: the noise is
// that of a sum that moves by c^2, and is too small for a replacement.
TEST(Audit, SeesTheNoiseOfTheOtherRelation) {
  const RunPlan plan = PlanFor(kEpsilon, 1, Adjacency::kAddRemoveOne);
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  const StatisticsRequest request = RequestWith(plan, w);
  const Eigen::MatrixXf with = PeopleWith(Direction(0b01));
  Eigen::MatrixXf without(kAttackFeatures, kAttackUsers - 1);
  without << with.leftCols(kTarget), with.rightCols(kAttackUsers - kTarget - 1);
  const LinearGame game = {
      {Flat(SumsOf(without, request)), Flat(SumsOf(with, request))},
      StddevsOf(plan.stages[0].parts)};
  const Bound bound = Report("product, in or not in (add or remove one)", plan,
                             Play(game, kPlays, 16'000'000'000));
  EXPECT_LE(bound.surely, MuOf(plan));
  EXPECT_GT(bound.surely, 0.9 * MuOf(plan));
  ExpectAccused("twin: noise of add or remove one for a replacement", plan,
                WorstCase(plan), 17'000'000'000);
}

// ------------------------------------------------------------ the start W_0

// Boutsidis and Gallopoulos 2008, for rank 2: the better sign of each pair of
// singular vectors.
Eigen::MatrixXd Nndsvd(const Eigen::MatrixXf& v) {
  const SingularVectors svd = SingularVectorsOf(v);
  Eigen::MatrixXd w(v.rows(), kAttackRank);
  for (int k = 0; k < kAttackRank; ++k) {
    const Eigen::VectorXd left = svd.u.col(k);
    const Eigen::VectorXd right = svd.v.col(k);
    const Eigen::VectorXd up = left.cwiseMax(0), down = (-left).cwiseMax(0);
    const double of_up = up.norm() * right.cwiseMax(0).norm();
    const double of_down = down.norm() * (-right).cwiseMax(0).norm();
    const double weight = std::sqrt(svd.values(k) * std::max(of_up, of_down));
    w.col(k) =
        weight * (of_up >= of_down ? up / up.norm() : down / down.norm());
  }
  return w;
}

// The analyst sees W_0 and the round at W_0. Positive doubles are ordered as
// their bits.
LinearGame WithStart(
    const RunPlan& plan,
    const std::function<Eigen::MatrixXd(const Eigen::MatrixXf& v)>& start) {
  LinearGame game;
  game.stddevs = StddevsOf(plan.stages[0].parts);
  game.stddevs.resize(game.stddevs.size() + kAttackFeatures * kAttackRank);
  for (int world = 0; world < 2; ++world) {
    const Eigen::MatrixXf v = PeopleWith(Direction(world == 0 ? 0b01 : 0b10));
    const Eigen::MatrixXd w = start(v);
    game.sums[world] = Flat(SumsOf(v, RequestWith(plan, w)));
    for (const double entry : w.reshaped())
      game.sums[world].push_back(std::bit_cast<std::int64_t>(entry));
  }
  return game;
}

TEST(Audit, SeesAStartMadeOfTheData) {
  const RunPlan plan = PlanFor(kEpsilon);
  ExpectAccused("twin: W_0 by NNDSVD of V", plan, WithStart(plan, Nndsvd),
                9'000'000'000);
  const auto drawn = [](const Eigen::MatrixXf& v) {
    return RandomDictionary(v.rows(), kAttackRank, 5);
  };
  EXPECT_LE(Report("product, W_0 drawn from a public seed", plan,
                   Play(WithStart(plan, drawn), kPlaysOfTwins, 10'000'000'000))
                .surely,
            MuOf(plan));
}

// --------------------------------------------------------------- two rounds

// Rounds with the columns of W exchanged. The view: the first round, and the
// second less the first, which tells as much.
LinearGame TwoRounds(const RunPlan& plan, bool same_noise) {
  const Eigen::MatrixXd first = AxesDictionary(0, 1),
                        then = AxesDictionary(1, 0);
  LinearGame game;
  const std::vector<std::uint64_t> stddevs = StddevsOf(plan.stages[0].parts);
  for (int world = 0; world < 2; ++world) {
    const Eigen::MatrixXf v = PeopleWith(Direction(world == 0 ? 0b01 : 0b10));
    const Sums one = Flat(SumsOf(v, RequestWith(plan, first)));
    const Sums two = Flat(SumsOf(v, RequestWith(plan, then)));
    game.sums[world] = one;
    for (std::size_t i = 0; i < two.size(); ++i)
      game.sums[world].push_back(same_noise ? two[i] - one[i] : two[i]);
  }
  game.stddevs = stddevs;
  for (const std::uint64_t stddev : stddevs)
    game.stddevs.push_back(same_noise ? 0 : stddev);
  return game;
}

TEST(Audit, SeesOneDrawUsedForTwoRounds) {
  const RunPlan plan = PlanFor(kEpsilon, 2);
  ExpectAccused("twin: one draw for two rounds", plan, TwoRounds(plan, true),
                11'000'000'000);
  const Bound bound =
      Report("product, two rounds", plan,
             Play(TwoRounds(plan, false), kPlays, 12'000'000'000));
  EXPECT_LE(bound.surely, MuOf(plan));
  EXPECT_GT(bound.surely, 0.9 * MuOf(plan));
}

// An analyst that chooses each dictionary from the rounds before: by the sign
// of what it suspects, the columns stand one way or the other, at full length
// or at half.
class Adaptive {
 public:
  explicit Adaptive(const RunPlan& plan)
      : plan_(plan), stddevs_(StddevsOf(plan.stages[0].parts)) {}

  // log P(transcript | 1) - log P(transcript | 0) of one run in `world`;
  // noise: a row a round.
  double Run(int world, std::uint32_t rounds,
             std::span<const std::int64_t> noise) {
    std::vector<bool> suspicions;
    double ratio = 0;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const LinearGame& game = RoundAfter(suspicions);
      Sums view(noise.begin(), noise.begin() + stddevs_.size());
      noise = noise.subspan(view.size());
      for (std::size_t i = 0; i < view.size(); ++i)
        view[i] += game.sums[world][i];
      ratio += LogLikelihoodRatio(game, view);
      suspicions.push_back(ratio > 0);
    }
    return ratio;
  }

 private:
  // The next round's sums in both worlds, H kept from the rounds before.
  const LinearGame& RoundAfter(const std::vector<bool>& suspicions) {
    const auto known = rounds_.find(suspicions);
    if (known != rounds_.end()) return known->second;
    LinearGame game;
    game.stddevs = stddevs_;
    for (int world = 0; world < 2; ++world) {
      const auto data =
          DenseOf(PeopleWith(Direction(world == 0 ? 0b01 : 0b10)));
      Coefficients h(kAttackRank, kAttackUsers);
      for (std::size_t round = 0; round <= suspicions.size(); ++round) {
        const bool suspects = round > 0 && suspicions[round - 1];
        const Eigen::MatrixXd w = AxesDictionary(
            suspects ? 1 : 0, suspects ? 0 : 1, round % 2 == 0 ? 1 : 0.5);
        game.sums[world] = Flat(
            ComputeStatistics(*data, RequestWith(plan_, w), {}, &h).value());
      }
    }
    return rounds_[suspicions] = game;
  }

  const RunPlan& plan_;
  const std::vector<std::uint64_t> stddevs_;
  std::map<std::vector<bool>, LinearGame> rounds_;
};

TEST(Audit, AnAdaptiveAnalystGainsNoMoreThanTheRunsClaim) {
  constexpr std::uint32_t kRounds = 3;
  constexpr std::uint64_t kSeed = 13'000'000'000, kRuns = 1 << 17;
  std::cout << "seed " << kSeed << "\n";
  const RunPlan plan = PlanFor(kEpsilon, kRounds);
  std::vector<std::uint64_t> stddevs;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const auto of_round = StddevsOf(plan.stages[0].parts);
    stddevs.insert(stddevs.end(), of_round.begin(), of_round.end());
  }
  Adaptive analyst(plan);
  Guesses guesses{kRuns, 0, kRuns, 0};
  for (int world = 0; world < 2; ++world) {
    const Sums noise = DrawNoise(stddevs, kRuns, kSeed + world);
    for (std::uint64_t run = 0; run < kRuns; ++run) {
      const bool says_one =
          analyst.Run(world, kRounds,
                      std::span(noise).subspan(run * stddevs.size(),
                                               stddevs.size())) > 0;
      if (world == 0) guesses.said_1_in_0 += says_one ? 1 : 0;
      if (world == 1) guesses.said_0_in_1 += says_one ? 0 : 1;
    }
  }
  const Bound bound = Report("product, three adaptive rounds", plan, guesses);
  EXPECT_LE(bound.surely, MuOf(plan));
  EXPECT_GT(bound.surely, 0.8 * MuOf(plan));
}

// ------------------------------------------------------------ the real gate

// Rounds that a cap of epsilon 1000 carries at one gate, and gates per world.
constexpr std::uint32_t kGateRounds = 600, kGates = 4;

Guesses PlayAtGate(const RunPlan& plan, const LinearGame& known,
                   const GatePath::Noise& noise) {
  constexpr std::uint64_t kGatePlays = kGateRounds * kGates;
  Guesses guesses{kGatePlays, 0, kGatePlays, 0};
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  for (std::uint32_t one = 0; one < 2 * kGates; ++one) {
    const int world = one % 2;
    GatePath gate(plan.stages[0].parts, kGateRounds, noise);
    const ExactSums sums = SumsOf(
        PeopleWith(Direction(world == 0 ? 0b01 : 0b10)), RequestWith(plan, w));
    for (std::uint32_t round = 0; round < kGateRounds; ++round) {
      const bool says_one = LogLikelihoodRatio(known, gate.Release(sums)) > 0;
      if (world == 0) guesses.said_1_in_0 += says_one ? 1 : 0;
      if (world == 1) guesses.said_0_in_1 += says_one ? 0 : 1;
    }
  }
  return guesses;
}

TEST(AuditAtTheGate, PublishesTheSumsPlusTheDrawBitForBit) {
  const RunPlan plan = PlanFor(kEpsilon);
  const LinearGame game = WorstCase(plan);
  Sums noise = DrawNoise(game.stddevs, 1, 14'000'000'000);
  GatePath gate(plan.stages[0].parts, 1, [&] { return noise; });
  const Eigen::MatrixXd w = AxesDictionary(0, 1);
  Sums expected = game.sums[0];
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += noise[i];
  EXPECT_EQ(
      gate.Release(SumsOf(PeopleWith(Direction(0b01)), RequestWith(plan, w))),
      expected);
}

// The gate's own draws. Few plays, so a large epsilon. The last line fails a
// sound gate with probability below 1e-7: the bound's mean stands more than six
// of its standard errors (0.04 in mu) above the line.
TEST(AuditAtTheGate, ItsOwnNoiseKeepsTheClaim) {
  const RunPlan plan = PlanFor(6);
  const Guesses guesses = PlayAtGate(plan, WorstCase(plan), nullptr);
  const Bound bound = Report("product, at the gate", plan, guesses);
  EXPECT_LE(bound.surely, MuOf(plan));
  EXPECT_GT(bound.reading, 0.7 * MuOf(plan));
}

TEST(AuditAtTheGate, SeesHalvedNoise) {
  const RunPlan plan = PlanFor(6);
  LinearGame known = WorstCase(plan);
  for (std::uint64_t& stddev : known.stddevs) stddev /= 2;
  std::uint64_t seed = 15'000'000'000;
  std::cout << "seed " << seed << "\n";
  const Guesses guesses = PlayAtGate(
      plan, known, [&] { return DrawNoise(known.stddevs, 1, seed++); });
  EXPECT_GT(Report("twin: halved noise at the gate", plan, guesses).surely,
            MuOf(plan));
}

}  // namespace
}  // namespace dpnmf::curator
