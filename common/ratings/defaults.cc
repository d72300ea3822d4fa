// FillRatingsDefaults (common/ratings/learner.h).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/privacy/accounting.h"
#include "common/privacy/run_plan.h"
#include "common/ratings/learner.h"

namespace dpnmf {
namespace {

constexpr std::uint32_t kProfileRounds = 2;
constexpr std::uint32_t kDefaultDirections = 8;
constexpr std::uint32_t kMostDefaultRows = 512;
constexpr double kLeastSignalOfResiduals = 4000;

double Mu(const RunParameters& parameters) {
  const absl::StatusOr<MuSquared> cost =
      LargestCost(parameters.conversion, parameters.epsilon, parameters.delta);
  return cost.ok() ? std::sqrt(cost->ToDoubleUp()) : 1;
}

// Height above the noise that a sum of N people may reach at this mu.
double Signal(const DatasetFacts& facts, double mu) {
  const double relation =
      facts.adjacency == Adjacency::kAddRemoveOne ? std::sqrt(2.0) : 1;
  return relation * mu * double(facts.users);
}

std::vector<double> Shares(const DatasetFacts& facts, double signal) {
  // Corrections need many people; where there are no public features they have
  // more to say.
  const bool featured = facts.ratings && facts.ratings->item_features > 0;
  const double most = featured ? 0.18 : 0.35;
  const double ramp = std::clamp((signal - 3000) / (12'000 - 3000), 0.0, 1.0);
  const double corrections = most * ramp;
  // Hidden factors rise above the noise of residuals or are not seen at all: a
  // small share would be lost.
  const double residuals =
      signal < kLeastSignalOfResiduals ? 0 : 0.1 + 0.1 * ramp;
  return {0.56 - 0.55 * corrections - 0.5 * residuals,
          0.42 - 0.50 * corrections - 0.5 * residuals,
          0.02 + 0.05 * corrections, residuals, corrections};
}

std::uint32_t RoundsOf(const std::vector<double>& shares,
                       std::uint32_t profile_rounds) {
  std::uint32_t rounds = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > 0) rounds += i == 2 ? profile_rounds : 1;
  return rounds;
}

}  // namespace

void FillRatingsDefaults(const DatasetFacts& facts, RunParameters* parameters) {
  const double signal = Signal(facts, Mu(*parameters));
  const std::uint32_t most_rounds = std::max(1u, facts.max_rounds);
  std::uint32_t profile_rounds = kProfileRounds;
  if (parameters->shares.empty()) {
    std::vector<double> shares = Shares(facts, signal);
    if (RoundsOf(shares, profile_rounds) > most_rounds) profile_rounds = 1;
    for (const std::size_t dropped : {4u, 3u, 2u, 1u}) {
      if (RoundsOf(shares, profile_rounds) <= most_rounds) break;
      shares[0] += shares[dropped];
      shares[dropped] = 0;
    }
    parameters->shares = shares;
  }
  const std::vector<double>& shares = parameters->shares;
  const auto has = [&](std::size_t i) {
    return i < shares.size() && shares[i] > 0;
  };
  if (parameters->moment_rows == 0 && (has(1) || has(3))) {
    const double share = std::max(has(1) ? shares[1] : 0.0, 0.1);
    const double rows = 120 + 0.12 * std::sqrt(share) * signal;
    parameters->moment_rows = std::uint32_t(std::min<double>(
        double(std::min<std::uint64_t>(facts.features, kMostDefaultRows)),
        rows));
  }
  if (parameters->rank == 0) {
    const std::uint32_t declared =
        facts.ratings ? facts.ratings->item_features : 0;
    const std::uint32_t columns =
        3 + (declared > 0 ? std::min(32u, declared + 10) : 0) +
        (has(1) ? 16 : 0) + (has(3) ? 6 : 0);
    parameters->rank =
        std::min({columns, std::max(1u, facts.max_rank),
                  static_cast<std::uint32_t>(std::min<std::uint64_t>(
                      {facts.features, facts.users, columns}))});
  }
  if (parameters->profile_directions == 0 && has(4)) {
    parameters->profile_directions =
        std::min(kDefaultDirections, parameters->rank - 1);
  }
  if (parameters->rounds == 0)
    parameters->rounds = RoundsOf(shares, profile_rounds);
}

}  // namespace dpnmf
