#include "tests/attacks/attack_games.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "absl/strings/str_format.h"
#include "common/privacy/accounting.h"
#include "curator/noise/noise.h"
#include "gtest/gtest.h"
#include "tests/curator/factor/factor_fixtures.h"
#include "tests/statistics/noise_key_for_testing.h"

namespace dpnmf::curator {
namespace {

constexpr std::uint64_t kPlaysAtOnce = 1 << 15;

double EpsilonOfMu(double mu) {
  return EpsilonGaussian(mu * mu, kAttackDelta).value();
}

bool SaysOne(const LinearGame& game, std::span<const std::int64_t> view) {
  return LogLikelihoodRatio(game, view) > 0;
}

std::uint64_t CountSayingOne(const LinearGame& game, int world,
                             std::uint64_t plays, std::uint64_t seed) {
  const std::vector<std::int64_t>& sums = game.sums[world];
  std::uint64_t count = 0;
  for (std::uint64_t done = 0; done < plays; done += kPlaysAtOnce) {
    const std::uint64_t now = std::min(kPlaysAtOnce, plays - done);
    std::vector<std::int64_t> views =
        DrawNoise(game.stddevs, now, seed + 2 * done + world);
    for (std::uint64_t play = 0; play < now; ++play) {
      const auto view =
          std::span(views).subspan(play * sums.size(), sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) view[i] += sums[i];
      count += SaysOne(game, view) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

RunPlan PlanFor(double epsilon, std::uint32_t rounds, Adjacency adjacency) {
  DatasetFacts facts;
  facts.name = facts.population = "people";
  facts.features = kAttackFeatures;
  facts.users = kAttackUsers;
  facts.conversion = Conversion::kGaussian;
  facts.adjacency = adjacency;
  facts.max_rank = kAttackRank;
  facts.max_rounds = 1000;
  RunParameters parameters;
  parameters.dataset = "people";
  parameters.rank = kAttackRank;
  parameters.rounds = rounds;
  parameters.epsilon = epsilon;
  parameters.delta = kAttackDelta;
  parameters.share_of_a = 0.5;  // what A tells and what B tells count alike
  parameters.conversion = Conversion::kGaussian;
  parameters.adjacency = adjacency;
  return PlanRun(parameters, facts).value();
}

Eigen::VectorXf Direction(unsigned mask, double length) {
  Eigen::VectorXd v = Eigen::VectorXd::Zero(kAttackFeatures);
  for (int row = 0; row < kAttackFeatures; ++row) v(row) = (mask >> row) & 1;
  return (v * (length / v.norm())).cast<float>();
}

Eigen::MatrixXf PeopleWith(const Eigen::VectorXf& target) {
  Eigen::MatrixXf v = RandomColumns(kAttackFeatures, kAttackUsers, 1);
  v.col(kTarget) = target;
  return v;
}

Eigen::MatrixXd AxesDictionary(int first, int second, double scale) {
  Eigen::MatrixXd w = Eigen::MatrixXd::Zero(kAttackFeatures, kAttackRank);
  w(first, 0) = w(second, 1) = scale;
  return w;
}

StatisticsRequest RequestWith(const RunPlan& plan, const Eigen::MatrixXd& w) {
  StatisticsRequest request;
  request.w = &w;
  request.coefficient_bound = plan.coefficient_bound;
  request.data_bound = plan.data_bound;
  request.coefficient_bits = plan.coefficient_bits;
  request.data_bits = plan.data_bits;
  return request;
}

ExactSums SumsOf(const Eigen::MatrixXf& v, const StatisticsRequest& request) {
  Coefficients h(request.w->cols(), v.cols());
  return ComputeStatistics(*DenseOf(v), request, {}, &h).value();
}

double LogLikelihoodRatio(const LinearGame& game,
                          std::span<const std::int64_t> view) {
  double ratio = 0;
  for (std::size_t i = 0; i < view.size(); ++i) {
    const std::int64_t move = game.sums[1][i] - game.sums[0][i];
    if (move == 0) continue;
    const double over_sum_0 = static_cast<double>(view[i] - game.sums[0][i]);
    const double step = static_cast<double>(move);
    if (game.stddevs[i] == 0) return step * (over_sum_0 - step / 2);
    const double sigma = static_cast<double>(game.stddevs[i]);
    ratio += step / sigma * ((over_sum_0 - step / 2) / sigma);
  }
  return ratio;
}

std::vector<std::int64_t> DrawNoise(std::span<const std::uint64_t> stddevs,
                                    std::uint64_t plays, std::uint64_t seed) {
  std::map<std::uint64_t, std::vector<std::size_t>> coordinates_of;
  for (std::size_t i = 0; i < stddevs.size(); ++i) {
    if (stddevs[i] > 0) coordinates_of[stddevs[i]].push_back(i);
  }
  const NoiseKey key = NoiseKeyForTesting::FromSeed(seed);
  std::vector<std::int64_t> noise(plays * stddevs.size());
  std::uint32_t stream = 0;
  for (const auto& [stddev, coordinates] : coordinates_of) {
    std::vector<std::int64_t> drawn(plays * coordinates.size());
    FillGaussian(key, stream++, stddev, 1, 1, drawn);
    auto next = drawn.begin();
    for (std::uint64_t play = 0; play < plays; ++play) {
      for (const std::size_t i : coordinates)
        noise[play * stddevs.size() + i] = *next++;
    }
  }
  return noise;
}

Guesses Play(const LinearGame& game, std::uint64_t plays, std::uint64_t seed) {
  std::cout << "seed " << seed << "\n";
  Guesses guesses;
  guesses.plays_of_0 = guesses.plays_of_1 = plays;
  guesses.said_1_in_0 = CountSayingOne(game, 0, plays, seed);
  guesses.said_0_in_1 = plays - CountSayingOne(game, 1, plays, seed);
  return guesses;
}

void PrintFigure(const std::string& attack, const std::string& who,
                 const std::string& figure) {
  std::cout << "attack: " << attack << " | " << who << " | " << figure << "\n";
}

double MuOf(const RunPlan& plan) { return std::sqrt(plan.cost.ToDouble()); }

Bound Report(const std::string& who, const RunPlan& plan,
             const Guesses& guesses) {
  const Bound bound = {MuLowerBound(guesses, kAccusation),
                       MuLowerBound(guesses, kReading)};
  PrintFigure(
      "membership", who,
      absl::StrFormat("claimed epsilon %.3f, measured at least %.3f (95 %%), "
                      "%.3f (1 - 1e-7); success rate %.4f",
                      EpsilonOfMu(MuOf(plan)), EpsilonOfMu(bound.reading),
                      EpsilonOfMu(bound.surely), guesses.SuccessRate()));
  return bound;
}

}  // namespace dpnmf::curator
